/** The tools as they run: the real registry filled from the real folder, with a home and a workspace of its own. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { Log } from '../../src/contract/log.ts';
import type { ToolContext, ToolDeps } from '../../src/contract/tool.ts';
import { discoverTools } from '../../src/tools/discover.ts';
import { createRegistry } from '../../src/tools/registry.ts';
import { tempHome } from '../support/temp-home.ts';

export const builtinDir = fileURLToPath(new URL('../../src/tools/builtin', import.meta.url));

export interface Line {
  level: 'debug' | 'info' | 'warn' | 'error';
  message: string;
}

/** A log whose lines can be read. */
export function readableLog(): { log: Log; lines: Line[]; said(level: Line['level']): string[] } {
  const lines: Line[] = [];
  const at = (level: Line['level']) => (message: string) => void lines.push({ level, message });
  const log: Log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), child: () => log };
  return { log, lines, said: (level) => lines.filter((line) => line.level === level).map(({ message }) => message) };
}

export function contextOn(platform: string, home: string, more: Partial<ToolContext> = {}): ToolContext {
  const { log } = readableLog();
  return { task_id: 's1', session_id: 's1', turn_id: 't1', tool_call_id: 'c1', platform, signal: new AbortController().signal, log, home, ...more };
}

export async function builtins(changed: Partial<ToolDeps> = {}) {
  const home = tempHome();
  const workspace = join(tempHome(), 'workspace');
  mkdirSync(workspace);
  const { log, said } = readableLog();
  const env = { PATH: process.env['PATH'], HOME: home, LANG: 'C.UTF-8' };
  const deps: ToolDeps = { home, workspace, env, web: { search: null, searxng_url: null, allow_cidrs: [] }, log, ...changed };
  const registry = createRegistry({ log, home, env: deps.env });
  const found = await discoverTools(registry, [builtinDir], deps);
  onTestFinished(() => found.stop());
  return {
    home,
    workspace,
    registry,
    said,
    names: found.names,
    /** The result, parsed. */
    async call(name: string, args: Record<string, unknown>, more: Partial<ToolContext> = {}): Promise<Record<string, unknown>> {
      return JSON.parse(await registry.dispatch(name, args, contextOn('cli', home, more))) as Record<string, unknown>;
    },
    asks(name: string, args: Record<string, unknown>, platform = 'cli'): string | null {
      return registry.get(name)?.needsApproval?.(args, { platform, home }) ?? null;
    },
  };
}
