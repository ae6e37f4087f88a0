/** The simulator is as strict as the real Discord where the adapter's tests lean on it. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { startDiscordApi, type DiscordApiOptions, type Json } from './discord-api.ts';
import { waitFor } from './wait-for.ts';

async function open(options: DiscordApiOptions = {}) {
  const server = await startDiscordApi(options);
  onTestFinished(() => server.close());
  const alice = server.user('Alice');
  const general = server.guild().channel('general');
  const call = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${server.url}/v10${path}`, { method, headers: { authorization: `Bot ${server.token}`, 'content-type': 'application/json' }, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
    const text = await response.text();
    return { status: response.status, headers: response.headers, json: (text === '' ? {} : JSON.parse(text)) as Json };
  };
  const send = (body: Json) => call('POST', `/channels/${general.id}/messages`, body);
  return { server, alice, general, call, send };
}

/** A bot by hand: every payload that it was sent, and the code with which it was closed. */
function connect(url: string) {
  const socket = new WebSocket(url);
  const heard: { op: number; t?: string; d?: Json; s?: number }[] = [];
  let code = 0;
  socket.on('message', (bytes: Buffer) => void heard.push(JSON.parse(bytes.toString()) as (typeof heard)[number]));
  socket.on('close', (closed) => void (code = closed));
  socket.on('error', () => undefined);
  const write = (op: number, d: unknown) => socket.send(JSON.stringify({ op, d }));
  const named = (t: string) => waitFor(t, () => heard.find((payload) => payload.t === t));
  return { socket, heard, write, named, closed: () => waitFor('the close', () => code || undefined) };
}

describe('messages', () => {
  test('are checked as Discord checks them', async () => {
    const { send, call, general, alice } = await open();
    expect((await send({ content: '🙂'.repeat(2000) })).status).toBe(200);
    expect((await send({ content: '🙂'.repeat(2001) })).json).toMatchObject({ code: 50035 });
    expect((await send({ content: '  ' })).json).toMatchObject({ code: 50006 });
    expect((await send({ content: 'x', nonce: 'x'.repeat(26) })).status).toBe(400);
    expect((await send({ content: 'x', allowed_mentions: { parse: ['all'] } })).status).toBe(400);
    const button = { type: 2, style: 2, label: 'a', custom_id: 'a' };
    expect((await send({ content: 'x', components: [{ type: 1, components: [button, button] }] })).json).toMatchObject({ code: 50035 });
    expect((await send({ content: 'x', components: [{ type: 1, components: Array.from({ length: 6 }, (_, index) => ({ ...button, custom_id: String(index) })) }] })).status).toBe(400);
    expect((await send({ content: 'x', message_reference: { message_id: '1' } })).status).toBe(400);
    expect((await send({ content: 'x', message_reference: { message_id: '1', fail_if_not_exists: false } })).status).toBe(200);
    const theirs = general.as(alice).says('mine');
    expect((await call('PATCH', `/channels/${general.id}/messages/${theirs}`, { content: 'x' })).json).toMatchObject({ code: 50005 });
    expect((await call('PATCH', `/channels/${general.id}/messages/1`, { content: 'x' })).json).toMatchObject({ code: 10008 });
    expect((await call('POST', '/channels/5/messages', { content: 'x' })).json).toMatchObject({ code: 10003 });
  });

  test('notify whom they name unless they say otherwise, and give the first one again for a nonce', async () => {
    const { server, send, alice } = await open();
    await send({ content: `@everyone <@${alice.id}>` });
    await send({ content: `@everyone <@${alice.id}>`, allowed_mentions: { parse: [] } });
    expect(server.sent.map(({ pinged }) => pinged)).toEqual([[alice.id, 'everyone'], []]);
    const first = await send({ content: 'one', nonce: 'n', enforce_nonce: true });
    expect((await send({ content: 'two', nonce: 'n', enforce_nonce: true })).json).toMatchObject({ id: first.json['id'], content: 'one' });
    expect(server.sent).toHaveLength(3);
  });

  test('are given from history newest first, the oldest after an id, without server and member', async () => {
    const { general, alice, call } = await open();
    const ids = Array.from({ length: 120 }, (_, index) => general.as(alice).says(`m${index}`));
    const page = (await call('GET', `/channels/${general.id}/messages?after=${ids[9]}&limit=100`)).json as unknown as Json[];
    expect(page.map(({ content }) => content)).toEqual(Array.from({ length: 100 }, (_, index) => `m${109 - index}`));
    expect(page[0]).not.toHaveProperty('guild_id');
    expect((await call('GET', `/channels/${general.id}/messages?limit=101`)).status).toBe(400);
  });

  test('without the token are refused', async () => {
    const { server, general } = await open();
    expect((await fetch(`${server.url}/v10/channels/${general.id}/messages`)).status).toBe(401);
    expect((await fetch(`${server.url}/v10/gateway/bot`)).status).toBe(401);
  });

  test('are counted by channel where a limit is set', async () => {
    const { server, send } = await open();
    server.limitMessages(1, 60_000);
    expect((await send({ content: 'x' })).headers.get('x-ratelimit-remaining')).toBe('0');
    expect((await send({ content: 'x' })).json).toMatchObject({ global: false, retry_after: 60 });
  });
});

describe('the gateway', () => {
  const identify = { token: '', intents: 0xffff, properties: {} };

  test('tells events to living sessions only, and what was missed to resumed ones', async () => {
    const { server, general, alice, call } = await open();
    const { url } = (await call('GET', '/gateway/bot')).json as { url: string };
    general.as(alice).says('before');
    const bot = connect(url);
    await waitFor('hello', () => bot.heard[0]?.op === 10);
    bot.write(2, { ...identify, token: server.token });
    const ready = await bot.named('READY');
    await bot.named('GUILD_CREATE');
    expect(server.sessionStarts.remaining).toBe(999);
    bot.write(1, 2);
    await waitFor('the heartbeat to be answered', () => bot.heard.some(({ op }) => op === 11));
    bot.socket.terminate();
    await waitFor('it to be gone', () => server.gateway.sockets() === 0);
    general.as(alice).says('meanwhile');

    const again = connect(url);
    await waitFor('hello', () => again.heard[0]?.op === 10);
    again.write(6, { token: server.token, session_id: ready.d?.['session_id'], seq: 2 });
    await again.named('RESUMED');
    expect(again.heard.filter(({ t }) => t === 'MESSAGE_CREATE').map(({ d }) => d?.['content'])).toEqual(['meanwhile']);
    again.socket.close(1000);
    await waitFor('it to be gone', () => server.gateway.sockets() === 0);

    const late = connect(url);
    await waitFor('hello', () => late.heard[0]?.op === 10);
    late.write(6, { token: server.token, session_id: ready.d?.['session_id'], seq: 2 });
    await waitFor('the refusal', () => late.heard.some(({ op, d }) => op === 9 && (d as unknown) === false));
  });

  test('refuses wrong tokens and intents that are switched off', async () => {
    const { server, call } = await open({ allowsMessageContent: false });
    const { url } = (await call('GET', '/gateway/bot')).json as { url: string };
    for (const [token, code] of [['wrong', 4004], [server.token, 4014]] as const) {
      const bot = connect(url);
      await waitFor('hello', () => bot.heard[0]?.op === 10);
      bot.write(2, { ...identify, token });
      expect(await bot.closed()).toBe(code);
    }
  });

  test('hides what was said from bots without Message Content, but not from the one that is meant', async () => {
    const { server, general, alice, call } = await open();
    const { url } = (await call('GET', '/gateway/bot')).json as { url: string };
    const bot = connect(url);
    await waitFor('hello', () => bot.heard[0]?.op === 10);
    bot.write(2, { token: server.token, intents: (1 << 0) | (1 << 9) | (1 << 12) });
    await bot.named('GUILD_CREATE');
    general.as(alice).says('among us');
    general.as(alice).says('<@bot> for you');
    server.dm(alice).says('in private');
    general.as(alice).reacts(general.as(alice).says('x'), '👍');
    await waitFor('all of it', () => bot.heard.filter(({ t }) => t === 'MESSAGE_CREATE').length === 4);
    expect(bot.heard.filter(({ t }) => t === 'MESSAGE_CREATE').map(({ d }) => d?.['content'])).toEqual(['', `<@${server.me.id}> for you`, 'in private', '']);
    expect(bot.heard.some(({ t }) => t === 'MESSAGE_REACTION_ADD')).toBe(false);
    bot.socket.close();
  });
});

describe('interactions and threads', () => {
  test('are answered once, and only while they are known', async () => {
    const { server, general, alice, call } = await open();
    const id = general.as(alice).uses('status');
    expect((await call('POST', `/interactions/${id}/token-${id}/callback`, { type: 5, data: { flags: 64 } })).status).toBe(204);
    expect((await call('POST', `/interactions/${id}/token-${id}/callback`, { type: 5 })).json).toMatchObject({ code: 40060 });
    expect((await call('POST', '/interactions/1/x/callback', { type: 5 })).json).toMatchObject({ code: 10062 });
    expect((await call('DELETE', `/webhooks/${server.me.id}/token-${id}/messages/@original`)).status).toBe(204);
    expect(server.response(id)).toMatchObject({ type: 5, isDeleted: true });
  });

  test('a message has one thread, under its own id', async () => {
    const { general, alice, call } = await open();
    const id = general.as(alice).says('question');
    const path = `/channels/${general.id}/messages/${id}/threads`;
    expect((await call('POST', path, { name: 'x' })).json).toMatchObject({ id, parent_id: general.id, type: 11 });
    expect((await call('POST', path, { name: 'x' })).json).toMatchObject({ code: 160004 });
    expect((await call('POST', `/channels/${general.id}/messages/1/threads`, { name: 'x' })).json).toMatchObject({ code: 10008 });
  });
});
