/**
 * The world around one program: a Bot API and a model that take no time of their own, both in the driver's process. A turn is
 * timed from the moment its update is handed to the waiting poll until the call that answers it has arrived.
 */
import { toStream } from '../../test/support/openai-api-reply.ts';
import { subscribe } from 'node:diagnostics_channel';
import type { Server } from 'node:http';
import { startOpenAiApi, type OpenAiApi } from '../../test/support/openai-api.ts';
import { startTelegramApi, type TelegramApi } from '../../test/support/telegram-api.ts';

export interface Scene {
  telegram: TelegramApi;
  model: OpenAiApi;
  /** One message of a chat and its answer; resolves with the milliseconds between. Rejects when none comes. */
  turn(chat: number, text: string): Promise<number>;
  /** Resolves with the moment (performance.now()) of the program's first getUpdates from now on. */
  firstPoll(): Promise<number>;
  /** Drops what the simulators keep of earlier turns, so that the driver does not slow down. */
  forget(): void;
  close(): Promise<void>;
}

/** The same bytes for every turn, made once: the driver's own work must not hide the difference. */
const raw = toStream({ text: 'It is a fine day, and here is a short answer of the length that people get in a chat.' }, () => '');
const patienceMs = 60_000;
/** A program waits this long for its next round, and its connections with it: one that is closed meanwhile costs a fault, and the bare bot an answer. */
const keepAliveMs = 10 * 60_000;

/** `name` is the program's, for errors. */
export async function openScene(name: string): Promise<Scene> {
  keepConnections();
  const telegram = await startTelegramApi();
  const model = await startOpenAiApi();
  model.answer(() => ({ raw }));
  const waiting = new Map<number, (at: number) => void>();
  let onPoll = (_at: number) => {};

  watch(telegram.sent, ({ chat }) => {
    waiting.get(chat)?.(performance.now());
    waiting.delete(chat);
  });
  watch(telegram.calls, ({ method }) => {
    if (method === 'getUpdates') onPoll(performance.now());
  });

  return {
    telegram,
    model,
    turn: (chat, text) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`${name} gave no answer in chat ${chat} within ${patienceMs / 1000} s`)), patienceMs);
        const from = performance.now();
        waiting.set(chat, (at) => {
          clearTimeout(timer);
          resolve(at - from);
        });
        telegram.dm(chat).says(text);
      }),
    firstPoll: () =>
      new Promise((resolve) => {
        onPoll = resolve;
      }),
    forget() {
      telegram.sent.length = 0;
      telegram.calls.length = 0;
      model.requests.length = 0;
    },
    async close() {
      await telegram.close();
      await model.close();
    },
  };
}

/** The simulators do not hand out their servers; Node tells of each with its first request. */
function keepConnections(): void {
  subscribe('http.server.request.start', (message) => {
    (message as { server: Server }).server.keepAliveTimeout = keepAliveMs;
  });
}

/** The simulators keep arrays and tell nobody; a look at them every few milliseconds would be too coarse for a turn that takes five. */
function watch<T>(list: T[], see: (item: T) => void): void {
  const push = list.push.bind(list);
  list.push = (...items) => {
    const length = push(...items);
    for (const item of items) see(item);
    return length;
  };
}
