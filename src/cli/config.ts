/** `hermes config path|show|get|set|check`. The same loader as a start; secrets are never printed. */
import type { Command } from 'commander';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { keyAt, keyNames, mapSecrets, type KeyNode } from '../../config/keys.ts';
import { HermesError } from '../contract/errors.ts';
import { nearest } from '../lib/nearest.ts';
import { inspecting, print, withExample, type CliContext } from './context.ts';
import { writeKey } from './write-key.ts';

export function addConfig(program: Command, context: CliContext): void {
  const config = withExample(program.command('config').description('the configuration of this home'), 'hermes config check');

  withExample(config.command('path').description('where the file is'), 'hermes config path').action(() => {
    print(context, join(context.globals().home, 'config.yaml'));
  });

  const show = config.command('show').description('every value that is in force, secrets hidden').option('--json', 'print JSON');
  withExample(show, 'hermes config show').action(async (flags: { json?: boolean }) => {
    const values = await loadHidden(context);
    print(context, flags.json ? JSON.stringify(values.config, null, 2) : stringify(values.config).trimEnd());
  });

  const get = config.command('get <key>').description('one value, secrets hidden');
  withExample(get, 'hermes config get agent.max_steps').action(async (key: string) => {
    const { config, keys } = await loadHidden(context);
    const value = valueOf(config, keys, key);
    print(context, typeof value === 'string' ? value : stringify(value ?? null).trimEnd());
  });

  const set = config.command('set <key> <value>').description('change one value; comments stay, and nothing is written that a start would refuse');
  withExample(set, 'hermes config set agent.max_steps 40', 'hermes config set platforms.telegram.allowed_users "[123456789]"').action(
    async (key: string, value: string) => {
      await writeKey(context, key, value);
      print(context, `${key} is set; it takes effect at the next start`);
    },
  );

  const check = config.command('check').description('every problem at once, as file:line:column key reason');
  withExample(check, 'hermes config check').action(async () => {
    const { path, notices } = await context.deps.loadConfig(context.globals());
    // Unknown toolsets can be seen only with the plugins loaded; they are warnings and end nothing.
    await inspecting(context, [], () => {});
    for (const notice of notices) context.deps.stderr(`${notice}\n`);
    print(context, `${path} is valid`);
  });
}

async function loadHidden(context: CliContext): Promise<{ config: Record<string, unknown>; keys: KeyNode }> {
  const { config, keys } = await context.deps.loadConfig(context.globals());
  return { config: mapSecrets(config, keys, () => '[hidden]') as Record<string, unknown>, keys };
}

/** Undefined for a key that may be there and is not. */
function valueOf(config: unknown, keys: KeyNode, key: string): unknown {
  let value = config;
  const path = key.split('.');
  for (const [index, name] of path.entries()) {
    const holds = typeof value === 'object' && value !== null && Object.hasOwn(value, name);
    if (!holds && !keyAt(keys, path.slice(0, index + 1))) {
      const known = typeof value === 'object' && value !== null ? Object.keys(value) : [];
      const guess = nearest(name, [...known, ...keyNames(keyAt(keys, path.slice(0, index)))]);
      throw new HermesError('CONFIG_KEY_UNKNOWN', `${key} is unknown${guess ? `; did you mean ${[...path.slice(0, index), guess].join('.')}?` : ''}`);
    }
    value = holds ? (value as Record<string, unknown>)[name] : undefined;
  }
  return value;
}
