/** The cost of a turn against the bare bot's: alone, with fifty chats at once, for a while; and what the model is sent. */
import Database from 'better-sqlite3';
import { join } from 'node:path';
import { estimateTokens } from '../../src/agent/tokens.ts';
import { compare, median, state, type Row } from './report.ts';
import { openScene, type Scene } from './scene.ts';
import { inPairs, talkAtOnce, talkInTurn, type Figures } from './turns.ts';
import type { Workshop } from './workshop.ts';

/** Imported by the daemon with Telegram and an OpenAI-compatible model. */
export const packages = ['grammy', 'openai', 'fastify', 'better-sqlite3', 'pino', 'zod', 'yaml', 'commander', 'jiti', 'ajv'];

const idleMs = 5000;
const rounds = 5;

/** `sustained`: turns of the long round. */
export async function measureTurns(shop: Workshop, { sustained }: { sustained: number }): Promise<Row[]> {
  const scenes = { ours: await openScene('the daemon'), bare: await openScene('the bare bot') };
  try {
    const polling = Promise.all([scenes.ours.firstPoll(), scenes.bare.firstPoll()]);
    const ours = { scene: scenes.ours, program: await shop.startDaemon(scenes.ours) };
    const bare = { scene: scenes.bare, program: shop.startBareBot(scenes.bare) };
    const imports = shop.startImports(packages);
    await Promise.all([polling, imports.printed('ready')]);
    await new Promise((resolve) => setTimeout(resolve, idleMs));
    const idle = { ours: ours.program.rssMb(), imports: imports.rssMb(), bare: bare.program.rssMb() };
    await imports.stop();

    const request = await firstRequests(ours.scene);
    for (const subject of [ours, bare]) {
      await talkInTurn(subject, { chats: 20, turns: 100 });
      for (const firstChat of [101, 151, 201]) await talkAtOnce(subject, { chats: 50, turns: 8, firstChat });
    }
    const commits = [durableCommit(shop.folder())];
    const alone = await inPairs(ours, bare, rounds, (subject) => talkInTurn(subject, { chats: 20, turns: 40 }));
    commits.push(durableCommit(shop.folder()));
    const burst = await inPairs(ours, bare, rounds, (subject, number) => talkAtOnce(subject, { chats: 50, turns: 4, firstChat: 1001 + 50 * number }));
    const long = await inPairs(ours, bare, 1, (subject) => talkAtOnce(subject, { chats: 50, turns: sustained / 50, firstChat: 5001 }));

    const row = (figure: string, unit: string, pairs: typeof alone, key: keyof Figures, target?: Parameters<typeof compare>[4]) =>
      compare(figure, unit, pairs.ours.map((each) => each[key]), pairs.bare.map((each) => each[key]), target);
    return [
      row('one turn at a time, p50', 'ms', alone, 'p50', { most: 2 }),
      row('one turn at a time, p95', 'ms', alone, 'p95'),
      row('one turn at a time, CPU', 'ms', alone, 'cpuPerTurn', { most: 2 }),
      state('one durable commit on this disk (a turn has four)', 'ms', [Math.min(...commits), Math.max(...commits)]),
      row('50 chats x 4 turns', 'turns/s', burst, 'perSecond', { least: 0.7 }),
      row('50 chats x 4 turns, CPU a turn', 'ms', burst, 'cpuPerTurn'),
      row(`50 chats, ${sustained} turns`, 'turns/s', long, 'perSecond', { least: 0.7 }),
      row(`50 chats, ${sustained} turns, CPU a turn`, 'ms', long, 'cpuPerTurn'),
      { ...compare('idle memory against bare imports', 'MB', [idle.ours], [idle.imports]), ...memoryVerdict(idle.ours - idle.imports) },
      compare('idle memory against the bare bot', 'MB', [idle.ours], [idle.bare]),
      compare('memory after the turns', 'MB', [ours.program.rssMb()], [bare.program.rssMb()]),
      ...request,
    ];
  } finally {
    await Promise.all([scenes.ours.close(), scenes.bare.close()]);
  }
}

function memoryVerdict(more: number): Pick<Row, 'target' | 'verdict'> {
  return { target: '<= 40 MB more', verdict: more <= 40 ? 'ok' : 'over' };
}

/** What stands before the newest message of a conversation has to be the same bytes every time, or no provider's cache hits. */
async function firstRequests(scene: Scene): Promise<Row[]> {
  for (const text of ['hello', 'and again', 'and once more']) await scene.turn(99, text);
  const requests = scene.model.requests.map(({ body, raw }) => ({ body, raw }));
  const [first] = requests;
  if (!first) throw new Error('the model was not asked');
  const system = first.body.messages.filter(({ role }) => role === 'system');
  const tools = first.body.tools ?? [];
  const kept = requests.slice(1).filter(({ body }, index) => JSON.stringify([body.messages.slice(0, -2), body.tools]) === JSON.stringify([requests[index]?.body.messages, requests[index]?.body.tools]));
  return [
    state('first request to the model', 'bytes', [Buffer.byteLength(first.raw)]),
    state(`system prompt and ${tools.length} tools`, 'tokens', [estimateTokens(JSON.stringify(system)) + estimateTokens(JSON.stringify(tools))], { most: 2500 }),
    state('requests that begin with the last one', 'of 2', [kept.length], { least: 2 }),
  ];
}

/** Milliseconds of a small transaction, as the store writes it; the disk's share in everything that is durable. */
function durableCommit(folder: string): number {
  const sql = new Database(join(folder, 'commit.db'));
  sql.pragma('journal_mode = WAL');
  sql.pragma('synchronous = FULL');
  sql.exec('CREATE TABLE rows (text TEXT)');
  const insert = sql.prepare('INSERT INTO rows VALUES (?)');
  const times = Array.from({ length: 200 }, (_, n) => {
    const from = performance.now();
    insert.run(`row ${n}`);
    return performance.now() - from;
  });
  sql.close();
  return median(times);
}
