/**
 * K2: the process is killed at random instants while people write. HERMES_KILLS says how often (default 6), HERMES_SEED where chance
 * begins. Afterwards everything that was written is answered, in order, each part at most once more than it was in flight at a kill.
 */
import { expect, test } from 'vitest';
import { counterPlugin, createRig } from '../support/crash-rig.ts';
import { lastUserText } from '../support/openai-api.ts';
import { waitFor } from '../support/wait-for.ts';

const kills = Number(process.env['HERMES_KILLS'] ?? 6);
const seed = Number(process.env['HERMES_SEED'] ?? Date.now() % 1_000_000);

/** A small generator whose run can be repeated from its seed (mulberry32). */
function createRandom(from: number): () => number {
  let state = from;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

test(`${kills} kills while people write (seed ${seed}): nothing lost, nothing out of order, no tool run twice`, { timeout: 60_000 + kills * 15_000 }, async () => {
  const random = createRandom(seed);
  const pick = (n: number) => Math.floor(random() * n);
  const counter = counterPlugin(20);
  const rig = await createRig({ plugins: [counter.dir] });
  rig.model.answer((request) => {
    const text = lastUserText(request);
    const last = request.body.messages.at(-1);
    if (text.startsWith('count') && last?.role !== 'tool') return { toolCalls: [{ name: 'count', args: {} }] };
    return { text: `answer to ${text}`, delayMs: pick(40) };
  });
  const chats = [1, 2, 3, 4, 5];
  const written = new Map(chats.map((chat) => [chat, [] as string[]]));
  let counted = 0;
  const write = () => {
    const chat = chats[pick(chats.length)] ?? 1;
    const isCount = pick(4) === 0;
    if (isCount) counted += 1;
    const text = `${isCount ? 'count' : 'say'} ${written.get(chat)?.length ?? 0} in ${chat}`;
    written.get(chat)?.push(text);
    rig.telegram.dm(chat).says(text);
  };

  const distinct = (chat: number) => [...new Set(rig.answers(chat).map((text) => text.replace('\n\n(may be a repeat)', '')))];
  /** Waits until everything that was written so far is answered, then gives it back. */
  const catchUp = (due: ReadonlyMap<number, number>) =>
    waitFor('every answer', () => chats.every((chat) => distinct(chat).length >= (due.get(chat) ?? 0)), 30_000).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${JSON.stringify(chats.map((chat) => ({ chat, missing: written.get(chat)?.filter((text) => !distinct(chat).includes(`answer to ${text}`)) })))}`);
    });
  const howMany = () => new Map(chats.map((chat) => [chat, written.get(chat)?.length ?? 0]));

  let before = howMany();
  for (let kill = 0; kill < kills; kill++) {
    const daemon = await rig.start();
    // A message that dies a third time, alone, would rightly be taken for the culprit: chance may hit each of them twice.
    await catchUp(before);
    before = howMany();
    const end = performance.now() + 50 + pick(400);
    while (performance.now() < end) {
      write();
      await new Promise((resolve) => setTimeout(resolve, pick(60)));
    }
    await daemon.kill();
    write();
  }
  const daemon = await rig.start();
  await catchUp(howMany());
  for (const chat of chats) expect(distinct(chat)).toEqual(written.get(chat)?.map((text) => `answer to ${text}`));
  // A message is waited for before the second kill after it, so its answer was in flight at two of them at most.
  const times = (chat: number, text: string) => rig.answers(chat).filter((answer) => answer.replace('\n\n(may be a repeat)', '') === text).length;
  for (const chat of chats) expect(distinct(chat).filter((text) => times(chat, text) > 3)).toEqual([]);
  const repeats = chats.reduce((sum, chat) => sum + rig.answers(chat).length - (written.get(chat)?.length ?? 0), 0);
  // One part of each chat may be in flight at a kill.
  expect(repeats).toBeLessThanOrEqual(kills * chats.length);
  expect(counter.count()).toBeLessThanOrEqual(counted);
  expect(rig.model.violations).toEqual([]);
  await waitFor('the confirmation', () => rig.telegram.unconfirmed.length === 0);
  await daemon.stop();
  rig.checkStore();
});
