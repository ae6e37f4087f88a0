/** The same turns in a store that is years old and in an empty one; and what ten thousand turns leave in memory. */
import { compare, state, type Row } from './report.ts';
import { openScene } from './scene.ts';
import { seedStore, type Seed } from './seed-store.ts';
import { inPairs, talkAtOnce, talkInTurn, type Figures, type Subject } from './turns.ts';
import type { Workshop } from './workshop.ts';

const rounds = 6;

export async function measureGrowth(shop: Workshop, seed: Seed): Promise<Row[]> {
  const home = shop.folder();
  await seedStore(home, seed);
  return withDaemons(shop, [home, shop.folder()], async ([old, young]) => {
    if (!old || !young) return [];
    const startMs = [old, young].map(({ readyMs }) => readyMs);
    for (const subject of [old, young]) await talkInTurn(subject, { chats: 20, turns: 80 });
    const alone = await inPairs(old, young, rounds, (subject) => talkInTurn(subject, { chats: 20, turns: 50 }));
    const burst = await inPairs(old, young, rounds, (subject, number) => talkAtOnce(subject, { chats: 50, turns: 4, firstChat: 1001 + 50 * number }));
    const row = (figure: string, unit: string, pairs: typeof alone, key: keyof Figures, target?: Parameters<typeof compare>[4]) =>
      compare(`${figure}, old store against empty`, unit, pairs.ours.map((each) => each[key]), pairs.bare.map((each) => each[key]), target);
    return [
      row('one turn at a time, p50', 'ms', alone, 'p50', { most: 1.2 }),
      row('one turn at a time, CPU', 'ms', alone, 'cpuPerTurn', { most: 1.2 }),
      row('50 chats x 4 turns, CPU a turn', 'ms', burst, 'cpuPerTurn', { most: 1.2 }),
      compare('start to polling, old store against empty', 'ms', startMs.slice(0, 1), startMs.slice(1)),
      compare('memory, old store against empty', 'MB', [old.program.rssMb()], [young.program.rssMb()]),
    ];
  });
}

/** The same chats all the time would grow their histories; each thousand turns come from other chats. */
export async function measureSoak(shop: Workshop, turns: number): Promise<Row[]> {
  const step = 1000;
  return withDaemons(shop, [shop.folder()], async ([subject]) => {
    if (!subject) return [];
    const memory: number[] = [];
    const cpu: number[] = [];
    for (let done = 0; done < turns; done += step) {
      const { cpuPerTurn } = await talkAtOnce(subject, { chats: 50, turns: step / 50, firstChat: 1001 + done });
      memory.push(subject.program.rssMb());
      cpu.push(cpuPerTurn);
    }
    const early = [memory[1] ?? NaN, cpu[1] ?? NaN];
    return [
      state('memory after each 1,000 turns', `MB (${memory.map(Math.round).join(' ')})`, memory),
      compare(`memory after ${turns} turns against 2,000`, 'MB', memory.slice(-1), early.slice(0, 1), { most: 1.2 }),
      compare(`CPU of the last 1,000 turns against the second`, 'ms', cpu.slice(-1), early.slice(1), { most: 1.2 }),
    ];
  });
}

async function withDaemons<T>(shop: Workshop, homes: string[], act: (subjects: (Subject & { readyMs: number })[]) => Promise<T>): Promise<T> {
  const subjects: (Subject & { readyMs: number })[] = [];
  try {
    for (const home of homes) {
      const scene = await openScene('the daemon');
      const polled = scene.firstPoll();
      const program = await shop.startDaemon(scene, home);
      subjects.push({ scene, program, readyMs: (await polled) - program.startedAt });
    }
    return await act(subjects);
  } finally {
    for (const { scene, program } of subjects) {
      await program.stop();
      await scene.close();
    }
  }
}
