/**
 * A Bot API server on loopback. It keeps the real one's promises where a bot can tell: an update is delivered until an offset
 * confirms it (or the webhook answers 2xx), one poller at a time, markup and lengths are checked, messages are edited in place.
 * Stands alone: a test, a bench or a process of its own can start it. Source: https://core.telegram.org/bots/api.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { createFaults, toRefusal, type Fault } from './telegram-api-faults.ts';
import { answerCall, no, ok, type Answer } from './telegram-api-methods.ts';
import { number, readParams, text, type CallBody, type Params } from './telegram-api-params.ts';
import { createConversation, type Conversation } from './telegram-api-people.ts';
import { addUser, confirm, createWorld, type Call, type SentMessage, type TelegramChat, type TelegramUser, type Update } from './telegram-api-world.ts';
import { createWebhookSender } from './telegram-api-webhook.ts';

export type { Call, Conversation, Fault, SentMessage, Update };

export interface Group {
  readonly id: number;
  /** Somebody in the group, or in one of its topics. */
  as(userId: number, topic?: number): Conversation;
  /** Opens a topic; gives its thread id. */
  topic(name: string): number;
}

export interface TelegramApi {
  /** For `api_root`. */
  readonly url: string;
  readonly token: string;
  readonly me: TelegramUser;
  /** What the bot has sent and Telegram has taken, with the text as it is now. */
  readonly sent: SentMessage[];
  /** Every call that arrived, refused ones too, in order. */
  readonly calls: Call[];
  /** Updates that no offset or webhook answer has confirmed. */
  readonly unconfirmed: Update[];
  readonly commands: { command: string; description: string }[];
  readonly webhook: { url: string; secret: string; maxConnections: number; allowed: string[]; failures: number };
  callsOf(method: string): Call[];
  user(id: number, options?: { name?: string; username?: string; bot?: boolean }): TelegramUser;
  /** The user's direct chat with the bot; the same object each time. Adds the user when new. */
  dm(userId: number): Conversation;
  group(id: number, options?: { title?: string; type?: 'group' | 'supergroup'; forum?: boolean }): Group;
  /** From now on calls for this chat get 403 with these words. */
  close403(chat: number, words?: string): void;
  /** The group becomes a supergroup with another id. */
  migrate(from: number, to: number): void;
  /** Puts an update of any shape in the queue; without `update_id` it gets the next one. */
  push(update: Params): Update;
  /** The newest update that was put in the queue; pushed again it is a redelivery. */
  lastPushed(): Update;
  /** A file that can be fetched by its id. `size` is what getFile declares (null: nothing); `path` what it answers. */
  addFile(id: string, bytes: Uint8Array, options?: { path?: string; size?: number | null }): void;
  /** Orders a fault for the next calls of a method; `*` is any, `file` a download. */
  fail(method: string, fault: Fault): void;
  clearFaults(): void;
  /** Another bot answers under this token from now on (ids of updates stay). */
  becomeBot(id: number, username: string): void;
  /** TCP connections that are open now. */
  connections(): number;
  /** Cuts every connection; the server and its memory stay. */
  cutConnections(): void;
  /** Stops listening and cuts every connection; `reopen` listens on the same port again with the same memory. */
  shut(): Promise<void>;
  reopen(): Promise<void>;
  close(): Promise<void>;
}

interface Poller {
  wake(): void;
  conflict(): void;
}

export async function startTelegramApi(options: { token?: string; botId?: number; username?: string; port?: number } = {}): Promise<TelegramApi> {
  const botId = options.botId ?? 7_000_001;
  const token = options.token ?? `${botId}:AAtest-token_that-must-never-be-seen`;
  const world = createWorld({ id: botId, is_bot: true, first_name: 'Hermes', username: options.username ?? 'hermes_test_bot' });
  const faults = createFaults();
  const sockets = new Set<Socket>();
  const conversations = new Map<string, Conversation>();
  const webhookSender = createWebhookSender(world);
  let poller: Poller | undefined;
  let lastPushed: Update | undefined;

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => reply(response, 500, JSON.stringify(no(500, `Simulator: ${String(error)}`))));
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const address = new URL(request.url ?? '/', 'http://localhost');
    const path = decodeURIComponent(address.pathname);
    const file = path.startsWith(`/file/bot${token}/`) ? path.slice(`/file/bot${token}/`.length) : undefined;
    const method = file === undefined ? (/^\/bot([^/]*)\/([A-Za-z]+)$/.exec(path)?.[2] ?? '') : 'file';
    const body = await readParams(request, address.searchParams);
    if (method !== '') world.calls.push({ method, params: body.params, at: Date.now() });
    if (file === undefined && !path.startsWith(`/bot${token}/`)) {
      const shaped = /^\/bot\d+:[\w-]+\//.test(path);
      return reply(response, shaped ? 401 : 404, JSON.stringify(shaped ? no(401, 'Unauthorized') : no(404, 'Not Found')));
    }
    const fault = faults.take(method, body.params);
    if (fault && (await strike(fault, response))) return;
    if (file !== undefined) return sendFile(response, file);
    if (method === 'getUpdates') return poll(body, response);
    const answer = ownAnswer(method, body) ?? answerCall(world, method, body);
    if (fault?.hangAfterMs !== undefined) await hang(fault.hangAfterMs, response);
    if (fault?.dropAfter) return void response.destroy();
    reply(response, answer.ok ? 200 : answer.error_code, JSON.stringify(answer));
  }

  async function strike(fault: Fault, response: ServerResponse): Promise<boolean> {
    if (fault.hangMs !== undefined && !(await hang(fault.hangMs, response))) return true;
    if (fault.dropBefore) return response.destroy(), true;
    const refusal = toRefusal(fault);
    if (refusal) reply(response, refusal.status, refusal.body);
    return refusal !== undefined;
  }

  function ownAnswer(method: string, { params }: CallBody): Answer | undefined {
    if (method === 'getWebhookInfo') return ok({ url: world.webhook.url, has_custom_certificate: false, pending_update_count: world.queue.length });
    if (method !== 'setWebhook' && method !== 'deleteWebhook') return undefined;
    const url = method === 'setWebhook' ? text(params['url']) : '';
    const allowed = Array.isArray(params['allowed_updates']) ? (params['allowed_updates'] as string[]) : [];
    if (params['drop_pending_updates'] === true) world.queue.splice(0);
    world.webhook = { url, secret: text(params['secret_token']), maxConnections: number(params['max_connections']) ?? 40, allowed };
    if (url !== '') poller?.conflict();
    webhookSender.wake();
    return ok(true);
  }

  function poll({ params }: CallBody, response: ServerResponse): void {
    if (world.webhook.url !== '') return reply(response, 409, JSON.stringify(no(409, "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first")));
    poller?.conflict();
    confirm(world, number(params['offset']));
    const limit = Math.min(100, number(params['limit']) ?? 100);
    const done = (status: number, answer: Answer): void => {
      clearTimeout(timer);
      if (poller === self) poller = undefined;
      reply(response, status, JSON.stringify(answer));
    };
    const self: Poller = {
      wake: () => world.queue.length > 0 && done(200, ok(world.queue.slice(0, limit))),
      conflict: () => done(409, no(409, 'Conflict: terminated by other getUpdates request; make sure that only one bot instance is running')),
    };
    const timer = setTimeout(() => done(200, ok([])), Math.min(50, number(params['timeout']) ?? 0) * 1000);
    poller = self;
    response.once('close', () => {
      clearTimeout(timer);
      if (poller === self) poller = undefined;
    });
    self.wake();
  }

  function sendFile(response: ServerResponse, path: string): void {
    const found = [...world.files.values()].find((candidate) => candidate.path.endsWith(path));
    if (!found) return reply(response, 404, JSON.stringify(no(404, 'Not Found')));
    // No content-length: a reader that trusts declared sizes alone is found out.
    response.writeHead(200, { 'content-type': 'application/octet-stream' });
    response.end(found.bytes);
  }

  function push(update: Params): Update {
    const full: Update = { update_id: world.nextUpdateId(), ...update };
    world.queue.push(full);
    lastPushed = full;
    poller?.wake();
    webhookSender.wake();
    return full;
  }

  function conversation(chat: number, user: number, thread?: number): Conversation {
    const key = `${chat}:${user}:${thread ?? ''}`;
    const known = conversations.get(key);
    if (known) return known;
    if (!world.users.has(user)) addUser(world, user);
    const made = createConversation({ world, chat, user, ...(thread === undefined ? {} : { thread }), push: (kind, content) => push({ [kind]: content }) });
    conversations.set(key, made);
    return made;
  }

  const listen = (port: number): Promise<void> => once(server.listen(port, '127.0.0.1'), 'listening').then(() => undefined);
  await listen(options.port ?? 0);
  const { port } = server.address() as AddressInfo;
  const cutConnections = (): void => sockets.forEach((socket) => socket.destroy());
  const shut = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      cutConnections();
    });

  return {
    url: `http://127.0.0.1:${port}`,
    token,
    me: world.me,
    sent: world.sent,
    calls: world.calls,
    get unconfirmed() {
      return world.queue;
    },
    get commands() {
      return world.commands;
    },
    get webhook() {
      return { ...world.webhook, failures: webhookSender.failures() };
    },
    callsOf: (method) => world.calls.filter((call) => call.method === method),
    user: (id, given) => addUser(world, id, given),
    dm: (userId) => conversation(userId, userId),
    group(id, given = {}) {
      const chat: TelegramChat = { id, type: given.type ?? 'supergroup', title: given.title ?? `Group ${id}`, ...(given.forum ? { is_forum: true as const } : {}) };
      world.chats.set(id, chat);
      return {
        id,
        as: (userId, topic) => conversation(id, userId, topic),
        topic(name) {
          const thread = world.nextMessageId();
          world.topics.add(`${id}:${thread}`);
          world.messages.set(`${id}:${thread}`, { message_id: thread, chat, from: world.me, date: 0, forum_topic_created: { name, icon_color: 1 } });
          return thread;
        },
      };
    },
    close403: (chat, words = 'bot was blocked by the user') => void world.closed.set(chat, words),
    migrate(from, to) {
      const chat = world.chats.get(from);
      if (chat) world.chats.set(to, { ...chat, id: to, type: 'supergroup' });
      world.migrated.set(from, to);
      const message = { message_id: world.nextMessageId(), chat, from: world.me, date: Math.floor(Date.now() / 1000), migrate_to_chat_id: to };
      push({ message });
    },
    push,
    lastPushed() {
      if (!lastPushed) throw new Error('nothing was pushed yet');
      return lastPushed;
    },
    addFile: (id, bytes, given = {}) =>
      void world.files.set(id, { bytes, path: given.path ?? `documents/${id}`, size: given.size === null ? undefined : (given.size ?? bytes.length) }),
    fail: (method, fault) => faults.add(method, fault),
    clearFaults: () => faults.clear(),
    becomeBot: (id, username) => void Object.assign(world.me, { id, username }),
    connections: () => sockets.size,
    cutConnections,
    shut,
    reopen: () => listen(port),
    async close() {
      webhookSender.stop();
      if (server.listening) await shut();
    },
  };
}

function reply(response: ServerResponse, status: number, body: string): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, { 'content-type': body.startsWith('{') ? 'application/json' : 'text/html' });
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
