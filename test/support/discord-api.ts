/**
 * Discord on loopback: the REST API, the gateway and the files behind it. It keeps the real one's promises where a bot can tell: events go to
 * living sessions only, history is there for whoever asks, a nonce gives the first message again, bodies and lengths are checked, identifies are
 * counted. Stands alone: a test, a bench or a process of its own can start it.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { readCall, type UploadedFile } from './discord-api-body.ts';
import { createFaults, toRefusal, type Fault } from './discord-api-faults.ts';
import { createGateway, type Gateway } from './discord-api-gateway.ts';
import { createConversation, type Conversation } from './discord-api-people.ts';
import { isNo, routes } from './discord-api-rest.ts';
import { no } from './discord-api-rules.ts';
import { createWorld, toGuildCreate, type Call, type DiscordChannel, type DiscordGuild, type DiscordUser, type Json, type SentMessage } from './discord-api-world.ts';

export type { Call, Conversation, Fault, Json, SentMessage };

export interface Channel {
  readonly id: string;
  as(user: DiscordUser): Conversation;
}

export interface Guild {
  readonly id: string;
  /** The role that Discord made for the bot. */
  readonly botRole: string;
  /** The channel of this name; made when new. Types: 0 text, 2 voice, 5 announcement, 15 forum. */
  channel(name: string, type?: number): Channel;
  /** A thread that somebody opened in a channel (or a post in a forum). */
  thread(parent: Channel, name: string, owner: DiscordUser): Channel;
  member(user: DiscordUser, place: { nick?: string; roles?: string[] }): void;
  role(name: string): string;
}

export interface DiscordApiOptions {
  token?: string;
  name?: string;
  port?: number;
  /** Default true. */
  allowsMessageContent?: boolean;
  heartbeatMs?: number;
  sessionStarts?: { total: number; remaining: number; reset_after: number };
}

export interface DiscordApi {
  /** For `api_root`. */
  readonly url: string;
  readonly token: string;
  readonly me: DiscordUser;
  /** What the bot has sent and Discord has taken, with the text as it is now. */
  readonly sent: SentMessage[];
  /** Every call that arrived, refused ones too, in order. */
  readonly calls: Call[];
  readonly commands: Json[];
  /** Channels in which the bot has shown that it types. */
  readonly typing: string[];
  readonly gateway: Gateway;
  readonly sessionStarts: { total: number; remaining: number; reset_after: number };
  callsOf(name: string): Call[];
  /** A person; the same one for the same name. */
  user(name: string, options?: { bot?: boolean }): DiscordUser;
  dm(user: DiscordUser): Conversation;
  guild(name?: string): Guild;
  channel(id: string): Channel;
  /** How an interaction was answered; undefined while it is not. */
  response(interaction: string): { type: number; data: Json; isDeleted: boolean } | undefined;
  /** From now on calls for this channel are refused with Discord's code (10003, 50001, 50007, 50013). */
  closeChannel(id: string, code: number): void;
  setThread(id: string, change: { archived?: boolean; locked?: boolean }): void;
  /** A file that can be fetched; gives its address. `declaresSize` false leaves the length out. */
  addFile(name: string, bytes: Uint8Array, declaresSize?: boolean): string;
  /** Orders a fault for the next calls of a route (send, edit, typing, thread, callback, history, commands, gateway ...); `*` is any. */
  fail(name: string, fault: Fault): void;
  /** From now on so many sends and edits per window and channel; told by headers. */
  limitMessages(limit: number, windowMs: number): void;
  /** TCP connections that are open now. */
  connections(): number;
  /** Stops listening and cuts every connection; `reopen` listens on the same port again with the same memory. */
  shut(): Promise<void>;
  reopen(): Promise<void>;
  close(): Promise<void>;
}

export async function startDiscordApi(options: DiscordApiOptions = {}): Promise<DiscordApi> {
  const world = createWorld(options.name ?? 'Hermes');
  const token = options.token ?? 'MTAwMDAwMDAwMDAwMDAwMDAw.test-token.that-must-never-be-seen';
  const sessionStarts = { total: 1000, remaining: 1000, reset_after: 14_400_000, ...options.sessionStarts };
  const faults = createFaults();
  const connections = new Set<Socket>();
  const conversations = new Map<string, Conversation>();
  const buckets = new Map<string, { left: number; resetAt: number }>();
  let rule: { limit: number; windowMs: number } | undefined;
  let port = options.port ?? 0;

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => reply(response, 500, JSON.stringify({ message: `Simulator: ${String(error)}`, code: 0 })));
  });
  server.on('connection', (socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  const gatewayUrl = (): string => `ws://127.0.0.1:${port}/gateway`;
  const rules = { token, allowsMessageContent: options.allowsMessageContent ?? true, heartbeatMs: options.heartbeatMs ?? 41_250 };
  const gateway = createGateway(server, world, rules, gatewayUrl, () => void (sessionStarts.remaining -= 1));
  const { dispatch } = gateway;

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const address = new URL(request.url ?? '/', 'http://localhost');
    const { body, files } = await readCall(request);
    const path = address.pathname;
    const query = Object.fromEntries(address.searchParams);
    const route = routes.find(({ method, path: pattern }) => method === request.method && pattern.test(toRoute(path)));
    const name = path.startsWith('/files/') ? 'file' : toRoute(path) === '/gateway/bot' ? 'gateway' : (route?.name ?? 'unknown');
    world.calls.push({ name, method: request.method ?? '', path, query, body, at: Date.now() });
    const fault = faults.take(name, body);
    if (fault && strike(fault, response, path)) return;
    if (name === 'file') return sendFile(response, path.slice('/files/'.length));
    if (!route?.isOpen && request.headers.authorization !== `Bot ${token}`) return reply(response, 401, JSON.stringify({ message: '401: Unauthorized', code: 0 }));
    if (name === 'gateway') return reply(response, 200, JSON.stringify({ url: gatewayUrl(), shards: 1, session_start_limit: { ...sessionStarts, max_concurrency: 1 } }));
    const headers = name === 'send' || name === 'edit' ? takeFromBucket(name, toRoute(path).split('/')[2] ?? '') : {};
    if (headers === null) return reply(response, 429, JSON.stringify({ message: 'You are being rate limited.', retry_after: (rule?.windowMs ?? 0) / 1000, global: false }), { 'x-ratelimit-scope': 'user' });
    const answer = route ? route.handler({ world, dispatch }, route.path.exec(toRoute(path))?.slice(1) ?? [], { query, body, files: files satisfies UploadedFile[] }) : no(404, 0, '404: Not Found');
    if (fault?.dropAfter) return void response.destroy();
    if (isNo(answer)) return reply(response, answer.status, JSON.stringify({ message: answer.message, code: answer.code }), headers);
    reply(response, answer === null ? 204 : 200, answer === null ? '' : JSON.stringify(answer), headers);
  }

  function strike(fault: Fault, response: ServerResponse, path: string): boolean {
    if (fault.hang) return true;
    if (fault.dropBefore) return response.destroy(), true;
    const refusal = toRefusal(fault, path);
    if (refusal) reply(response, refusal.status, refusal.body, refusal.headers);
    return refusal !== undefined;
  }

  /** Null when there is nothing left in the channel's bucket. */
  function takeFromBucket(name: string, channel: string): Record<string, string> | null {
    if (!rule) return {};
    const key = `${name}:${channel}`;
    const old = buckets.get(key);
    const bucket = old && old.resetAt > Date.now() ? old : { left: rule.limit, resetAt: Date.now() + rule.windowMs };
    buckets.set(key, bucket);
    if (bucket.left === 0) return null;
    bucket.left -= 1;
    const resetAfter = String((bucket.resetAt - Date.now()) / 1000);
    return { 'x-ratelimit-limit': String(rule.limit), 'x-ratelimit-remaining': String(bucket.left), 'x-ratelimit-reset-after': resetAfter, 'x-ratelimit-bucket': `bucket-${name}` };
  }

  function sendFile(response: ServerResponse, name: string): void {
    const file = world.files.get(decodeURIComponent(name));
    if (!file) return reply(response, 404, '{}');
    response.writeHead(200, { 'content-type': 'application/octet-stream', ...(file.declaresSize ? { 'content-length': String(file.bytes.length) } : {}) });
    response.end(file.bytes);
  }

  function conversation(channel: string, user: DiscordUser): Conversation {
    const key = `${channel}:${user.id}`;
    const known = conversations.get(key) ?? createConversation({ world, channel, user, dispatch });
    conversations.set(key, known);
    return known;
  }

  const channelOf = (id: string): Channel => ({ id, as: (user) => conversation(id, user) });

  function addChannel(channel: Omit<DiscordChannel, 'id' | 'last_message_id'>, event: string): Channel {
    const made: DiscordChannel = { id: world.nextId(), last_message_id: null, ...channel };
    world.channels.set(made.id, made);
    dispatch(event, { ...made });
    return channelOf(made.id);
  }

  function guild(name = 'The server'): Guild {
    let found = [...world.guilds.values()].find((candidate) => candidate.name === name);
    if (!found) {
      const roles = [{ id: world.nextId(), name: world.me.username, managed: true, tags: { bot_id: world.me.id } }];
      found = { id: world.nextId(), name, roles, members: new Map([[world.me.id, { nick: null, roles: roles.map(({ id }) => id) }]]) };
      world.guilds.set(found.id, found);
      dispatch('GUILD_CREATE', toGuildCreate(world, found));
    }
    return toGuild(found);
  }

  function toGuild(of: DiscordGuild): Guild {
    return {
      id: of.id,
      botRole: of.roles[0]?.id ?? '',
      channel(name, type = 0) {
        const known = [...world.channels.values()].find((candidate) => candidate.guild_id === of.id && candidate.name === name);
        return known ? channelOf(known.id) : addChannel({ type, name, guild_id: of.id }, 'CHANNEL_CREATE');
      },
      thread: (parent, name, owner) =>
        addChannel({ type: 11, name, guild_id: of.id, parent_id: parent.id, owner_id: owner.id, thread_metadata: { archived: false, locked: false, auto_archive_duration: 1440 } }, 'THREAD_CREATE'),
      member: (user, { nick = null, roles = [] }) => void of.members.set(user.id, { nick, roles }),
      role(name) {
        const role = { id: world.nextId(), name };
        of.roles.push(role);
        dispatch('GUILD_ROLE_CREATE', { guild_id: of.id, role });
        return role.id;
      },
    };
  }

  const listen = (): Promise<void> => new Promise((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  await listen();
  ({ port } = server.address() as AddressInfo);
  const shut = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      for (const socket of connections) socket.destroy();
    });

  return {
    url: `http://127.0.0.1:${port}/api`,
    token,
    me: world.me,
    sent: world.sent,
    calls: world.calls,
    get commands() {
      return world.commands;
    },
    typing: world.typing,
    gateway,
    sessionStarts,
    callsOf: (name) => world.calls.filter((call) => call.name === name),
    user(name, { bot = false } = {}) {
      const known = [...world.users.values()].find((user) => user.username === name);
      if (known) return known;
      const user: DiscordUser = { id: world.nextId(), username: name, global_name: null, ...(bot ? { bot: true as const } : {}) };
      world.users.set(user.id, user);
      return user;
    },
    dm(user) {
      const known = [...world.channels.values()].find(({ type, recipients }) => type === 1 && recipients?.[0]?.id === user.id);
      // A bot is not told of a direct chat before its first message.
      const channel = known ?? { id: world.nextId(), type: 1, last_message_id: null, recipients: [user] };
      world.channels.set(channel.id, channel);
      return conversation(channel.id, user);
    },
    guild,
    channel: channelOf,
    response(id) {
      const response = world.responses.get(id);
      return response && response.type !== 0 ? response : undefined;
    },
    closeChannel: (id, code) => void world.closed.set(id, code),
    setThread(id, change) {
      const metadata = world.channels.get(id)?.thread_metadata;
      if (metadata) Object.assign(metadata, change);
    },
    addFile(name, bytes, declaresSize = true) {
      world.files.set(name, { bytes, declaresSize });
      return `http://127.0.0.1:${port}/files/${encodeURIComponent(name)}`;
    },
    fail: (name, fault) => faults.add(name, fault),
    limitMessages: (limit, windowMs) => void (rule = { limit, windowMs }),
    connections: () => connections.size,
    shut,
    reopen: listen,
    async close() {
      gateway.stop();
      if (server.listening) await shut();
    },
  };
}

/** The part of the path that follows the API root and its version. */
function toRoute(path: string): string {
  return path.replace(/^\/api\/v10(?=\/)/, '');
}

function reply(response: ServerResponse, status: number, body: string, headers: Record<string, string> = {}): void {
  if (response.headersSent || response.destroyed) return;
  const type = body.startsWith('{') || body.startsWith('[') ? { 'content-type': 'application/json' } : body === '' ? {} : { 'content-type': 'text/html' };
  response.writeHead(status, { ...type, ...headers });
  response.end(body);
}
