/**
 * `npm run chaos`: the built daemon answers thousands of exact questions while its model and its platform fail and it is killed at
 * random. Afterwards every question must have its one exact answer, in order, and every stored history must be valid.
 *
 *   npm run chaos -- --turns 2000 --minutes 10 --seed 42 --chats 40
 *
 * Ends with 0, or with 1 and the offences. The seed is printed; the same seed makes the same choices, though not the same timing.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { lastUserText, startOpenAiApi } from '../test/support/openai-api.ts';
import { startTelegramApi } from '../test/support/telegram-api.ts';
import { createRandom } from './chaos/random.ts';
import { examine, type Question } from './chaos/oracle.ts';
import { createTrouble } from './chaos/trouble.ts';
import { createProgram, writeTally } from './chaos/program.ts';

const { values } = parseArgs({
  options: {
    turns: { type: 'string', default: '2000' },
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    chats: { type: 'string', default: '40' },
    keep: { type: 'boolean', default: false },
  },
});
const turns = Number(values.turns);
const chats = Number(values.chats);
const end = performance.now() + Number(values.minutes) * 60_000;
/** Unanswered questions of one person; the gateway takes twenty. */
const patience = 8;
/** So long without a new message, nothing more is under way: a part is tried again after 16 s at most before it rests. */
const quietMs = 40_000;

const say = (text: string) => void process.stdout.write(`${text}\n`);
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
say(`chaos: seed ${values.seed}, ${turns} turns, ${chats} chats, at most ${values.minutes} minutes`);

const home = mkdtempSync(join(tmpdir(), 'hermes-chaos-'));
const random = createRandom(Number(values.seed));
const model = await startOpenAiApi();
const telegram = await startTelegramApi();
const tally = writeTally(home);
const program = createProgram({ home, model, telegram, plugin: tally.dir, chats });
const questions: Question[] = [];
const trouble = createTrouble({ random, model, telegram, program, questions });

model.answer((request) => trouble.strikeModel(lastUserText(request)) ?? reply(request));

function reply(request: Parameters<typeof lastUserText>[0]) {
  // A note that an earlier answer may not have arrived can stand beside the question.
  const key = /please, (\d+\.\d+)/.exec(lastUserText(request))?.[1];
  const question = questions.find((each) => each.key === key);
  if (!question) return { text: 'a question that nobody asked' };
  const last = request.body.messages.at(-1);
  if (question.kind === 'tally' && last?.role !== 'tool') return { toolCalls: [{ name: 'tally', args: { key: question.key } }] };
  // A call that the death of the process interrupted is told as that; everything else is the tool's own exact result.
  if (question.kind === 'tally' && String(last?.content).includes('interrupted')) return { text: `${question.answer} (interrupted)` };
  if (question.kind === 'tally') return { text: `${question.answer} ${String(last?.content)}` };
  return { text: question.answer, delayMs: random.pick(60), ...(question.kind === 'story' ? { chunkBytes: 4000, chunkDelayMs: 150 } : {}) };
}

/** Somebody who asks, waits a little, and asks again, without waiting for answers longer than patience lasts. */
async function converse(chat: number): Promise<void> {
  const person = telegram.dm(chat);
  for (let number = 0; questions.length < turns && performance.now() < end; number++) {
    while (waiting(chat) >= patience && performance.now() < end) await pause(50);
    const question = toQuestion(chat, number);
    questions.push(question);
    person.says(question.text);
    trouble.asked(telegram.lastPushed());
    await pause(20 + random.pick(400));
  }
}

function toQuestion(chat: number, number: number): Question {
  const key = `${chat}.${number}`;
  const kind = random.pick(5) === 0 ? 'tally' : random.pick(6) === 0 ? 'story' : 'echo';
  const answer = kind === 'story' ? `Story ${key}: ${'and then it rained on the hill, '.repeat(20)}the end of ${key}.` : `${kind} ${key}.`;
  return { chat, number, kind, key, text: `${kind} please, ${key}`, answer };
}

function waiting(chat: number): number {
  const asked = questions.filter((question) => question.chat === chat);
  const seen = telegram.sent.filter((message) => message.chat === chat).map(({ text }) => text);
  return asked.filter(({ answer }) => !seen.some((text) => text.startsWith(answer))).length;
}

const allAnswered = () => Array.from({ length: chats }, (_, i) => i + 1).every((chat) => waiting(chat) === 0);

const begun = performance.now();
let exitCode = 0;
try {
  await program.start();
  const asking = Promise.all(Array.from({ length: chats }, (_, i) => converse(i + 1))).finally(() => trouble.end());
  await Promise.all([asking, trouble.run()]);
  while (!allAnswered() && Date.now() - (telegram.sent.at(-1)?.at ?? 0) < quietMs) await pause(100);
  await program.stop();
  const { offences, unknown } = examine({ home, questions, telegram, model, tallies: tally.counts(), log: trouble.log });
  const seconds = Math.round((performance.now() - begun) / 1000);
  say(`${questions.length} turns in ${seconds} s; ${trouble.summary()}; ${telegram.sent.length - questions.length} messages beyond one for each, ${unknown} answers that the ledger calls unknown`);
  for (const offence of offences.slice(0, 20)) say(`OFFENCE ${offence}`);
  if (offences.length > 0) {
    exitCode = 1;
    say(`${offences.length} offences with seed ${values.seed}; the program said last:\n${program.output().slice(-4000)}`);
  } else say('nothing lost, nothing doubled beyond what a death or a cut connection allows, nothing out of order, every history valid');
} catch (thrown) {
  exitCode = 1;
  say(`${thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)}\nThe program said last:\n${program.output().slice(-4000)}`);
} finally {
  await program.kill();
  await telegram.close();
  await model.close();
  if (exitCode === 0 && !values.keep) rmSync(home, { recursive: true, force: true });
  else say(`home: ${home}`);
}
process.exit(exitCode);
