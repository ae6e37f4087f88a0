/**
 * Telegram, Discord and Slack with nothing but what one message and its answer need: whatever else is called does not exist, servers never
 * tell their channels, ids are small and dates are old. A program that leans on more than it must does not work against these.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { WebSocketServer, type WebSocket } from 'ws';

type Json = Record<string, unknown>;
interface Reply {
  status?: number;
  body: unknown;
}

interface BareApi<Event> {
  url: string;
  /** Texts that were sent, in order. */
  sent: string[];
  /** True once the program hears what is told. */
  listening(): boolean;
  tell(event: Event): void;
  close(): Promise<void>;
}

/** All three, with the configuration that leads there; everything is closed when the test ends. One person is allowed on each. */
export async function startBarePlatforms() {
  const [telegram, discord, slack] = await Promise.all([startBareTelegram(), startBareDiscord(), startBareSlack()]);
  onTestFinished(async () => void (await Promise.all([telegram, discord, slack].map((each) => each.close()))));
  const platforms = {
    telegram: { token: '777:AAA', api_root: telegram.url, allowed_users: [1] },
    discord: { token: 'token', api_root: discord.url, allowed_users: ['11'] },
    slack: { bot_token: 'xoxb-1', app_token: 'xapp-1', api_root: slack.url, allowed_users: ['U1'] },
  };
  return { telegram, discord, slack, platforms, isListening: () => [telegram, discord, slack].every((each) => each.listening()) };
}

async function serve(answer: (path: string, body: Json, method: string) => Reply | Promise<Reply>): Promise<{ server: Server; port: number; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', async () => {
      const isForm = request.headers['content-type']?.includes('urlencoded') === true;
      const body = isForm ? Object.fromEntries(new URLSearchParams(text)) : (JSON.parse(text || '{}') as Json);
      const reply = await answer(request.url ?? '', body, request.method ?? '');
      response.writeHead(reply.status ?? 200, { 'content-type': 'application/json' }).end(JSON.stringify(reply.body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.closeAllConnections();
    return new Promise<void>((resolve) => void server.close(() => resolve()));
  };
  return { server, port: (server.address() as AddressInfo).port, close };
}

/** getMe, getUpdates, sendMessage. */
async function startBareTelegram(): Promise<BareApi<Json>> {
  const sent: string[] = [];
  let queue: Json[] = [];
  let wake: (() => void) | undefined;
  let polls = 0;
  let nextId = 10;
  const { port, close } = await serve(async (path, body) => {
    const method = path.split('/').at(-1);
    if (method === 'getMe') return { body: { ok: true, result: { id: 777, is_bot: true, first_name: 'Bot', username: 'bare_bot' } } };
    if (method === 'sendMessage') {
      sent.push(String(body['text']));
      return { body: { ok: true, result: { message_id: 1000 + sent.length, date: 1, chat: { id: Number(body['chat_id']), type: 'private' }, text: body['text'] } } };
    }
    if (method !== 'getUpdates') return { status: 404, body: { ok: false, error_code: 404, description: 'Not Found' } };
    polls += 1;
    queue = queue.filter((update) => Number(update['update_id']) >= Number(body['offset'] ?? 0));
    if (queue.length === 0) await new Promise<void>((resolve) => void ((wake = resolve), setTimeout(resolve, 200)));
    return { body: { ok: true, result: queue } };
  });
  return {
    url: `http://127.0.0.1:${port}`,
    sent,
    listening: () => polls > 0,
    tell(message) {
      queue.push({ update_id: nextId, message: { message_id: nextId++, date: 1_700_000_000, ...message } });
      wake?.();
    },
    close,
  };
}

/** The gateway's address, messages in and out, and a channel's history. */
async function startBareDiscord(): Promise<BareApi<Json> & { history: Map<string, Json[]> }> {
  const sent: string[] = [];
  const history = new Map<string, Json[]>();
  const byNonce = new Map<string, Json>();
  let socket: WebSocket | undefined;
  let sequence = 0;
  const { server, port, close } = await serve((path, body, method) => {
    const channel = /^\/api\/v10\/channels\/(\d+)\/messages(\?|$)/.exec(path)?.[1];
    if (path.endsWith('/gateway/bot')) return { body: { url: `ws://127.0.0.1:${port}`, shards: 1, session_start_limit: { total: 1000, remaining: 1000, reset_after: 0, max_concurrency: 1 } } };
    if (channel === undefined) return { status: 404, body: { message: '404: Not Found', code: 0 } };
    if (method === 'GET') return { body: (history.get(channel) ?? []).toReversed() };
    const known = byNonce.get(String(body['nonce']));
    if (known && body['enforce_nonce'] === true) return { body: known };
    sent.push(String(body['content']));
    const message = { id: String(9000 + sent.length), channel_id: channel, content: body['content'] };
    byNonce.set(String(body['nonce']), message);
    return { body: message };
  });
  const sockets = new WebSocketServer({ server });
  const dispatch = (type: string, data: Json) => socket?.send(JSON.stringify({ op: 0, s: (sequence += 1), t: type, d: data }));
  let isReady = false;
  sockets.on('connection', (opened) => {
    socket = opened;
    isReady = false;
    opened.send(JSON.stringify({ op: 10, d: { heartbeat_interval: 41_250 } }));
    opened.on('message', (raw: Buffer) => {
      const { op } = JSON.parse(String(raw)) as { op: number };
      if (op === 1) opened.send('{"op":11}');
      if (op !== 2) return;
      dispatch('READY', { v: 10, user: { id: '999', username: 'bot' }, guilds: [], session_id: 's', resume_gateway_url: `ws://127.0.0.1:${port}`, application: { id: '999' } });
      isReady = true;
    });
  });
  return { url: `http://127.0.0.1:${port}/api`, sent, history, listening: () => isReady, tell: (message) => dispatch('MESSAGE_CREATE', message), close };
}

/** Socket Mode, auth.test and chat.postMessage. */
async function startBareSlack(): Promise<BareApi<{ event_id: string; event: Json }> & { acks: string[] }> {
  const sent: string[] = [];
  const acks: string[] = [];
  let socket: WebSocket | undefined;
  let envelopes = 0;
  const { server, port, close } = await serve((path, body) => {
    const method = path.split('/').at(-1);
    if (method === 'apps.connections.open') return { body: { ok: true, url: `ws://127.0.0.1:${port}/link` } };
    if (method === 'auth.test') return { body: { ok: true, team_id: 'T1', user_id: 'UBOT', bot_id: 'BBOT' } };
    if (method !== 'chat.postMessage') return { body: { ok: false, error: 'unknown_method' } };
    sent.push(String(body['text']));
    return { body: { ok: true, channel: body['channel'], ts: `1700000000.${String(sent.length).padStart(6, '9')}` } };
  });
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (opened) => {
    socket = opened;
    opened.send(JSON.stringify({ type: 'hello', num_connections: 1 }));
    opened.on('message', (raw: Buffer) => acks.push((JSON.parse(String(raw)) as { envelope_id: string }).envelope_id));
  });
  return {
    url: `http://127.0.0.1:${port}/api/`,
    sent,
    acks,
    listening: () => socket !== undefined,
    // Three times, as Slack does when it is in doubt.
    tell({ event_id, event }) {
      for (let attempt = 0; attempt < 3; attempt++) {
        const payload = { type: 'event_callback', team_id: 'T1', api_app_id: 'A1', event_id, event_time: 1_700_000_000, event };
        socket?.send(JSON.stringify({ type: 'events_api', envelope_id: `e${(envelopes += 1)}`, retry_attempt: attempt, payload }));
      }
    },
    close,
  };
}
