/**
 * Slack on loopback: the Web API, Socket Mode and the poster of the Events API over HTTP. It keeps the real one's promises where an app can
 * tell: an event comes until it is acknowledged, a mention comes as two events, the bot's own messages come back, texts and blocks are
 * checked, files need the token. Stands alone: a test, a bench or a process of its own can start it. Source: https://docs.slack.dev.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { WebSocketServer } from 'ws';
import { createDelivery, type DeliverySettings, type Envelope, type EnvelopeType } from './slack-api-delivery.ts';
import { createFaults, toJson, toRefusal, type Answer, type Fault } from './slack-api-faults.ts';
import { methods } from './slack-api-methods.ts';
import { createConversation, toCallback, type Conversation } from './slack-api-people.ts';
import { addUser, createWorld, parse, toDm, type Call, type Params, type SentMessage, type SlackChannel, type SlackUser, type World } from './slack-api-world.ts';

export type { Call, Conversation, Fault, SentMessage };

export interface SlackApi {
  /** For `api_root`. */
  readonly url: string;
  readonly botToken: string;
  readonly appToken: string;
  readonly signingSecret: string;
  readonly team: string;
  readonly me: World['me'];
  /** How a person writes the bot's name. */
  readonly mention: string;
  /** What the bot has sent and Slack has taken, with the text as it is now. */
  readonly sent: SentMessage[];
  /** Every call that arrived, refused ones too, in order. */
  readonly calls: Call[];
  readonly violations: string[];
  readonly statuses: World['statuses'];
  callsOf(method: string): Call[];
  message(channel: string, ts: string): Params | undefined;
  user(id: string, options?: { name?: string; bot?: boolean }): SlackUser;
  /** The user's direct chat with the bot; the same object each time. Adds the user when new. */
  dm(userId: string): Conversation;
  channel(id: string, options?: { type?: SlackChannel['type'] }): { readonly id: string; as(userId: string): Conversation };
  /** From now on calls for this channel are refused with this word. */
  closeChannel(channel: string, error: string): void;
  /** An event of any shape, in its frame; or any payload. */
  push(event: Params): Envelope;
  pushPayload(type: EnvelopeType, payload: Params): Envelope;
  /** The newest event once more, acknowledged or not. */
  redeliver(): void;
  /** How events are brought from now on. */
  deliver(settings: Partial<DeliverySettings>): void;
  /** Events come by signed posts to this address instead of sockets; undefined: sockets again. */
  postTo(url: string | undefined): void;
  readonly postStatuses: number[];
  /** Envelopes that nobody has acknowledged. */
  unacked(): Envelope[];
  readonly acks: { id: string; ms: number }[];
  /** Frames of the app that acknowledged nothing. */
  readonly strangeFrames: string[];
  /** Sockets: open now, the most at once, ever. */
  sockets(): { open: number; most: number; total: number };
  /** Tells every socket to leave. */
  disconnect(reason: string): void;
  /** Sends this frame to every socket as it is. */
  frame(text: string): void;
  /** Ends every socket without a goodbye. */
  cutSockets(): void;
  /** Every socket's other side is there no more, and TCP does not say so. */
  freezeSockets(): void;
  /** Sockets that connect from now on are not greeted. */
  withholdHello(isWithheld: boolean): void;
  /** From now on the token is refused with this word. */
  revoke(token: 'bot' | 'app', error: string): void;
  /** A file on Slack; gives its private address. */
  addFile(id: string, bytes: Uint8Array, options?: { name?: string; size?: number | null; mimetype?: string }): string;
  fail(method: string, fault: Fault): void;
  clearFaults(): void;
  /** TCP connections that are open now. */
  connections(): number;
  /** Stops listening and cuts every connection; `reopen` listens on the same port again with the same memory. */
  shut(): Promise<void>;
  reopen(): Promise<void>;
  close(): Promise<void>;
}

export async function startSlackApi(options: { port?: number } = {}): Promise<SlackApi> {
  const world = createWorld();
  const faults = createFaults();
  const delivery = createDelivery();
  const tokens = { bot: 'xoxb-1111-2222-secretOfTheBot', app: 'xapp-1-A0TEST-3333-secretOfTheApp' };
  const signingSecret = '8f742231b10e8888abcd99yyyzzz85a5';
  const refused: { bot?: string; app?: string } = {};
  const sockets = new Set<Socket>();
  const tickets = new Set<string>();
  const conversations = new Map<string, Conversation>();
  let isHelloWithheld = false;
  let isEcho = false;
  let newest: Envelope | undefined;

  const push = (type: EnvelopeType, payload: Params): Envelope => {
    const envelope = delivery.push(type, payload);
    if (!isEcho) newest = envelope;
    return envelope;
  };
  const echo = (event: Params): void => {
    isEcho = true;
    push('events_api', toCallback(world, event));
    isEcho = false;
  };

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => write(response, toJson({ ok: false, error: `simulator: ${String(error)}` }, 500)));
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  const upgrades = new WebSocketServer({ noServer: true });
  server.on('upgrade', (request, socket, head) => {
    const ticket = new URL(request.url ?? '/', 'http://localhost').searchParams.get('ticket') ?? '';
    // A ticket opens one connection.
    if (!tickets.delete(ticket)) return void socket.end('HTTP/1.1 401 Unauthorized\r\n\r\n');
    upgrades.handleUpgrade(request, socket, head, (opened) => {
      opened.on('error', () => undefined);
      if (isHelloWithheld) return;
      opened.send(JSON.stringify({ type: 'hello', num_connections: 1, connection_info: { app_id: 'A0TEST' }, debug_info: { approximate_connection_time: 18_060 } }));
      delivery.attach(opened);
    });
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    const bytes = await read(request);
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const method = pathname.startsWith('/api/') ? pathname.slice('/api/'.length) : pathname.startsWith('/upload/') ? 'upload' : 'file';
    const params = method === 'upload' || method === 'file' ? { path: pathname } : toParams(bytes, request.headers['content-type'] ?? '');
    world.calls.push({ method, params, at: Date.now() });
    const fault = faults.take(method, params);
    if (fault && (await strike(fault, response))) return;
    const answer = method === 'upload' ? takeUpload(pathname, bytes) : method === 'file' ? giveFile(pathname, token) : toJson(call(method, token, params));
    if (fault?.dropAfter) return void response.destroy();
    write(response, answer);
  }

  async function strike(fault: Fault, response: ServerResponse): Promise<boolean> {
    if (fault.hangMs !== undefined && !(await hang(fault.hangMs, response))) return true;
    if (fault.dropBefore) return response.destroy(), true;
    const refusal = toRefusal(fault);
    if (refusal) write(response, refusal);
    return refusal !== undefined;
  }

  function call(method: string, token: string, params: Params): object {
    const kind = token === tokens.bot ? 'bot' : token === tokens.app ? 'app' : undefined;
    const wanted = method === 'apps.connections.open' ? 'app' : 'bot';
    if (!kind) return { ok: false, error: token === '' ? 'not_authed' : 'invalid_auth' };
    if (kind !== wanted) return { ok: false, error: 'not_allowed_token_type' };
    if (refused[kind] !== undefined) return { ok: false, error: refused[kind] };
    if (method === 'apps.connections.open') {
      const ticket = world.nextId('ticket-');
      tickets.add(ticket);
      return { ok: true, url: `ws://127.0.0.1:${port()}/link/?ticket=${ticket}&app_id=A0TEST` };
    }
    return methods[method]?.({ world, url, echo }, params) ?? { ok: false, error: 'unknown_method' };
  }

  function takeUpload(pathname: string, bytes: Buffer): Answer {
    const upload = world.uploads.get(pathname.split('/').at(-1) ?? '');
    if (!upload) return { status: 404, headers: {}, body: '' };
    upload.bytes = bytes;
    return { status: 200, headers: { 'content-type': 'text/plain' }, body: `OK - ${bytes.length}` };
  }

  function giveFile(pathname: string, token: string): Answer {
    const file = [...world.files.values()].find(({ path }) => path === pathname);
    if (!file) return { status: 404, headers: {}, body: '' };
    // The real one answers strangers with its sign-in page, and with 200.
    if (token !== tokens.bot) return { status: 200, headers: { 'content-type': 'text/html' }, body: '<html>Sign in to Slack</html>' };
    return { status: 200, headers: { 'content-type': file.mimetype }, body: file.bytes as unknown as string };
  }

  function conversation(channel: string, user: string): Conversation {
    if (!world.users.has(user)) addUser(world, user);
    const key = `${channel}:${user}`;
    const found = conversations.get(key) ?? createConversation({ world, delivery: { ...delivery, push } }, channel, user);
    conversations.set(key, found);
    return found;
  }

  const port = (): number => (server.address() as AddressInfo).port;
  const url = (): string => `http://127.0.0.1:${port()}`;
  const listen = (at: number): Promise<void> => new Promise((resolve, reject) => server.once('error', reject).listen(at, '127.0.0.1', resolve));
  await listen(options.port ?? 0);
  const home = url();
  const ownPort = port();
  const shut = (): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(() => sockets.forEach((socket) => socket.destroy()), 100);
      server.close(() => {
        clearTimeout(timer);
        resolve();
      });
      // A FIN first: when it is answered, the other side knows, and its next call finds nobody instead of a line that breaks.
      for (const socket of sockets) socket.end();
    });

  return {
    url: `${home}/api/`,
    botToken: tokens.bot,
    appToken: tokens.app,
    signingSecret,
    team: world.team,
    me: world.me,
    mention: `<@${world.me.userId}>`,
    sent: world.sent,
    calls: world.calls,
    violations: world.violations,
    statuses: world.statuses,
    callsOf: (method) => world.calls.filter((each) => each.method === method),
    message: (channel, ts) => world.messages.get(`${channel}:${ts}`),
    user: (id, given) => addUser(world, id, given),
    dm: (userId) => conversation(toDm(userId), userId),
    channel(id, given = {}) {
      if (!world.channels.has(id)) world.channels.set(id, { id, type: given.type ?? 'channel' });
      return { id, as: (userId) => conversation(id, userId) };
    },
    closeChannel(channel, error) {
      const place = world.channels.get(channel);
      if (place) place.closed = error;
    },
    push: (event) => push('events_api', toCallback(world, event)),
    pushPayload: push,
    redeliver() {
      if (!newest) throw new Error('nothing was sent yet');
      delivery.again(newest);
    },
    deliver: (settings) => void Object.assign(delivery.settings, settings),
    postTo: (target) => delivery.postTo(target === undefined ? undefined : { url: target, secret: signingSecret }),
    postStatuses: delivery.statuses,
    unacked: delivery.waiting,
    acks: delivery.acks,
    strangeFrames: delivery.strange,
    sockets: delivery.counts,
    disconnect: delivery.disconnect,
    frame: (text) => delivery.sockets().forEach((socket) => socket.send(text)),
    cutSockets: () => delivery.sockets().forEach((socket) => socket.terminate()),
    freezeSockets: () => delivery.sockets().forEach((socket) => socket.pause()),
    withholdHello: (isWithheld) => void (isHelloWithheld = isWithheld),
    revoke: (token, error) => void (refused[token] = error),
    addFile(id, bytes, given = {}) {
      const name = given.name ?? `${id}.bin`;
      const path = `/files-pri/${world.team}-${id}/download/${name}`;
      world.files.set(id, { id, name, bytes: Buffer.from(bytes), mimetype: given.mimetype ?? 'application/octet-stream', size: given.size === undefined ? bytes.length : given.size, path });
      return `${home}${path}`;
    },
    fail: (method, fault) => faults.add(method, fault),
    clearFaults: () => faults.clear(),
    connections: () => sockets.size,
    shut,
    reopen: () => listen(ownPort),
    async close() {
      delivery.stop();
      if (server.listening) await shut();
    },
  };
}

async function read(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function toParams(bytes: Buffer, type: string): Params {
  if (type.startsWith('application/json')) return (parse(bytes.toString()) as Params | undefined) ?? {};
  return Object.fromEntries(new URLSearchParams(bytes.toString()));
}

function write(response: ServerResponse, { status, headers, body }: Answer): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, headers);
  response.end(body);
}

/** Waits; false when the caller hung up first. Infinity waits for that. */
function hang(ms: number, response: ServerResponse): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = Number.isFinite(ms) ? setTimeout(() => resolve(true), ms) : undefined;
    response.once('close', () => {
      clearTimeout(timer);
      resolve(false);
    });
  });
}
