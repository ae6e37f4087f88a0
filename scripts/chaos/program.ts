/** The built daemon as a process over one home: started, killed, stopped in an orderly way, started again. */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { OpenAiApi } from '../../test/support/openai-api.ts';
import type { TelegramApi } from '../../test/support/telegram-api.ts';

export interface Program {
  /** Resolves when it is ready. Rejects when it ends instead. */
  start(): Promise<void>;
  kill(): Promise<void>;
  /** SIGTERM; rejects unless it ends with 0 within 25 s. */
  stop(): Promise<void>;
  output(): string;
}

export interface ProgramOptions {
  home: string;
  model: OpenAiApi;
  telegram: TelegramApi;
  plugin: string;
  chats: number;
}

const file = join(import.meta.dirname, '..', '..', 'dist', 'hermes.js');
const readyMs = 30_000;
const stopMs = 25_000;
const keptOutput = 200_000;

export function createProgram({ home, model, telegram, plugin, chats }: ProgramOptions): Program {
  const config = {
    model: { provider: 'custom', base_url: model.url, name: 'scripted', api_key: 'key-for-the-scripted-model' },
    platforms: {
      telegram: { token: telegram.token, api_root: telegram.url, allowed_users: Array.from({ length: chats }, (_, i) => i + 1) },
      http: { port: 0, api_key: 'key-of-the-http-api-0123456789' },
    },
  };
  writeFileSync(join(home, 'config.yaml'), stringify(config));
  let child: ChildProcess | undefined;
  let output = '';
  const isRunning = () => child !== undefined && child.exitCode === null && child.signalCode === null;
  const ended = (process: ChildProcess) => (isRunning() ? new Promise<number | null>((resolve) => process.once('exit', resolve)) : Promise.resolve(process.exitCode));

  return {
    output: () => output,
    async start() {
      let said = '';
      const started = spawn(process.execPath, [file, 'gateway', 'run', '--plugin', plugin], { env: { PATH: process.env['PATH'] ?? '', HOME: home, HERMES_HOME: home }, stdio: ['ignore', 'pipe', 'pipe'] });
      child = started;
      for (const stream of [started.stdout, started.stderr])
        stream.setEncoding('utf8').on('data', (text: string) => {
          output = (output + text).slice(-keptOutput);
          said = (said + text).slice(-keptOutput);
        });
      const end = performance.now() + readyMs;
      while (!said.includes('telegram is up')) {
        if (!isRunning()) throw new Error(`the program ended with ${started.exitCode}`);
        if (performance.now() > end) throw new Error('the program was not ready in time');
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    },
    async kill() {
      if (!child) return;
      const end = ended(child);
      child.kill('SIGKILL');
      await end;
    },
    async stop() {
      if (!child) return;
      const begun = performance.now();
      const end = ended(child);
      child.kill('SIGTERM');
      const code = await end;
      if (code !== 0) throw new Error(`the program ended with ${code} when it was told to stop`);
      if (performance.now() - begun > stopMs) throw new Error('the program took too long to stop');
    },
  };
}

/** A plugin whose tool writes down each of its runs where no death can undo it. */
export function writeTally(home: string): { dir: string; counts(): Map<string, number> } {
  const dir = join(home, 'tally-plugin');
  const runs = join(dir, 'runs.txt');
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'plugin.yaml'), 'name: tally\nversion: 1.0.0\n');
  writeFileSync(
    join(dir, 'index.js'),
    `const { appendFileSync } = require('node:fs');
exports.register = (ctx) => ctx.registerTool({
  name: 'tally',
  schema: { name: 'tally', description: 'Tallies a key.', parameters: { type: 'object', properties: { key: { type: 'string' } }, required: ['key'] } },
  handler: async ({ key }) => { appendFileSync(${JSON.stringify(runs)}, key + '\\n'); await new Promise((resolve) => setTimeout(resolve, 30)); return JSON.stringify({ tallied: key }); },
});`,
  );
  return {
    dir,
    counts() {
      const counts = new Map<string, number>();
      const keys = existsSync(runs) ? readFileSync(runs, 'utf8').split('\n').filter(Boolean) : [];
      for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
      return counts;
    },
  };
}
