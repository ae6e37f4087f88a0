/** The long poll: nothing is confirmed before it is committed, nothing is lost, and no fault but a refused token ends it. */
import { describe, expect, test } from 'vitest';
import { refusedToken } from '../../../adapters/telegram/poll.ts';
import { HermesError } from '../../../src/contract/errors.ts';
import { waitFor } from '../../support/wait-for.ts';
import { alice, bob, openScene } from './scene.ts';

const offsets = (calls: { params: Record<string, unknown> }[]): unknown[] => calls.map(({ params }) => params['offset']);

test('a group that became a supergroup is said to have moved before its next message is handed over', async () => {
  const { api, context, start, hears } = await openScene();
  api.group(-55).as(alice).says('@hermes_test_bot before');
  await start();
  await hears('before');
  api.migrate(-55, -10055);
  const moves: unknown[] = [];
  api.group(-10055).as(alice).says('@hermes_test_bot after');
  await hears('after');
  moves.push(...context.moved);
  expect(moves).toEqual([{ from: '-55', to: '-10055' }]);
});

describe('confirming', () => {
  test('updates that waited while nobody was there are received, also from behind a webhook', async () => {
    const { api, start, hears, received } = await openScene();
    api.dm(alice).says('one');
    api.dm(alice).says('two');
    const { url } = api;
    await fetch(`${url}/bot${api.token}/setWebhook`, { method: 'POST', body: new URLSearchParams({ url: 'http://127.0.0.1:1/nobody' }) });
    await start();
    await hears('two');
    expect(received.map(({ text }) => text)).toEqual(['one', 'two']);
    expect(api.webhook.url).toBe('');
    expect(api.callsOf('deleteWebhook')[0]?.params).toEqual({ drop_pending_updates: false });
  });

  test('an update is confirmed only by a poll after its commit', async () => {
    const { api, start, hears } = await openScene();
    let commit = (): void => undefined;
    const committed = new Promise<void>((resolve) => void (commit = resolve));
    await start(async () => {
      await committed;
      return { status: 'accepted', id: 1 };
    });
    const first = api.dm(alice).says('hello');
    expect(first).toBeGreaterThan(0);
    await hears('hello');
    api.dm(alice).says('meanwhile');
    expect(offsets(api.callsOf('getUpdates'))).toEqual([undefined]);
    expect(api.unconfirmed).toHaveLength(2);
    commit();
    await hears('meanwhile');
    await waitFor('both to be confirmed', () => api.unconfirmed.length === 0);
  });

  test('chats do not wait for each other, a chat keeps its order, and one that is not kept holds the confirmation of all', async () => {
    const { api, start, received } = await openScene();
    api.dm(alice).says('a1');
    api.dm(bob).says('b1');
    api.dm(alice).says('a2');
    let tries = 0;
    await start(async ({ text }) => {
      if (text === 'a1' && (tries += 1) < 3) throw new HermesError('STORE_UNAVAILABLE', 'The disk is full; free some space.');
      return { status: 'accepted', id: 1 };
    });
    await waitFor('everything', () => received.some(({ text }) => text === 'a2'));
    const heard = received.map(({ text }) => text);
    expect(heard).toEqual(['a1', 'b1', 'a1', 'b1', 'a1', 'b1', 'a2']);
    await waitFor('the confirmation', () => api.unconfirmed.length === 0);
    expect(offsets(api.callsOf('getUpdates')).filter((offset) => offset !== undefined)).toHaveLength(1);
  });

  test('what was handed over but not confirmed comes again to the next process, under the same key', async () => {
    const { api, adapter, start, hears, received } = await openScene();
    await start(async () => {
      throw new HermesError('STORE_UNAVAILABLE', 'The disk is full; free some space.');
    });
    api.dm(alice).says('keep me');
    await hears('keep me');
    await adapter.stop();
    expect(api.unconfirmed).toHaveLength(1);
    const [before] = received.splice(0);
    await start();
    expect((await hears('keep me')).key).toBe(before?.key);
  });

  test('ids that fall after a quiet week are received once each, without fetching in circles', async () => {
    const { api, start, hears, received } = await openScene();
    const message = (update_id: number): void => {
      const chat = { id: alice, type: 'private' };
      api.push({ update_id, message: { message_id: update_id, date: 1, chat, from: { id: alice, is_bot: false, first_name: 'Alice' }, text: String(update_id) } });
    };
    for (let id = 900; id <= 905; id += 1) message(id);
    await start();
    await hears('905');
    message(17);
    await hears('17');
    message(18);
    await hears('18');
    await waitFor('the last confirmation', () => api.unconfirmed.length === 0);
    expect(received.map(({ text }) => text)).toEqual(['900', '901', '902', '903', '904', '905', '17', '18']);
    expect(offsets(api.callsOf('getUpdates'))).toEqual([undefined, 906, 18, 19]);
  });

  test('stop ends an open long poll at once', async () => {
    const { api, adapter, start } = await openScene();
    await start();
    await waitFor('the poll', () => api.callsOf('getUpdates').length === 1);
    // The poll would stay open for 30 s, longer than this test may take.
    await adapter.stop();
    await waitFor('its connection to end', () => api.connections() === 0);
    expect(api.callsOf('getUpdates')).toHaveLength(1);
  });
});

describe('faults', () => {
  test('no fault of the line ends polling; it says so and says when it is over', async () => {
    const { api, start, hears, context } = await openScene();
    await start();
    await waitFor('the poll', () => api.callsOf('getUpdates').length === 1);
    const faults = [{ status: 500 }, { status: 502, body: '<html>Bad Gateway</html>' }, { dropBefore: true }, { body: 'not json' }, { body: '{"ok":true' }, { status: 429, retryAfter: 0 }];
    for (const fault of faults) api.fail('getUpdates', fault);
    api.cutConnections();
    api.dm(alice).says('after the storm');
    await hears('after the storm');
    const states = context.reports.map(({ state }) => state);
    expect(states).toEqual(['starting', 'up', 'degraded', 'up']);
    expect(context.lines.join()).not.toContain(api.token.slice(10));
  });

  test('a server that is away for a while is found again', async () => {
    const { api, start, hears } = await openScene();
    await start();
    await api.shut();
    await api.reopen();
    api.dm(alice).says('back');
    await hears('back');
  });

  test('another poller: degraded, one line, and on again when it has gone', async () => {
    const { api, start, hears, context } = await openScene();
    api.fail('getUpdates', { times: 5, status: 409, description: 'Conflict: terminated by other getUpdates request; make sure that only one bot instance is running' });
    await start();
    api.dm(alice).says('mine again');
    await hears('mine again');
    expect(context.reports).toContainEqual({ state: 'degraded', reason: expect.stringContaining('Another program polls with this bot token') });
    expect(context.reports.at(-1)).toMatchObject({ state: 'up' });
    expect(context.lines.filter((line) => line.includes('Another program'))).toHaveLength(1);
  });

  test('a webhook that somebody sets meanwhile is taken away, its updates are kept', async () => {
    const { api, start, hears } = await openScene();
    await start();
    await waitFor('the poll', () => api.callsOf('getUpdates').length === 1);
    await fetch(`${api.url}/bot${api.token}/setWebhook?url=http://127.0.0.1:1/x`);
    api.dm(alice).says('through');
    await hears('through');
  });

  test.each([
    [401, 'Unauthorized'],
    [404, 'Not Found'],
  ])('a token that is refused at start (%i) switches off with one line', async (status, description) => {
    const { api, start, context } = await openScene();
    api.fail('getMe', { status, description });
    await start();
    expect(context.reports.at(-1)).toEqual({ state: 'off', reason: refusedToken });
    expect(refusedToken).toContain('@BotFather');
    expect(api.callsOf('getUpdates')).toEqual([]);
  });

  test('a token that is revoked while running switches off too', async () => {
    const { api, start, context } = await openScene();
    await start();
    api.fail('getUpdates', { status: 401, description: 'Unauthorized' });
    api.cutConnections();
    await waitFor('the report', () => context.reports.at(-1)?.state === 'off');
  });

  test('no token: off, without a call', async () => {
    const { api, start, context } = await openScene({ token: '' });
    await start();
    expect(context.reports.at(-1)).toMatchObject({ state: 'off', reason: expect.stringContaining('TELEGRAM_BOT_TOKEN') });
    expect(api.calls).toEqual([]);
  });

  test('a Telegram that is down at start is left to the supervisor, and a second start works', async () => {
    const { api, start, hears } = await openScene();
    api.fail('getMe', { status: 502, body: '<html>' });
    await expect(start()).rejects.toMatchObject({ code: 'ADAPTER_OFF', message: expect.stringContaining('502') });
    await start();
    api.dm(alice).says('hello');
    await hears('hello');
  });
});

describe('around the messages', () => {
  test('an accepted press on a button is answered after it was received', async () => {
    const { api, adapter, start, received } = await openScene();
    await start();
    const address = { platform: 'telegram', account: String(api.me.id), chat: String(alice) };
    const buttons = [[{ label: 'Yes', value: 'v:yes' }]];
    await adapter.send?.({ address, text: 'Sure?', format: 'plain', buttons, idempotencyKey: 'k' }, AbortSignal.timeout(5000));
    api.dm(alice).presses('Yes');
    await waitFor('the answer', () => api.callsOf('answerCallbackQuery').length === 1);
    expect(received[0]).toMatchObject({ kind: 'button', button: { value: 'v:yes' }, sender: { id: String(alice) } });
  });

  test('where the bot is added is logged, with the id that the configuration needs', async () => {
    const { api, start, context } = await openScene();
    await start();
    const from = { id: alice, is_bot: false, first_name: 'Alice' };
    api.push({ my_chat_member: { chat: { id: -1007, type: 'supergroup', title: 'New' }, from, date: 1, old_chat_member: {}, new_chat_member: { status: 'member', user: api.me } } });
    const line = await waitFor('the line', () => context.lines.find((text) => text.includes('-1007')));
    expect(JSON.parse(line)).toMatchObject({ chat: '-1007', by: String(alice), now: 'member' });
  });

  test('the menu is sent when it has changed, and only then', async () => {
    const commands = [
      { name: 'new', description: 'start over' },
      { name: 'my-skill', description: '' },
      { name: 'UPPER', description: 'x'.repeat(300) },
      { name: 'no spaces', description: 'left out' },
      { name: 'y'.repeat(33), description: 'left out' },
    ];
    const { api, adapter, start, context } = await openScene({}, { commands });
    await start();
    await waitFor('the menu', () => api.commands.length > 0);
    expect(api.commands).toEqual([
      { command: 'new', description: 'start over' },
      { command: 'my_skill', description: 'my_skill' },
      { command: 'upper', description: 'x'.repeat(256) },
    ]);
    await waitFor('it to be remembered', () => context.stored.size === 1);
    await adapter.stop();
    await start();
    commands.push({ name: 'help', description: 'help' });
    await adapter.stop();
    await start();
    await waitFor('the new menu', () => api.commands.length === 4);
    expect(api.callsOf('setMyCommands')).toHaveLength(2);
  });

  test('a menu that is refused stops nothing', async () => {
    const { api, start, hears, context } = await openScene({}, { commands: [{ name: 'new', description: 'start over' }] });
    api.fail('setMyCommands', { retryAfter: 3000 });
    await start();
    api.dm(alice).says('hello');
    await hears('hello');
    await waitFor('the warning', () => context.lines.some((line) => line.includes('menu was not set')));
    expect(context.stored.size).toBe(0);
  });
});
