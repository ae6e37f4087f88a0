/** What must be true afterwards, whatever went wrong: the comparison of what was asked with what was seen and what was stored. */
import Database from 'better-sqlite3';
import { join } from 'node:path';
import { assertHistory, groupTurns } from '../../src/agent/history.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import type { OpenAiApi } from '../../test/support/openai-api.ts';
import type { TelegramApi } from '../../test/support/telegram-api.ts';

export interface Question {
  chat: number;
  number: number;
  kind: 'echo' | 'tally' | 'story';
  key: string;
  text: string;
  /** How its answer begins; the whole of it, but for tallies. */
  answer: string;
}

export interface TroubleLog {
  /** Moments, ms since the epoch. */
  deaths: number[];
  /** Calls whose answer was cut off, of one chat or of all. */
  cuts: { chat: number | null; at: number }[];
}

export interface Evidence {
  home: string;
  questions: readonly Question[];
  telegram: TelegramApi;
  model: OpenAiApi;
  tallies: ReadonlyMap<string, number>;
  log: TroubleLog;
}

const repeatMark = '\n\n(may be a repeat)';
/** From a message's appearance to the commit that says so: a death or a cut within it leaves nobody knowing. */
const windowMs = 4000;

/** `unknown`: answers whose fate nobody knows because two connections in a row were cut, and the operator was told so. */
export function examine(evidence: Evidence): { offences: string[]; unknown: number } {
  const store = openStore({ path: join(evidence.home, 'state.db'), process: 'look' });
  try {
    const unknown = store.outbox.list(['unknown'], 10_000).map(({ payload }) => ({ chat: Number(payload.address.chat), text: payload.text }));
    const chats = [...new Set(evidence.questions.map(({ chat }) => chat))];
    const texts = (chat: number) => new Set(unknown.flatMap((part) => (part.chat === chat ? [part.text] : [])));
    return { offences: [...chats.flatMap((chat) => findInChat(chat, texts(chat), evidence)), ...findInTools(evidence), ...findInStore(store, evidence)], unknown: unknown.length };
  } finally {
    void store.close();
  }
}

function findInChat(chat: number, unknown: ReadonlySet<string>, { questions, telegram, log }: Evidence): string[] {
  const offences: string[] = [];
  const asked = questions.filter((question) => question.chat === chat);
  const seen = telegram.sent.filter((message) => message.chat === chat).map(({ text, at }) => ({ text: text.replace(repeatMark, ''), at }));
  const isExcused = (at: number) => log.deaths.some((death) => death >= at - 50 && death - at < windowMs) || log.cuts.some((cut) => (cut.chat === null || cut.chat === chat) && Math.abs(cut.at - at) < windowMs);
  const isAnswer = (text: string, question: Question) =>
    question.kind === 'tally' ? text === `${question.answer} {"tallied":"${question.key}"}` || text === `${question.answer} (interrupted)` : text === question.answer;

  let lastNew = -1;
  const answered = new Map<number, number>();
  for (const { text, at } of seen) {
    const question = asked.find((each) => isAnswer(text, each));
    if (!question) {
      // A preview whose message a dead process could not write down stays as it was.
      const isUnfinished = text !== '' && asked.some(({ kind, answer }) => kind === 'story' && answer.startsWith(text));
      if (!isUnfinished || !isExcused(at)) offences.push(`chat ${chat}: a message that is no answer: ${JSON.stringify(text.slice(0, 200))}`);
      continue;
    }
    const before = answered.get(question.number);
    answered.set(question.number, at);
    if (before !== undefined) {
      if (!isExcused(before)) offences.push(`chat ${chat}: the answer to ${question.key} came twice, and no death and no cut explains it`);
      continue;
    }
    if (question.number < lastNew) offences.push(`chat ${chat}: the answer to ${question.key} came after that to ${chat}.${lastNew}`);
    lastNew = Math.max(lastNew, question.number);
  }
  for (const question of asked) {
    const isUnknown = log.cuts.length >= 2 && [...unknown].some((text) => isAnswer(text, question));
    if (!answered.has(question.number) && !isUnknown) offences.push(`chat ${chat}: ${question.key} was never answered`);
  }
  return offences;
}

function findInTools({ questions, tallies, model, telegram }: Evidence): string[] {
  const twice = [...tallies].filter(([, runs]) => runs > 1).map(([key, runs]) => `the tool ran ${runs} times for ${key}`);
  const never = questions.filter(({ kind, key }) => kind === 'tally' && !tallies.has(key)).filter(({ chat, answer }) => !telegram.sent.some((message) => message.chat === chat && message.text.startsWith(`${answer} (interrupted)`)));
  return [...twice, ...never.map(({ key }) => `the tool never ran for ${key}`), ...model.violations.map((violation) => `the model was sent what it refuses: ${violation}`)];
}

function findInStore(store: Store, { home, questions }: Evidence): string[] {
  const offences: string[] = [];
  const sql = new Database(join(home, 'state.db'), { readonly: true });
  try {
    const verdict = sql.pragma('integrity_check', { simple: true });
    if (verdict !== 'ok') offences.push(`the database is damaged: ${String(verdict)}`);
    const turns = new Map<string, number>();
    for (const { id } of store.sessions.list({ limit: 100_000 }))
      for (const turn of groupTurns(store.transcript.history(id, 0, Number.MAX_SAFE_INTEGER))) {
        const said = turn[0]?.text ?? '';
        turns.set(said, (turns.get(said) ?? 0) + 1);
        try {
          assertHistory(turn);
        } catch (thrown) {
          offences.push(`session ${id}: ${String(thrown)}`);
        }
      }
    for (const { text, key } of questions) if (turns.get(text) !== 1) offences.push(`${key} has ${turns.get(text) ?? 0} turns in the store`);
    const open = sql.prepare("SELECT count(*) FROM inbox WHERE state IN ('waiting', 'running')").pluck().get();
    if (open !== 0) offences.push(`${String(open)} inbox rows have no end`);
  } finally {
    sql.close();
  }
  return offences;
}
