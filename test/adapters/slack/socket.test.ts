/** Socket Mode: nothing is acknowledged before it is committed, nothing is lost, and no fault but a refused token ends it. */
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Receipt } from '../../../src/contract/adapter.ts';
import { HermesError } from '../../../src/contract/errors.ts';
import { waitFor } from '../../support/wait-for.ts';
import { alice, bob, dm, general, openScene, type Scene } from './scene.ts';

const diskFull = new HermesError('STORE_UNAVAILABLE', 'The disk is full; free some space.');
const states = ({ context }: Scene) => context.reports.map(({ state }) => state);

/** What is thrown where nobody catches it would end the daemon. */
function watchForUnhandled(): unknown[] {
  const thrown: unknown[] = [];
  const note = (error: unknown): void => void thrown.push(error);
  process.on('unhandledRejection', note);
  onTestFinished(() => void process.off('unhandledRejection', note));
  return thrown;
}

/** A gateway whose commits wait for `commit()`. */
function heldCommits(): { answer: () => Promise<Receipt>; commit: () => void } {
  let commit = (): void => undefined;
  const committed = new Promise<void>((resolve) => void (commit = resolve));
  return { answer: () => committed.then(() => ({ status: 'accepted', id: 1 })), commit: () => commit() };
}

describe('acknowledging', () => {
  test('happens only after the commit', async () => {
    const { api, start, hears } = await openScene();
    const { answer, commit } = heldCommits();
    await start(answer);
    api.deliver({ ackMs: 60_000 });
    api.dm(alice).says('hello');
    await hears('hello');
    // A round trip behind the event: an acknowledgement would have arrived before its answer.
    await fetch(api.url);
    expect(api.unacked()).toHaveLength(1);
    commit();
    await waitFor('the acknowledgement', () => api.unacked().length === 0);
    expect(api.strangeFrames).toEqual([]);
  });

  test('waits for no call to Slack and no other event, under many at once', async () => {
    const { api, start, received } = await openScene();
    api.fail('*', { times: 1000, hangMs: Number.POSITIVE_INFINITY, match: (params) => params['user'] !== undefined });
    await start();
    // Slack's own limit: what is not acknowledged by then would come again and be counted twice.
    api.deliver({ ackMs: 3000 });
    const people = Array.from({ length: 20 }, (_, index) => `U1${index}`);
    for (let round = 0; round < 10; round += 1) for (const person of people) api.dm(person).says(`${round}`);
    await waitFor('every acknowledgement', () => api.unacked().length === 0);
    expect(received).toHaveLength(200);
    for (const person of people) expect(received.filter(({ sender }) => sender.id === person).map(({ text }) => text)).toEqual(Array.from({ length: 10 }, (_, index) => `${index}`));
  });

  test('A3 vercel/chat#666 an event that comes only as a retry is taken; the same one four times has one key', async () => {
    const { api, start, hears, received } = await openScene();
    await start();
    api.deliver({ firstAttempt: 1 });
    api.dm(alice).says('first seen as a retry');
    await hears('first seen as a retry');
    api.deliver({ firstAttempt: 0, copies: 4 });
    api.dm(alice).says('four times');
    await waitFor('four of them', () => received.filter(({ text }) => text === 'four times').length === 4);
    expect(new Set(received.filter(({ text }) => text === 'four times').map(({ key }) => key)).size).toBe(1);
    await waitFor('every acknowledgement', () => api.unacked().length === 0);
  });

  test('a mention, told twice, is one message', async () => {
    const { api, start, received } = await openScene();
    await start();
    const ts = api.channel(general).as(alice).says(`${api.mention} hi`);
    await waitFor('both events', () => received.length === 2);
    expect(received.map(({ key }) => key)).toEqual([`message:${general}:${ts}`, `message:${general}:${ts}`]);
    expect({ ...received[0], sender: null }).toEqual({ ...received[1], sender: null });
  });

  test('what is not for us is acknowledged at once, what is no envelope hurts nobody', async () => {
    const unhandled = watchForUnhandled();
    const { api, start, hears, received, context } = await openScene();
    await start();
    for (const frame of ['null', '[]', '"x"', '{', '', '{"type":"events_api"}', '{"type":"hello"}', '{"type":7,"envelope_id":"e"}']) api.frame(frame);
    api.pushPayload('events_api', { type: 'app_rate_limited', team_id: api.team, minute_rate_limited: 1 });
    api.pushPayload('events_api', {});
    api.pushPayload('interactive', { type: 'view_submission' });
    api.push({ type: 'member_joined_channel', user: api.me.userId, channel: general, event_ts: '1767100000.000100' });
    api.dm(alice).says('still there?');
    await hears('still there?');
    await waitFor('every acknowledgement', () => api.unacked().length === 0);
    expect(received).toHaveLength(1);
    expect(context.lines.join()).toContain('Slack drops events');
    expect(context.lines.join()).toContain(`"chat":"${general}"`);
    expect(unhandled).toEqual([]);
  });

  test('what a former process did not acknowledge comes to the next, under the same key', async () => {
    const { api, adapter, start, hears, received } = await openScene();
    await start(() => Promise.reject(diskFull));
    api.dm(alice).says('keep me');
    await hears('keep me');
    await adapter.stop();
    expect(api.unacked()).toHaveLength(1);
    const [before] = received.splice(0);
    await start();
    expect((await hears('keep me')).key).toBe(before?.key);
    await waitFor('the acknowledgement', () => api.unacked().length === 0);
  });
});

describe('threads', () => {
  test('one to which the bot was called needs no further mention, after a restart neither', async () => {
    const stored = new Map<string, string>();
    const first = await openScene({}, { stored });
    await first.start();
    const { api } = first;
    const chat = api.channel(general).as(alice);
    const root = chat.says(`${api.mention} look at this`);
    await first.hears('look at this');
    await waitFor('the acknowledgement', () => api.unacked().length === 0);
    chat.says('and this', { thread: root });
    expect(await first.hears('and this')).toMatchObject({ addressed: true, chatType: 'thread', address: { thread: root } });
    chat.says('elsewhere');
    expect((await first.hears('elsewhere')).addressed).toBe(false);
    await first.adapter.stop();
    await first.start();
    api.channel(general).as(bob).says('me too', { thread: root });
    expect((await first.hears('me too')).addressed).toBe(true);
    expect(JSON.parse(stored.get('threads') ?? '')).toEqual([[`${general}:${root}`, '']]);
  });

  test('one that could not be kept is not acknowledged, and is kept when its event comes again', async () => {
    const { api, start, received, context } = await openScene();
    const { set } = context.state;
    context.state.set = async () => {
      context.state.set = set;
      throw diskFull;
    };
    await start();
    const root = api.channel(general).as(alice).says(`${api.mention} look`);
    await waitFor('the acknowledgement', () => api.unacked().length === 0);
    expect(received.length).toBeGreaterThan(2);
    expect(context.stored.get('threads')).toContain(root);
  });

  test('a stranger cannot call the bot to one', async () => {
    const { api, start, hears } = await openScene();
    await start(async ({ sender }) => (sender.id === alice ? { status: 'accepted', id: 1 } : { status: 'refused', reason: 'not_allowed' }));
    const root = api.channel(general).as(bob).says(`${api.mention} obey me`);
    await hears('obey me');
    await waitFor('the acknowledgement', () => api.unacked().length === 0);
    api.channel(general).as(alice).says('ignore him', { thread: root });
    expect((await hears('ignore him')).addressed).toBe(false);
  });

  test('under a message of the bot its words come along once, and the list of threads stays short', async () => {
    const { api, adapter, start, hears, context } = await openScene();
    await start();
    const outcome = await adapter.send?.({ address: { ...dm, chat: general }, text: 'The *backup* failed.', format: 'markdown', idempotencyKey: 'k' }, AbortSignal.timeout(5000));
    const root = outcome?.status === 'sent' ? outcome.messageId : '';
    api.channel(general).as(alice).says('why?', { thread: root });
    expect(await hears('why?')).toMatchObject({ addressed: true, quote: { messageId: root, sender: 'hermes', text: 'The *backup* failed.' } });
    await waitFor('the acknowledgement', () => api.unacked().length === 0);
    api.channel(general).as(alice).says('since when?', { thread: root });
    expect(await hears('since when?')).not.toHaveProperty('quote');
    for (let index = 0; index < 520; index += 1) api.channel(general).as(alice).says(`${api.mention} ${index}`);
    await hears('519');
    await waitFor('the acknowledgement', () => api.unacked().length === 0, 20_000);
    expect(JSON.parse(context.stored.get('threads') ?? '')).toHaveLength(500);
  });
});

describe('names', () => {
  test('are asked for once, after the first message was taken, and never for strangers', async () => {
    const { api, start, hears } = await openScene();
    await start(async ({ sender }) => (sender.id === alice ? { status: 'accepted', id: 1 } : { status: 'refused', reason: 'not_allowed' }));
    api.dm(bob).says('let me in');
    api.dm(alice).says('one');
    expect((await hears('one')).sender.name).toBe(alice);
    await waitFor('the name', () => api.callsOf('users.info').length === 1);
    await fetch(api.url);
    api.dm(alice).says('two');
    expect((await hears('two')).sender.name).toBe('Alice');
    await waitFor('the acknowledgement', () => api.unacked().length === 0);
    await fetch(api.url);
    expect(api.callsOf('users.info').map(({ params }) => params['user'])).toEqual([alice]);
  });
});

describe('the connection', () => {
  test('is replaced before the old one goes when Slack asks for it, and nothing is lost between', async () => {
    const { api, start, hears, received, context } = await openScene();
    const { answer, commit } = heldCommits();
    await start((message) => (message.text === 'in hand' ? answer() : Promise.resolve({ status: 'accepted', id: 1 })));
    api.deliver({ ackMs: 60_000 });
    api.dm(alice).says('in hand');
    await hears('in hand');
    api.disconnect('refresh_requested');
    await waitFor('the new one beside the old one', () => api.sockets().open === 2);
    api.dm(alice).says('over the new one');
    await hears('over the new one');
    await waitFor('its acknowledgement', () => api.unacked().length === 1);
    expect(api.sockets().open).toBe(2);
    commit();
    await waitFor('the old one to go', () => api.sockets().open === 1);
    expect(api.unacked()).toEqual([]);
    expect(received.map(({ text }) => text)).toEqual(['in hand', 'over the new one']);
    expect(api.sockets()).toEqual({ open: 1, most: 2, total: 2 });
    expect(context.reports.map(({ state }) => state)).toEqual(['starting', 'up']);
  });

  test('is not replaced again before the first one has gone', async () => {
    const { api, start, hears } = await openScene({}, { timing: { drainMs: 60_000 } });
    const { answer, commit } = heldCommits();
    await start(answer);
    api.deliver({ ackMs: 60_000 });
    api.dm(alice).says('in hand');
    await hears('in hand');
    api.disconnect('refresh_requested');
    await waitFor('the second', () => api.sockets().open === 2);
    api.disconnect('refresh_requested');
    api.dm(alice).says('waits for the third');
    // Far more round trips than the third would need.
    for (let trip = 0; trip < 50; trip += 1) await fetch(api.url);
    expect(api.callsOf('apps.connections.open')).toHaveLength(2);
    commit();
    await hears('waits for the third');
    await waitFor('every acknowledgement', () => api.unacked().length === 0);
    expect(api.sockets()).toMatchObject({ most: 2, total: 3 });
  });

  test('flaps fifty times, with events in between: none is lost, and there are never more than two sockets', async () => {
    const { api, start, received } = await openScene({}, { timing: { backoff: { baseMs: 1, capMs: 3, jitter: 0 }, steadyMs: 0 } });
    await start();
    api.deliver({ ackMs: 100 });
    for (let round = 0; round < 50; round += 1) {
      const { total } = api.sockets();
      api.dm(alice).says(`${round}`);
      if (round % 2 === 0) api.cutSockets();
      else api.disconnect(round % 3 === 0 ? 'warning' : 'refresh_requested');
      await waitFor('the next connection', () => api.sockets().total > total);
    }
    await waitFor('every acknowledgement', () => api.unacked().length === 0);
    expect(new Set(received.map(({ text }) => text)).size).toBe(50);
    expect(new Set(received.map(({ key }) => key)).size).toBe(50);
    expect(api.sockets().most).toBeLessThanOrEqual(2);
  });

  test('on which nobody answers any more is found out and replaced', async () => {
    const { api, start, hears } = await openScene({}, { timing: { pingMs: 40 } });
    await start();
    api.deliver({ ackMs: 60_000 });
    api.freezeSockets();
    await waitFor('another connection', () => api.sockets().total === 2);
    api.dm(alice).says('can you hear me?');
    await hears('can you hear me?');
  });

  test('that is never greeted is given up, at start and later', async () => {
    const { api, start, hears, context } = await openScene({}, { timing: { openMs: 60 } });
    api.withholdHello(true);
    await expect(start()).rejects.toThrow(/no hello within 60 ms/);
    await waitFor('nothing to be left open', () => api.connections() === 0);
    api.withholdHello(false);
    await start();
    api.withholdHello(true);
    api.cutSockets();
    await waitFor('the trouble to be told', () => context.reports.at(-1)?.state === 'degraded');
    api.withholdHello(false);
    api.dm(alice).says('hello again');
    await hears('hello again');
    expect(context.reports.at(-1)?.state).toBe('up');
  });

  test('comes back from every fault of the line, and says so', async () => {
    const scene = await openScene();
    const { api, start, hears, context } = scene;
    await start();
    const open = 'apps.connections.open';
    for (const fault of [{ status: 500 }, { status: 502, body: '<html>' }, { dropBefore: true }, { body: 'not json' }, { error: 'internal_error' }, { retryAfter: 0 }]) api.fail(open, fault);
    api.cutSockets();
    api.dm(alice).says('after the storm');
    await hears('after the storm');
    expect(states(scene)).toEqual(['starting', 'up', 'degraded', 'up']);
    expect(context.lines.join()).not.toMatch(/secretOf|ticket-/);
  });

  test('finds a Slack that was away', async () => {
    const { api, start, hears } = await openScene();
    await start();
    await api.shut();
    await api.reopen();
    api.dm(alice).says('back');
    await hears('back');
  });

  test('tells that Socket Mode was switched off, and goes on when it is on again', async () => {
    const scene = await openScene();
    const { api, start, context, hears } = scene;
    await start();
    api.disconnect('link_disabled');
    await waitFor('to be up again', () => states(scene).join() === 'starting,up,degraded,up');
    expect(context.reports[2]).toMatchObject({ reason: expect.stringContaining('Socket Mode was switched off') });
    api.dm(alice).says('on again');
    await hears('on again');
  });
});

describe('tokens', () => {
  test.each([
    ['no bot token', { bot_token: '' }, /^No bot token.*SLACK_BOT_TOKEN/],
    ['no app token', { app_token: '' }, /^No app token.*SLACK_APP_TOKEN/],
    ['a wrong bot token', { bot_token: 'xoxb-wrong' }, /^Slack refused the bot token \(invalid_auth\).*SLACK_BOT_TOKEN/],
    ['a wrong app token', { app_token: 'xapp-wrong' }, /^Slack refused the app token \(invalid_auth\).*SLACK_APP_TOKEN/],
    ['a bot token as app token', { app_token: 'xoxb-1111-2222-secretOfTheBot' }, /^SLACK_APP_TOKEN is not an app token.*xapp-/],
    ['an app token as bot token', { bot_token: 'xapp-1-A0TEST-3333-secretOfTheApp' }, /^Slack refused the bot token \(not_allowed_token_type\)/],
  ])('%s: off, with a line that says which, and nothing stays open', async (_, settings, line) => {
    const unhandled = watchForUnhandled();
    const { api, start, context } = await openScene(settings);
    await start();
    expect(context.reports.at(-1)).toEqual({ state: 'off', reason: expect.stringMatching(line) });
    await waitFor('nothing to be open', () => api.connections() === 0);
    expect(unhandled).toEqual([]);
  });

  test.each(['token_revoked', 'invalid_auth', 'account_inactive'])('revoked while it runs (%s): off at the next connection, without a further try', async (error) => {
    const unhandled = watchForUnhandled();
    const { api, start, context } = await openScene();
    await start();
    api.revoke('app', error);
    api.disconnect('refresh_requested');
    await waitFor('to be off', () => context.reports.at(-1)?.state === 'off');
    expect(context.reports.at(-1)).toEqual({ state: 'off', reason: expect.stringContaining(`Slack refused the app token (${error})`) });
    await waitFor('the socket to be closed', () => api.sockets().open === 0);
    expect(api.callsOf('apps.connections.open')).toHaveLength(2);
    expect(unhandled).toEqual([]);
  });

  test('a button of somebody else\'s question is refused where only that person sees it; a stranger\'s press gets nothing', async () => {
    const { api, start, received } = await openScene();
    const press = (user: string) => api.pushPayload('interactive', { type: 'block_actions', user: { id: user }, team: { id: api.team }, channel: { id: general }, message: { ts: '1767100000.000001' }, actions: [{ action_id: 'a', value: 'q', action_ts: `17671000${user === bob ? '01' : '02'}.000001` }] });
    await start(async ({ sender }) => ({ status: 'refused', reason: sender.id === bob ? 'not_yours' : 'not_allowed' }));
    press('U0STRANGER');
    press(bob);
    await waitFor('the refusal', () => api.callsOf('chat.postEphemeral').length === 1);
    expect(received).toHaveLength(2);
    expect(api.callsOf('chat.postEphemeral')[0]?.params).toMatchObject({ channel: general, user: bob });
  });

  test('a bot token that is revoked is found out by the next message', async () => {
    const { api, adapter, start, context } = await openScene();
    await start();
    api.revoke('bot', 'token_revoked');
    expect(await adapter.send?.({ address: dm, text: 'hi', format: 'plain', idempotencyKey: 'k' }, AbortSignal.timeout(5000))).toEqual({ status: 'permanent', error: 'Slack says token_revoked' });
    expect(context.reports.at(-1)).toEqual({ state: 'off', reason: expect.stringContaining('Slack refused the bot token (token_revoked)') });
    await waitFor('the socket to be closed', () => api.sockets().open === 0);
  });

  test.each([{ status: 503 }, { dropBefore: true }, { error: 'fatal_error' }, { retryAfter: 1 }])('%o at start is worth another try', async (fault) => {
    const { api, start, hears } = await openScene();
    api.fail('auth.test', fault);
    await expect(start()).rejects.toMatchObject({ code: 'ADAPTER_OFF', message: expect.stringMatching(/^Slack cannot be used yet: .*tried again by itself\.$/) });
    await start();
    api.dm(alice).says('now');
    await hears('now');
  });
});

describe('stop', () => {
  test('lets what is in hand be acknowledged, then nothing is open', async () => {
    const { api, adapter, start, hears } = await openScene();
    const { answer, commit } = heldCommits();
    await start(answer);
    api.deliver({ ackMs: 60_000 });
    api.dm(alice).says('nearly kept');
    await hears('nearly kept');
    const stopped = adapter.stop();
    commit();
    await stopped;
    await waitFor('the acknowledgement', () => api.unacked().length === 0);
    await waitFor('nothing to be open', () => api.connections() === 0);
  });

  test('waits for no commit that never comes', async () => {
    const { api, adapter, start, hears } = await openScene({}, { timing: { drainMs: 50 } });
    await start(() => new Promise<Receipt>(() => undefined));
    api.dm(alice).says('never kept');
    await hears('never kept');
    await adapter.stop();
    await waitFor('nothing to be open', () => api.connections() === 0);
    expect(api.unacked()).toHaveLength(1);
  });
});
