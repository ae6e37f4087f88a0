/** From the platform into the store: confirmed only when it is kept, counted once however often it comes, and taken again by itself. */
import { expect, test } from 'vitest';
import { createRig, lockStore, shouldBeAnswered } from '../support/crash-rig.ts';
import { waitFor } from '../support/wait-for.ts';

test('the same update before and after a restart is one turn', async () => {
  const rig = await createRig();
  const daemon = await rig.start();
  rig.telegram.dm(1).says('hello');
  const update = rig.telegram.lastPushed();
  await shouldBeAnswered(rig, 1, ['answer to hello']);
  for (let time = 0; time < 3; time++) rig.telegram.push(update);
  rig.telegram.dm(1).says('second');
  await shouldBeAnswered(rig, 1, ['answer to second']);
  await daemon.stop();
  rig.telegram.push(update);
  const next = await rig.start();
  rig.telegram.push(update);
  rig.telegram.dm(1).says('third');
  await shouldBeAnswered(rig, 1, ['answer to third']);
  expect(rig.answers(1)).toEqual(['answer to hello', 'answer to second', 'answer to third']);
  expect(rig.model.requests).toHaveLength(3);
  await next.stop();
  rig.checkStore();
});

test('A2 openclaw#11337 ids that fall are new: after a quiet week, and of another bot under the same name', async () => {
  const rig = await createRig();
  const message = (id: number, text: string) => ({ update_id: id, message: { message_id: id, date: Math.floor(Date.now() / 1000), from: { id: 1, is_bot: false, first_name: 'Ann' }, chat: { id: 1, type: 'private', first_name: 'Ann' }, text } });
  rig.telegram.user(1);
  const daemon = await rig.start();
  for (const id of [900_000_000, 900_000_001]) rig.telegram.push(message(id, `text ${id}`));
  await shouldBeAnswered(rig, 1, ['answer to text 900000001']);
  rig.telegram.push(message(17, 'text 17'));
  await shouldBeAnswered(rig, 1, ['answer to text 17']);
  await daemon.stop();
  rig.telegram.becomeBot(8_000_002, 'other_bot');
  const next = await rig.start();
  // The very ids that the first bot had are another bot's own.
  for (const id of [300, 900_000_000]) rig.telegram.push(message(id, `text ${id} again`));
  await shouldBeAnswered(rig, 1, ['answer to text 300 again', 'answer to text 900000000 again']);
  expect(rig.answers(1)).toHaveLength(5);
  expect(rig.telegram.unconfirmed).toEqual([]);
  await next.stop();
});

test('A1 openclaw#113315 while the store cannot be written nothing is confirmed; when it can, all of it is taken, in order', { timeout: 60_000 }, async () => {
  const rig = await createRig();
  const daemon = await rig.start();
  rig.telegram.dm(1).says('before');
  await shouldBeAnswered(rig, 1, ['answer to before']);
  const lock = lockStore(rig);
  for (const text of ['one', 'two', 'three']) rig.telegram.dm(1).says(text);
  rig.telegram.dm(2).says('elsewhere');
  await waitFor('a write that failed', () => daemon.output().includes('cannot be written'), 30_000);
  expect(rig.telegram.unconfirmed.length).toBeGreaterThan(0);
  expect(rig.model.requests).toHaveLength(1);
  lock.release();
  await shouldBeAnswered(rig, 1, ['answer to one', 'answer to two', 'answer to three'], 30_000);
  await shouldBeAnswered(rig, 2, ['answer to elsewhere'], 30_000);
  expect(rig.answers(1)).toEqual(['before', 'one', 'two', 'three'].map((text) => `answer to ${text}`));
  await waitFor('the confirmation', () => rig.telegram.unconfirmed.length === 0);
  await daemon.stop();
  rig.checkStore();
});

test('A22 grammyjs/grammY#503 another poller for a while: the process stays, the others answer, and it comes back by itself', { timeout: 60_000 }, async () => {
  const rig = await createRig();
  rig.telegram.fail('getUpdates', { times: 3, status: 409, description: 'Conflict: terminated by other getUpdates request; make sure that only one bot instance is running' });
  const daemon = await rig.start();
  rig.telegram.dm(1).says('hello');
  const answer = await daemon.api('/v1/chat/completions', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ messages: [{ role: 'user', content: 'over HTTP' }] }) });
  expect(((await answer.json()) as { choices: { message: { content: string } }[] }).choices[0]?.message.content).toBe('answer to over HTTP');
  await shouldBeAnswered(rig, 1, ['answer to hello'], 30_000);
  expect(daemon.output().split('\n').filter((line) => /another program polls/i.test(line)).length).toBeLessThanOrEqual(3);
  expect(daemon.isRunning()).toBe(true);
});

test('a platform that is down at the start is there by itself once it is up; until then the rest works and says so', { timeout: 60_000 }, async () => {
  const rig = await createRig();
  await rig.telegram.shut();
  const daemon = await rig.start();
  const ready = (await (await daemon.api('/readyz')).json()) as { adapters?: Record<string, { state: string }> };
  expect(ready.adapters?.['telegram']?.state).toBe('degraded');
  await rig.telegram.reopen();
  rig.telegram.dm(1).says('hello');
  await shouldBeAnswered(rig, 1, ['answer to hello'], 40_000);
  const later = (await (await daemon.api('/readyz')).json()) as { adapters?: Record<string, { state: string }> };
  expect(later.adapters?.['telegram']?.state).toBe('up');
});

test('an album that a death interrupts is still one message; an edit starts no turn', async () => {
  const rig = await createRig();
  const ann = rig.telegram.dm(1);
  const photo = { photo: [{ file_id: 'p', file_unique_id: 'p', width: 1, height: 1, file_size: 3 }], media_group_id: 'album' };
  rig.telegram.addFile('p', Buffer.from('png'));
  ann.sends({ ...photo, caption: 'look at these' });
  for (let i = 0; i < 3; i++) ann.sends(photo);
  const daemon = await rig.start('admitted:4');
  await daemon.ended;
  const next = await rig.start();
  await waitFor('the answer', () => rig.answers(1).length > 0);
  const message = ann.says('frist');
  await shouldBeAnswered(rig, 1, ['answer to frist']);
  for (const text of ['first', 'fist', 'first!']) ann.edits(message, text);
  ann.says('last');
  await shouldBeAnswered(rig, 1, ['answer to last']);
  expect(rig.model.requests).toHaveLength(3);
  expect(rig.model.requests[0]?.raw.match(/look at these/g)).toHaveLength(1);
  expect(rig.model.requests[0]?.raw.match(/image_url"/g)?.length).toBe(8);
  await next.stop();
  rig.checkStore();
});
