/** What was written while nobody was connected: heard once, in order, under the keys that live events have. */
import { describe, expect, test } from 'vitest';
import { createSeen } from '../../../adapters/discord/seen.ts';
import { compareIds, toFirstId, toTime } from '../../../adapters/discord/snowflake.ts';
import type { Receipt } from '../../../src/contract/adapter.ts';
import { HermesError } from '../../../src/contract/errors.ts';
import { createTestContext } from '../../support/adapter-contract-context.ts';
import { waitFor } from '../../support/wait-for.ts';
import { openScene } from './scene.ts';

const refused = async (): Promise<Receipt> => ({ status: 'refused', reason: 'not_addressed' });

describe('after a restart', () => {
  test('a direct chat, a channel, a thread and a channel that was never used are caught up with, once and in order', async () => {
    const { api, adapter, start, restart, hears, texts, received, alice, dm } = await openScene();
    const person = api.user('Alice');
    const server = api.guild();
    const quiet = server.channel('quiet');
    await start();
    alice.says('<@bot> one');
    dm.says('two');
    const thread = server.thread(api.channel(alice.channel), 'a thread', person).as(person);
    thread.says('three');
    for (const text of ['one', 'two', 'three']) await hears(text);
    await adapter.stop();

    const missed = [alice.says('<@bot> four'), alice.says('five'), dm.says('six'), dm.says('seven'), thread.says('eight'), quiet.as(person).says('<@bot> nine')];
    await restart();
    for (const text of ['four', 'five', 'six', 'seven', 'eight', 'nine']) await hears(text);
    alice.says('ten');
    await hears('ten');
    expect(texts().toSorted()).toEqual(['eight', 'five', 'four', 'nine', 'one', 'seven', 'six', 'ten', 'three', 'two']);
    expect(texts().indexOf('four')).toBeLessThan(texts().indexOf('five'));
    expect(texts().indexOf('six')).toBeLessThan(texts().indexOf('seven'));
    expect(received.map(({ key }) => key)).toEqual(expect.arrayContaining(missed.map((id) => `message:${id}`)));
    expect(received.find(({ text }) => text === 'eight')).toMatchObject({ chatType: 'thread', parentChat: alice.channel });
    expect(received.find(({ text }) => text === 'four')).toMatchObject({ chatType: 'group', addressed: true });
    // Another restart has nothing to tell.
    await restart();
    dm.says('eleven');
    await hears('eleven');
    expect(texts()).toHaveLength(11);
  });

  test('the very first start answers nothing that was there before', async () => {
    const { start, hears, texts, alice, dm } = await openScene();
    alice.says('<@bot> long ago');
    dm.says('long ago, in private');
    await start();
    alice.says('now');
    await hears('now');
    expect(texts()).toEqual(['now']);
  });

  test('messages older than an hour are left alone, also where there are more than one page of them', async () => {
    const { api, adapter, start, restart, hears, texts, dm, context } = await openScene();
    await start();
    dm.says('before');
    await hears('before');
    await adapter.stop();
    const old = Date.now() - 2 * 3_600_000;
    // The id that was kept becomes one of long ago, as if the program had been away for a day.
    const key = [...context.stored].find(([, value]) => value.startsWith(dm.channel))?.[0] ?? '';
    context.stored.set(key, `${dm.channel} ${toFirstId(old - 1000)} dm`);
    for (let count = 0; count < 120; count += 1) dm.says(`old ${count}`, { extra: { id: toFirstId(old + count), timestamp: new Date(old + count).toISOString() } });
    // History is in the order of its ids.
    dm.says('an hour is not over yet');
    await restart();
    await hears('an hour is not over yet');
    expect(texts()).toEqual(['before', 'an hour is not over yet']);
    expect(api.callsOf('history')).toHaveLength(2);
    expect(context.lines.join()).toContain('passed over');
  });

  test('threads and forum posts that were opened meanwhile are heard, and a thread that stood empty', async () => {
    const { api, adapter, start, restart, hears, texts, alice } = await openScene();
    const person = api.user('Alice');
    const server = api.guild();
    const forum = server.channel('forum', 15);
    await start();
    alice.says('<@bot> one');
    await hears('one');
    const empty = server.thread(api.channel(alice.channel), 'empty', person).as(person);
    await adapter.stop();

    empty.says('<@bot> two');
    server.thread(api.channel(alice.channel), 'new', person).as(person).says('<@bot> three');
    const post = server.thread(forum, 'a post', person).as(person);
    post.says('<@bot> four');
    post.says('<@bot> five');
    server.channel('new channel').as(person).says('<@bot> six');
    await restart();
    for (const text of ['two', 'three', 'four', 'five', 'six']) await hears(text);
    expect(texts().toSorted()).toEqual(['five', 'four', 'one', 'six', 'three', 'two']);
    await restart();
    alice.says('<@bot> seven');
    await hears('seven');
    expect(texts()).toHaveLength(7);
  });

  test('what stands behind a hundred messages of others is heard too', async () => {
    const { api, adapter, start, restart, hears, alice, general, texts } = await openScene();
    const chatter = general.as(api.user('Bob'));
    await start(refused);
    alice.says('<@bot> one');
    await hears('one');
    await adapter.stop();
    for (let count = 0; count < 250; count += 1) chatter.says(`chatter ${count}`);
    alice.says('<@bot> two');
    await restart();
    await hears('two');
    expect(texts().at(-1)).toBe('two');
    expect(api.callsOf('history')).toHaveLength(3);
  });

  test('a new message waits for the older ones of its channel', async () => {
    const { api, adapter, start, restart, hears, texts, dm } = await openScene();
    await start();
    dm.says('one');
    await hears('one');
    await adapter.stop();
    dm.says('two');
    api.fail('history', { retryAfter: 0.3 });
    await restart();
    dm.says('three');
    await hears('three');
    expect(texts()).toEqual(['one', 'two', 'three']);
  });

  test('no more than fifty channels are asked, the newest first', async () => {
    const { api, adapter, start, restart, hears, texts } = await openScene();
    await start();
    const chats = Array.from({ length: 60 }, (_, index) => api.dm(api.user(`Person ${index}`)));
    for (const [index, chat] of chats.entries()) chat.says(`hello ${index}`);
    await waitFor('all of them', () => texts().length === 60);
    await adapter.stop();
    for (const [index, chat] of chats.entries()) chat.says(`again ${index}`);
    await restart();
    await hears('again 10');
    await hears('again 59');
    expect(api.callsOf('history')).toHaveLength(50);
    expect(texts()).not.toContain('again 9');
  });

  test('a channel that may not be read is passed over', async () => {
    const { api, adapter, start, restart, hears, alice, dm, texts } = await openScene();
    await start();
    alice.says('<@bot> one');
    dm.says('two');
    await hears('one');
    await hears('two');
    await adapter.stop();
    api.closeChannel(alice.channel, 50001);
    alice.says('<@bot> three');
    dm.says('four');
    await restart();
    await hears('four');
    expect(texts()).not.toContain('three');
  });

  test('rules by role hold for missed messages too', async () => {
    const given = { api: {}, settings: { allowed_roles: ['1'] } };
    const { api, adapter, start, restart, hears, alice } = await openScene(given);
    const helpers = api.guild().role('Helpers');
    api.guild().member(api.user('Alice'), { nick: 'Al', roles: [helpers] });
    await start();
    alice.says('<@bot> one');
    expect((await hears('one')).sender).toMatchObject({ name: 'Al', roles: [helpers] });
    await adapter.stop();
    alice.says('<@bot> two');
    await restart();
    expect((await hears('two')).sender).toMatchObject({ name: 'Al', roles: [helpers] });
  });
});

describe('what is kept', () => {
  test('a message that could not be kept is tried again, and holds the later ones of its channel', async () => {
    const { start, hears, received, alice, dm } = await openScene();
    let tries = 0;
    await start(async ({ text }) => {
      if (text === 'a1' && (tries += 1) < 4) throw new HermesError('STORE_UNAVAILABLE', 'The disk is full; free some space.');
      return { status: 'accepted', id: 1 };
    });
    alice.says('a1');
    alice.says('a2');
    dm.says('b1');
    await hears('a2');
    const texts = received.map(({ text }) => text);
    expect(texts.filter((text) => text.startsWith('a'))).toEqual(['a1', 'a1', 'a1', 'a1', 'a2']);
    expect(texts).toContain('b1');
  });

  test('one that was never kept comes again after the restart, under the same key', async () => {
    const { start, restart, hears, received, dm } = await openScene();
    await start();
    dm.says('first');
    await hears('first');
    await restart(async () => {
      throw new HermesError('STORE_UNAVAILABLE', 'The disk is full; free some space.');
    });
    dm.says('keep me');
    await hears('keep me');
    const keys = new Set(received.splice(0).filter(({ text }) => text === 'keep me').map(({ key }) => key));
    await restart();
    expect(keys).toEqual(new Set([(await hears('keep me')).key]));
  });

  test('the id is written after the commit, and for messages that were refused only when the program stops', async () => {
    const { api, adapter, start, restart, hears, alice, context } = await openScene();
    const stored = () => [...context.stored].filter(([key]) => key.startsWith('seen:')).map(([, value]) => value);
    let commit = (): void => undefined;
    const committed = new Promise<void>((resolve) => void (commit = resolve));
    await start(async () => {
      await committed;
      return { status: 'accepted', id: 1 };
    });
    const id = alice.says('hello');
    await hears('hello');
    expect(stored().join()).not.toContain(id);
    commit();
    await waitFor('the id', () => stored().includes(`${alice.channel} ${id} talk ${api.guild().id}`));

    await restart(refused);
    const chatter = alice.says('among ourselves');
    await hears('among ourselves');
    alice.says('and on');
    await hears('and on');
    expect(stored()).toContain(`${alice.channel} ${id} talk ${api.guild().id}`);
    expect(stored().join()).not.toContain(chatter);
    await adapter.stop();
  });

  test('a stranger\'s direct chat leaves nothing behind', async () => {
    const { adapter, start, hears, dm, context } = await openScene();
    await start(refused);
    dm.says('let me in');
    await hears('let me in');
    await adapter.stop();
    expect([...context.stored.values()].join()).not.toContain(dm.channel);
  });

  test('a thousand channels are remembered; quiet ones make room first, then the ones longest silent', async () => {
    const context = createTestContext();
    const seen = createSeen(context.state);
    for (let index = 1; index <= 1200; index += 1) await seen.keep(`${100_000 + index}`, `${900_000 + index}`, 'quiet');
    await seen.keep('1', '1', 'dm');
    expect(seen.get('1')).toMatchObject({ kind: 'dm' });
    for (let index = 1; index <= 1200; index += 1) await seen.keep(`${1000 + index}`, `${5000 + index}`, 'talk');
    expect(context.stored.size).toBe(1000);
    const again = createSeen(context.state);
    await again.load();
    expect(again.list()).toHaveLength(1000);
    expect(again.get('1200')).toBeUndefined();
    expect(again.get('1201')).toEqual({ channel: '1201', id: '5201', kind: 'talk' });
    expect(again.list()[0]?.id).toBe('6200');
    await again.keep('5', '999999', 'quiet');
    expect(again.get('5')).toBeUndefined();
  });
});

test('ids are compared as the numbers they are, and hold their moment', () => {
  expect(['10', '9', '1290000000000000101', '99'].sort(compareIds)).toEqual(['9', '10', '99', '1290000000000000101']);
  expect(toTime(toFirstId(1_767_108_800_123))).toBe(1_767_108_800_123);
});
