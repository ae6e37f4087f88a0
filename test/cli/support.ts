/** The program with a recording seam: what it prints, what it asks main for, and a real configuration loader behind it. */
import type { CliDeps, Examination, Inspection, OutboxFacts, PluginCli, SessionFacts, ToolFacts } from '../../src/cli/deps.ts';
import { join } from 'node:path';
import { createProgram } from '../../src/cli/program.ts';
import type { PluginFacts } from '../../src/contract/plugin.ts';
import { loadConfig } from '../../config/load.ts';
import { platforms } from '../config/support.ts';
import { tempHome } from '../support/temp-home.ts';

export interface Given {
  home?: string;
  env?: Record<string, string | undefined>;
  exitCode?: number;
  plugins?: PluginFacts[];
  tools?: ToolFacts[];
  sessions?: SessionFacts[];
  outbox?: OutboxFacts[];
  warnings?: string[];
  pluginCommands?: () => PluginCli[];
  examine?: (dir: string) => Examination;
  daemon?: (method: string, path: string, body: unknown) => unknown;
}

export function createTerminal(given: Given = {}) {
  const home = given.home ?? tempHome();
  const asked: unknown[] = [];
  let out = '';
  let err = '';
  let opened = 0;
  const inspection: Inspection = {
    plugins: () => given.plugins ?? [],
    tools: async (platform) => {
      asked.push({ tools: platform });
      return given.tools ?? [];
    },
    warnings: () => given.warnings ?? [],
    sessions: async (limit) => (given.sessions ?? []).slice(0, limit),
    // What these do is seen with the built program: sessions.test.ts.
    session: () => null,
    searchSessions: () => [],
    renameSession: async () => false,
    removeSession: async () => 'unknown',
    unusedSessions: () => [],
    outbox: async () => given.outbox ?? [],
    skills: () => [],
    skill: () => null,
    memory: async () => '',
    memoryFiles: { memory: join(home, 'MEMORY.md'), user: join(home, 'USER.md') },
    close: async () => void opened--,
  };
  const deps: CliDeps = {
    stdout: (text) => void (out += text),
    stderr: (text) => void (err += text),
    env: { HERMES_HOME: home, ...given.env },
    version: '1.2.3',
    loadConfig: async (options, text) => loadConfig({ home: options.home, env: { ...given.env }, platforms, ...(text === undefined ? {} : { text }) }),
    runDaemon: async (options) => {
      asked.push({ daemon: options });
      return given.exitCode ?? 0;
    },
    runChat: async (options) => {
      asked.push({ chat: options });
      return given.exitCode ?? 0;
    },
    inspect: async (options) => {
      asked.push({ inspect: options.pluginDirs });
      opened++;
      return inspection;
    },
    pluginCommands: async (options) => {
      asked.push({ pluginCommands: options.home });
      return given.pluginCommands?.() ?? [];
    },
    examinePlugin: async (_options, dir, callTools) => {
      asked.push({ examine: dir, callTools });
      return given.examine?.(dir) ?? { lines: [dir], isSound: true };
    },
    callDaemon: async (_options, method, path, body) => {
      asked.push({ call: `${method} ${path}`, body });
      return given.daemon?.(method, path, body) ?? { ok: true };
    },
  };
  return {
    home,
    asked,
    /** Runs one command line; words are split at blanks unless given as a list. */
    async hermes(line: string | string[]) {
      out = '';
      err = '';
      asked.length = 0;
      const code = await createProgram(deps).run(typeof line === 'string' ? line.split(' ').filter(Boolean) : line);
      return { code, out, err, opened };
    },
  };
}
