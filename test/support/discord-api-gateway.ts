/**
 * The gateway: HELLO, heartbeats, IDENTIFY, RESUME and what Discord does to bots that do them wrongly. A session that was not closed with 1000
 * or 1001 can be resumed and gets what it missed; a fresh one gets nothing. Source: https://discord.com/developers/docs/events/gateway.
 */
import type { Server } from 'node:http';
import { WebSocket, WebSocketServer } from 'ws';
import { toGuildCreate, type Json, type World } from './discord-api-world.ts';

export interface GatewayRecord {
  /** ms since the epoch of every IDENTIFY that was accepted or refused. */
  readonly identifies: { at: number; intents: number }[];
  readonly resumes: { at: number; seq: number; isAccepted: boolean }[];
  /** Codes with which the bot closed its sockets. */
  readonly closes: number[];
}

export interface Gateway extends GatewayRecord {
  /** Sends an event to the bot's session; nobody hears it when there is none. Filtered by its intents. */
  dispatch(type: string, data: Json): void;
  /** The last event that a session was told, once more under a new sequence number. */
  repeat(): void;
  /** Closes every socket with this code. 4xxx codes from 4004 end the session as the real ones do. */
  close(code: number): void;
  /** Cuts every socket without a word. */
  cut(): void;
  /** Op 7. */
  askToReconnect(): void;
  /** Op 9. */
  invalidate(canResume: boolean): void;
  /** The sockets that are open now fall silent: no event and no heartbeat is answered any more. */
  mute(): void;
  /** What the next IDENTIFYs meet instead of READY: a close code, or op 9. */
  refuseIdentify(refusal: { code: number } | { invalid: true }, times?: number): void;
  sockets(): number;
  stop(): void;
}

export interface GatewayRules {
  token: string;
  /** False: Message Content is not switched on in the portal. */
  allowsMessageContent: boolean;
  heartbeatMs: number;
}

interface Session {
  id: string;
  intents: number;
  seq: number;
  events: { s: number; t: string; d: Json }[];
  socket: WebSocket | null;
}

const intentOf = { guildMessages: 1 << 9, guildReactions: 1 << 10, directMessages: 1 << 12, directReactions: 1 << 13, messageContent: 1 << 15 };

export function createGateway(server: Server, world: World, rules: GatewayRules, url: () => string, onIdentify: () => void): Gateway {
  const record = { identifies: [] as { at: number; intents: number }[], resumes: [] as { at: number; seq: number; isAccepted: boolean }[], closes: [] as number[] };
  const sessions = new Map<string, Session>();
  const refusals: ({ code: number } | { invalid: true })[] = [];
  const sockets = new Set<WebSocket>();
  const muted = new WeakSet<WebSocket>();
  let newest: Session | undefined;

  const wss = new WebSocketServer({ server, path: '/gateway' });
  wss.on('connection', (socket) => {
    let session: Session | undefined;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', (code) => {
      sockets.delete(socket);
      record.closes.push(code);
      if (session) session.socket = null;
      // A polite goodbye ends the session.
      if (session && (code === 1000 || code === 1001)) sessions.delete(session.id);
    });
    socket.on('message', (bytes: Buffer) => {
      const { op, d } = JSON.parse(bytes.toString()) as { op: number; d: Json };
      if (op === 1) write(socket, { op: 11 });
      if (op === 2) session = identify(socket, d);
      if (op === 6) session = resume(socket, d);
    });
    write(socket, { op: 10, d: { heartbeat_interval: rules.heartbeatMs } });
  });

  const write = (socket: WebSocket | null, payload: Json): void => {
    if (socket?.readyState === WebSocket.OPEN && !muted.has(socket)) socket.send(JSON.stringify(payload));
  };

  function identify(socket: WebSocket, { token, intents }: Json): Session | undefined {
    record.identifies.push({ at: Date.now(), intents: Number(intents) });
    onIdentify();
    const refusal = refusals.shift();
    if (token !== rules.token) return socket.close(4004, 'Authentication failed.'), undefined;
    if (!rules.allowsMessageContent && (Number(intents) & intentOf.messageContent) !== 0) return socket.close(4014, 'Disallowed intent(s).'), undefined;
    if (refusal && 'code' in refusal) return socket.close(refusal.code), undefined;
    if (refusal) return write(socket, { op: 9, d: false }), undefined;
    const session: Session = { id: `session-${world.nextId()}`, intents: Number(intents), seq: 0, events: [], socket };
    sessions.set(session.id, session);
    newest = session;
    const guilds = [...world.guilds.keys()].map((id) => ({ id, unavailable: true }));
    tell(session, 'READY', { v: 10, user: world.me, guilds, session_id: session.id, resume_gateway_url: url(), application: { id: world.me.id, flags: 0 }, session_type: 'normal' });
    for (const guild of world.guilds.values()) tell(session, 'GUILD_CREATE', toGuildCreate(world, guild));
    return session;
  }

  function resume(socket: WebSocket, { token, session_id, seq }: Json): Session | undefined {
    const session = sessions.get(String(session_id));
    const isAccepted = session !== undefined && token === rules.token;
    record.resumes.push({ at: Date.now(), seq: Number(seq), isAccepted });
    if (!isAccepted) return write(socket, { op: 9, d: false }), undefined;
    session.socket = socket;
    for (const event of session.events.filter(({ s }) => s > Number(seq))) write(socket, { op: 0, ...event });
    tell(session, 'RESUMED', {});
    return session;
  }

  function tell(session: Session, t: string, d: Json): void {
    session.seq += 1;
    const event = { s: session.seq, t, d: structuredClone(d) };
    session.events.push(event);
    write(session.socket, { op: 0, ...event });
  }

  /** What the session asked to hear; without Message Content a message's content is empty unless it is meant for the bot. */
  function toHeard(session: Session, t: string, d: Json): Json | null {
    const isDirect = d['guild_id'] === undefined;
    const needed = t.startsWith('MESSAGE_REACTION') ? (isDirect ? intentOf.directReactions : intentOf.guildReactions) : t.startsWith('MESSAGE') ? (isDirect ? intentOf.directMessages : intentOf.guildMessages) : 0;
    if (needed !== 0 && (session.intents & needed) === 0) return null;
    const isForUs = isDirect || (Array.isArray(d['mentions']) && d['mentions'].some((user: Json) => user['id'] === world.me.id));
    return 'content' in d && !isForUs && (session.intents & intentOf.messageContent) === 0 ? { ...d, content: '', attachments: [], components: [] } : d;
  }

  const sendAll = (payload: Json): void => sockets.forEach((socket) => write(socket, payload));

  return {
    ...record,
    dispatch(type, data) {
      for (const session of sessions.values()) {
        const heard = toHeard(session, type, data);
        if (heard) tell(session, type, heard);
      }
    },
    repeat() {
      const last = newest?.events.findLast(({ t }) => t !== 'READY' && t !== 'RESUMED');
      if (newest && last) tell(newest, last.t, last.d);
    },
    close(code) {
      if (code === 1000 || code >= 4004) sessions.clear();
      for (const socket of sockets) socket.close(code);
    },
    cut: () => sockets.forEach((socket) => socket.terminate()),
    askToReconnect: () => sendAll({ op: 7, d: null }),
    invalidate(canResume) {
      if (!canResume) sessions.clear();
      sendAll({ op: 9, d: canResume });
    },
    mute: () => sockets.forEach((socket) => muted.add(socket)),
    refuseIdentify: (refusal, times = 1) => void refusals.push(...Array.from({ length: times }, () => refusal)),
    sockets: () => sockets.size,
    stop() {
      for (const socket of sockets) socket.terminate();
      wss.close();
    },
  };
}
