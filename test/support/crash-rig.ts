/**
 * A daemon on simulators that can be killed at any instant and started again over the same home. The oracle compares what people
 * wrote with what they were answered: nothing lost, nothing doubled, every stored history valid.
 */
import Database from 'better-sqlite3';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { assertHistory, groupTurns } from '../../src/agent/history.ts';
import { openStore } from '../../src/store/store.ts';
import { launchDaemon, startDaemon, type Daemon } from './daemon.ts';
import { lastUserText, startOpenAiApi, type OpenAiApi } from './openai-api.ts';
import { startTelegramApi, type TelegramApi } from './telegram-api.ts';
import { tempHome } from './temp-home.ts';
import { waitFor } from './wait-for.ts';

export interface Rig {
  home: string;
  model: OpenAiApi;
  telegram: TelegramApi;
  /** Starts the daemon; `crashAt` is HERMES_CRASH_AT. Does not wait for readiness when it is to crash. */
  start(crashAt?: string): Promise<Daemon>;
  /** Texts that the bot sent to this chat, as they are now. */
  answers(chat: number): string[];
  /** Every turn that has ended satisfies the grammar; the database is whole. */
  checkStore(): void;
}

export interface RigOptions {
  config?: Record<string, unknown>;
  telegram?: Record<string, unknown>;
  plugins?: string[];
  env?: Record<string, string>;
}

/** People 1 to 50 may write. The model answers `answer to <text>` unless a test says otherwise. */
export async function createRig({ config = {}, telegram: settings = {}, plugins = [], env = {} }: RigOptions = {}): Promise<Rig> {
  const home = tempHome();
  const model = await startOpenAiApi();
  const telegram = await startTelegramApi();
  onTestFinished(async () => {
    await telegram.close();
    await model.close();
  });
  model.answer((request) => ({ text: `answer to ${lastUserText(request)}` }));
  const everything = {
    model: { provider: 'custom', base_url: model.url, name: 'scripted', api_key: 'key-for-the-scripted-model' },
    streaming: { enabled: false },
    ...config,
    platforms: { telegram: { token: telegram.token, api_root: telegram.url, allowed_users: Array.from({ length: 50 }, (_, i) => i + 1), ...settings } },
  };
  return {
    home,
    model,
    telegram,
    async start(crashAt) {
      const options = { home, config: everything, plugins, env: { ...env, ...(crashAt ? { HERMES_CRASH_AT: crashAt } : {}) } };
      return crashAt ? launchDaemon(options) : startDaemon(options);
    },
    answers: (chat) => telegram.sent.filter((message) => message.chat === chat).map(({ text }) => text),
    checkStore: () => checkStore(home),
  };
}

/** Waits until the chat has been sent as many texts as given, all of them and in this order, and nothing more. */
export async function shouldBeAnswered(rig: Rig, chat: number, texts: string[], ms = 20_000): Promise<void> {
  await waitFor(
    `${texts.length} answers in chat ${chat}`,
    () => {
      const seen = rig.answers(chat);
      return texts.every((text) => seen.includes(text));
    },
    ms,
  ).catch((error: unknown) => {
    throw new Error(`${String(error)}; seen: ${JSON.stringify(rig.answers(chat))}`);
  });
}

export interface TestPlugin {
  dir: string;
  /** How often it has appended to its file: what it did before a death cannot be undone. */
  count(): number;
}

/** A plugin of this code, in which FILE is the path of its file. */
export function pluginWith(name: string, code: string): TestPlugin {
  const dir = join(tempHome(), name);
  const file = join(dir, 'runs.txt');
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'plugin.yaml'), `name: ${name}\nversion: 1.0.0\n`);
  writeFileSync(join(dir, 'index.js'), code.replaceAll('FILE', JSON.stringify(file)));
  return { dir, count: () => (existsSync(file) ? readFileSync(file, 'utf8').length : 0) };
}

/** A plugin with a tool `count` that counts its runs, and takes `ms` for each. */
export function counterPlugin(ms = 0): TestPlugin {
  return pluginWith(
    'counter',
    `const { appendFileSync } = require('node:fs');
exports.register = (ctx) => ctx.registerTool({
  name: 'count', timeoutMs: 120000,
  schema: { name: 'count', description: 'Counts.', parameters: { type: 'object', properties: {} } },
  handler: async () => { appendFileSync(FILE, 'x'); await new Promise((resolve) => setTimeout(resolve, ${ms})); return JSON.stringify({ counted: true }); },
});`,
  );
}

/** Holds the write lock of the daemon's database, as a full disk or a stuck backup would stop its writes. */
export function lockStore({ home }: Rig): { release(): void } {
  const sql = new Database(join(home, 'state.db'), { timeout: 5000 });
  sql.exec('BEGIN IMMEDIATE');
  return {
    release() {
      sql.exec('ROLLBACK');
      sql.close();
    },
  };
}

function checkStore(home: string): void {
  const path = join(home, 'state.db');
  const store = openStore({ path, process: 'check' });
  const sql = new Database(path, { readonly: true });
  try {
    if (sql.pragma('integrity_check', { simple: true }) !== 'ok') throw new Error('the database is damaged');
    for (const session of store.sessions.list({ limit: 10_000 }))
      for (const turn of groupTurns(store.transcript.history(session.id, 0, Number.MAX_SAFE_INTEGER)))
        // One that is to go on is in the middle of something; it is made whole when it does.
        if (store.transcript.turn(turn[0]?.turnId ?? '')?.state !== 'running') assertHistory(turn);
  } finally {
    sql.close();
    void store.close();
  }
}
