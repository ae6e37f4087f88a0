/** A home folder with plugins in it, loaded by the real host into the real registry and hook lists. */
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { onTestFinished } from 'vitest';
import type { ToolContext } from '../../src/contract/tool.ts';
import { createLog } from '../../src/lib/log.ts';
import { createRedactor } from '../../src/lib/redact.ts';
import { createHooks, type HookLists } from '../../src/plugins/hooks.ts';
import { createPluginHost, type PluginHost, type PluginHostDeps } from '../../src/plugins/host.ts';
import { installSkill } from '../../src/skills/install-skill.ts';
import { createRegistry, type Registry } from '../../src/tools/registry.ts';
import { tempHome } from '../support/temp-home.ts';

export const projectRoot = resolve(import.meta.dirname, '../..');
export const examples = join(projectRoot, 'examples', 'plugins');

export interface PluginHome {
  home: string;
  host: PluginHost;
  hooks: HookLists;
  registry: Registry;
  /** Everything logged so far, as one text. */
  logged(): string;
  /** What plugins sent: `address text`. */
  sent: string[];
  /** Runs a tool as the agent does and parses its JSON. */
  runTool(name: string, args: Record<string, unknown>, context?: Partial<ToolContext>): Promise<Record<string, unknown>>;
}

export type Files = Record<string, string>;

/** Writes `{path: text}` below `dir`. */
export function writeFiles(dir: string, files: Files): string {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  }
  return dir;
}

/** A temp home whose plugins folder holds these files. */
export function homeWith(files: Files): string {
  const home = tempHome();
  writeFiles(join(home, 'plugins'), files);
  return home;
}

export function copyExample(home: string, name: string): void {
  cpSync(join(examples, name), join(home, 'plugins', name), { recursive: true });
}

export async function loadPlugins(home: string, options: Partial<PluginHostDeps> = {}): Promise<PluginHome> {
  const lines: string[] = [];
  const log = createLog({ level: 'debug', redactor: createRedactor(), write: (line) => void lines.push(line) });
  const hooks = createHooks({ log, limits: { preMs: 2000, postMs: 2000 } });
  const registry = createRegistry({ log, home });
  const sent: string[] = [];
  const context = (extra: Partial<ToolContext>): ToolContext => ({
    task_id: 's1', session_id: 's1', turn_id: 't1', tool_call_id: 'c1', platform: 'telegram', signal: new AbortController().signal, log, home, ...extra,
  });
  const host = createPluginHost({
    home, paths: [], extraDirs: [], enabled: null, disabled: [], env: {}, log, hooks, registry, gatewayRoot: projectRoot, memoryProvider: 'builtin',
    sendMessage: async (address, text) => void sent.push(`${typeof address === 'string' ? address : `${address.platform}:${address.chat}`} ${text}`),
    dispatchTool: (name, args) => registry.dispatch(name, args, context({})),
    addresses: { ofSession: () => null, ofUser: (platform, user) => (user === 'stranger' ? null : `${platform}:${user}`) },
    installSkill: (plugin, file) => void installSkill({ home, plugin, file }),
    ...options,
  });
  onTestFinished(() => host.dispose());
  await host.load();
  return {
    home, host, hooks, registry, sent,
    logged: () => lines.join(''),
    runTool: async (name, args, extra = {}) => JSON.parse(await registry.dispatch(name, args, context(extra))) as Record<string, unknown>,
  };
}
