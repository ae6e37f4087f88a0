/**
 * What goes wrong: the process dies or is stopped, the model and the platform refuse, break off, vanish for a moment, or deliver twice.
 * Each question and each reply is struck at most once, so that what fails is the patience of nobody: whatever happens, an answer is due.
 */
import type { OpenAiApi, OpenAiReply } from '../../test/support/openai-api.ts';
import type { TelegramApi, Update } from '../../test/support/telegram-api.ts';
import type { Question, TroubleLog } from './oracle.ts';
import type { Program } from './program.ts';
import type { Random } from './random.ts';

export interface Trouble {
  /** Makes trouble until end() is called; the program runs when it resolves. */
  run(): Promise<void>;
  end(): void;
  /** An update was put in the queue; it may come again. */
  asked(update: Update): void;
  /** A fault in place of the model's answer, or undefined. */
  strikeModel(text: string): OpenAiReply | undefined;
  log: TroubleLog;
  summary(): string;
}

export interface TroubleDeps {
  random: Random;
  model: OpenAiApi;
  telegram: TelegramApi;
  program: Program;
  questions: Question[];
}

/** Between two deaths a turn has time to end: one that died three times, the third alone, would rightly be taken for the culprit. */
const betweenDeathsMs = 5000;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export function createTrouble({ random, telegram, program }: TroubleDeps): Trouble {
  const log: TroubleLog = { deaths: [], cuts: [] };
  const counts = new Map<string, number>();
  const updates: Update[] = [];
  const struckTexts = new Set<string>();
  const struckReplies = new Set<string>();
  const over = new AbortController();
  let modelDownUntil = 0;
  let lastStart = 0;
  const count = (what: string) => void counts.set(what, (counts.get(what) ?? 0) + 1);

  const restart = async (how: 'kill' | 'stop') => {
    await pause(Math.max(0, lastStart + betweenDeathsMs - performance.now()));
    count(how === 'kill' ? 'kills' : 'orderly stops');
    if (how === 'kill') log.deaths.push(Date.now());
    await program[how]();
    await pause(random.pick(500));
    await program.start();
    lastStart = performance.now();
  };

  /** The next send of a reply that was not struck yet meets this fault. */
  const strikeSend = (what: string, fault: Parameters<TelegramApi['fail']>[1], isCut: boolean) => {
    count(what);
    telegram.fail('sendMessage', {
      ...fault,
      match(params) {
        const reply = `${String(params['chat_id'])} ${String(params['text']).replace(/\s*\(may be a repeat\)$/, '')}`;
        if (struckReplies.has(reply)) return false;
        struckReplies.add(reply);
        if (isCut) log.cuts.push({ chat: Number(params['chat_id']), at: Date.now() });
        return true;
      },
    });
  };

  const cutLine = async (downMs: number) => {
    count(downMs > 0 ? 'times Telegram was down' : 'cut connections');
    log.cuts.push({ chat: null, at: Date.now() });
    if (downMs === 0) return telegram.cutConnections();
    await telegram.shut();
    await pause(downMs);
    await telegram.reopen();
  };

  const faults: (() => Promise<void> | void)[] = [
    () => strikeSend('HTTP 500 on sends', { status: 500 }, false),
    () => strikeSend('429 on sends', { retryAfter: 1 + random.pick(3) }, false),
    () => strikeSend('answers lost', { dropAfter: true }, true),
    () => strikeSend('sends cut off', { dropBefore: true }, true),
    () => strikeSend('slow sends', { hangMs: 500 + random.pick(2500) }, true),
    () => (count('failed polls'), telegram.fail('getUpdates', { times: 1 + random.pick(2), status: random.pick(2) === 0 ? 502 : 409 })),
    () => cutLine(0),
    () => cutLine(200 + random.pick(1500)),
    () => (count('times the model was down'), void (modelDownUntil = Date.now() + 200 + random.pick(500))),
    () => {
      count('redeliveries');
      for (let i = 0; i < 5 && updates.length > 0; i++) telegram.push(updates[random.pick(updates.length)] ?? {});
    },
  ];

  return {
    log,
    async run() {
      const repeat = async (next: () => Promise<void> | void, pauseMs: () => number) => {
        while (!over.signal.aborted) {
          await pause(pauseMs());
          if (!over.signal.aborted) await next();
        }
      };
      const deaths = repeat(() => restart(random.pick(3) === 0 ? 'stop' : 'kill'), () => random.pick(3000));
      const strikes = repeat(() => faults[random.pick(faults.length)]?.(), () => 100 + random.pick(1000));
      await Promise.all([deaths, strikes]);
      telegram.clearFaults();
    },
    end: () => over.abort(),
    asked: (update) => void updates.push(update),
    strikeModel(text) {
      const isDown = Date.now() < modelDownUntil;
      if (struckTexts.has(text) || (!isDown && random.pick(12) > 0)) return undefined;
      struckTexts.add(text);
      count('model faults');
      const replies: OpenAiReply[] = [{ status: 500 }, { status: 503 }, { status: 429, headers: { 'retry-after': '1' } }, { raw: 'data: {"choices":[]}\n\n', cutAfter: 20 }, { text: 'x', cutAfter: 0 }];
      return isDown ? { status: 503 } : replies[random.pick(replies.length)];
    },
    summary: () => [...counts].map(([what, n]) => `${n} ${what}`).join(', '),
  };
}
