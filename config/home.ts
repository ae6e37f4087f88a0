/** The home folder: where it is, its folders, its `.env`, and the key that the first start puts there. */
import { randomBytes } from 'node:crypto';
import { appendFileSync, chmodSync, mkdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { HermesError, toMessage } from '../src/contract/errors.ts';
import { readEnvFile } from './env-file.ts';
import { toConfigError } from './problems.ts';
import type { Environment } from './read-yaml.ts';

const folders = ['memories', 'plugins', 'skills', 'tools', 'logs', 'cache'];

/** `--home`, else HERMES_HOME, else `~/.hermes`; always absolute. */
export function resolveHome(option: string | undefined, env: Environment): string {
  const given = option || env.HERMES_HOME;
  return given ? resolve(given.replace(/^~(?=\/|$)/, homedir())) : join(homedir(), '.hermes');
}

/** Creates the home and its folders, readable by the owner alone. Throws HOME_UNUSABLE. */
export function ensureHome(home: string): void {
  try {
    for (const folder of ['', ...folders]) mkdirSync(join(home, folder), { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new HermesError('HOME_UNUSABLE', `${home} cannot be used (${toMessage(cause)}); choose another folder with --home or HERMES_HOME`, { cause });
  }
}

/**
 * The HTTP key. When neither the environment nor `.env` has one, 256 random bits are appended to `<home>/.env` (0600) and put
 * into `env`. Call it under the home's lock, before loadConfig. Throws HOME_UNUSABLE, or CONFIG_INVALID for a broken `.env`.
 */
export function ensureApiKey(home: string, env: Environment): string {
  const path = join(home, '.env');
  const file = readEnvFile(path);
  if (file.problems.length > 0) throw toConfigError(file.problems);
  const known = env.HERMES_API_KEY?.trim() || file.values.get('HERMES_API_KEY')?.text.trim();
  if (known) return (env.HERMES_API_KEY = known);
  const key = randomBytes(32).toString('base64url');
  try {
    const needsBreak = file.exists && !/(^|\n)$/.test(readFileSync(path, 'utf8'));
    appendFileSync(path, `${needsBreak ? '\n' : ''}HERMES_API_KEY=${key}\n`, { mode: 0o600 });
    chmodSync(path, 0o600);
  } catch (cause) {
    throw new HermesError('HOME_UNUSABLE', `${path} cannot be written (${toMessage(cause)}); set HERMES_API_KEY in the environment instead`, { cause });
  }
  env.HERMES_API_KEY = key;
  return key;
}
