/**
 * Brings events to the app, over its sockets or its request URL, until each is acknowledged: again after a while without an answer, with
 * `retry_attempt` and `retry_reason`, and as soon as there is a connection once there was none.
 */
import { createHmac } from 'node:crypto';
import type { WebSocket } from 'ws';
import type { Params } from './slack-api-world.ts';

export type EnvelopeType = 'events_api' | 'slash_commands' | 'interactive';

export interface Envelope {
  id: string;
  type: EnvelopeType;
  payload: Params;
  /** How often it was sent before. */
  attempt: number;
  isAcked: boolean;
  sentAt: number;
}

export interface DeliverySettings {
  /** An envelope without an answer for this long is sent again, ms. */
  ackMs: number;
  /** Each envelope is sent this often at once. */
  copies: number;
  /** `retry_attempt` of the first sending that arrives. */
  firstAttempt: number;
}

interface Link {
  socket: WebSocket;
  /** Was told to leave: gets no more events. */
  isRetired: boolean;
}

export function createDelivery() {
  const settings: DeliverySettings = { ackMs: 250, copies: 1, firstAttempt: 0 };
  const all: Envelope[] = [];
  const acks: { id: string; ms: number }[] = [];
  const strange: string[] = [];
  const statuses: number[] = [];
  const timers = new Map<Envelope, NodeJS.Timeout>();
  /** The socket on which an envelope was sent last. */
  const carriers = new Map<string, WebSocket>();
  let links: Link[] = [];
  let endpoint: { url: string; secret: string } | undefined;
  let next = 0;
  let most = 0;
  let total = 0;

  const waiting = (): Envelope[] => all.filter(({ isAcked }) => !isAcked);

  function push(type: EnvelopeType, payload: Params): Envelope {
    const envelope: Envelope = { id: `env-${(next += 1)}`, type, payload, attempt: settings.firstAttempt, isAcked: false, sentAt: 0 };
    all.push(envelope);
    for (let copy = 0; copy < settings.copies; copy += 1) send({ ...envelope, attempt: envelope.attempt + copy });
    arm(envelope);
    return envelope;
  }

  /** Sends it again by itself as long as nobody has answered. */
  function arm(envelope: Envelope): void {
    clearTimeout(timers.get(envelope));
    timers.set(envelope, setTimeout(() => !envelope.isAcked && again(envelope), settings.ackMs));
  }

  function again(envelope: Envelope): void {
    envelope.attempt += 1;
    send(envelope);
    arm(envelope);
  }

  function send(copy: Envelope): void {
    const { id, type, payload, attempt } = copy;
    const original = all.find((each) => each.id === id);
    if (original) original.sentAt = performance.now();
    if (endpoint) return void post(endpoint, copy).then((status) => {
      statuses.push(status);
      if (status >= 200 && status < 300 && original) settle(original);
    });
    const link = links.findLast(({ isRetired, socket }) => !isRetired && socket.readyState === socket.OPEN);
    if (link) carriers.set(id, link.socket);
    const retry = attempt === 0 ? {} : { retry_attempt: attempt, retry_reason: 'timeout' };
    link?.socket.send(JSON.stringify({ envelope_id: id, type, payload, accepts_response_payload: type !== 'events_api', ...retry }));
  }

  function settle(envelope: Envelope): void {
    acks.push({ id: envelope.id, ms: performance.now() - envelope.sentAt });
    envelope.isAcked = true;
    clearTimeout(timers.get(envelope));
    timers.delete(envelope);
  }

  function onFrame(data: string): void {
    const id = (() => {
      try {
        return (JSON.parse(data) as { envelope_id?: string }).envelope_id;
      } catch {
        return undefined;
      }
    })();
    const envelope = all.find((each) => each.id === id);
    if (envelope) settle(envelope);
    else strange.push(data.slice(0, 200));
  }

  /** A socket that has said hello. What waits is sent at once, unless its own socket is still there to acknowledge it. */
  function attach(socket: WebSocket): void {
    const link: Link = { socket, isRetired: false };
    links.push(link);
    total += 1;
    most = Math.max(most, links.length);
    socket.on('message', (data) => onFrame(String(data)));
    socket.on('close', () => {
      links = links.filter((each) => each !== link);
      if (links.length > 0) sendStranded();
    });
    sendStranded();
  }

  function sendStranded(): void {
    for (const envelope of waiting()) if (!links.some(({ socket }) => socket === carriers.get(envelope.id))) again(envelope);
  }

  return {
    settings,
    acks,
    /** Frames that acknowledged nothing we sent. */
    strange,
    /** HTTP answers to posts, in order; 0 is none. */
    statuses,
    push,
    again,
    attach,
    waiting,
    last: () => all.at(-1),
    sockets: () => links.map(({ socket }) => socket),
    counts: () => ({ open: links.length, most, total }),
    /** Tells every socket to leave. They stay open until the app or the caller closes them. */
    disconnect(reason: string): void {
      for (const link of links) {
        link.isRetired = true;
        link.socket.send(JSON.stringify({ type: 'disconnect', reason, debug_info: { host: 'applink-test' } }));
      }
    },
    postTo(target: { url: string; secret: string } | undefined): void {
      endpoint = target;
      if (endpoint) for (const envelope of waiting()) again(envelope);
    },
    stop(): void {
      for (const timer of timers.values()) clearTimeout(timer);
      for (const { socket } of links) socket.terminate();
    },
  };
}

export type Delivery = ReturnType<typeof createDelivery>;

export function toBody({ type, payload }: Pick<Envelope, 'type' | 'payload'>): { contentType: string; body: string } {
  if (type === 'events_api') return { contentType: 'application/json', body: JSON.stringify(payload) };
  const form = type === 'slash_commands' ? (payload as Record<string, string>) : { payload: JSON.stringify(payload) };
  return { contentType: 'application/x-www-form-urlencoded', body: new URLSearchParams(form).toString() };
}

/** The headers with which Slack signs a body. `at` is seconds since the epoch. */
export function toSignature(secret: string, body: string | Uint8Array, at: number | string): Record<string, string> {
  const digest = createHmac('sha256', secret).update(`v0:${at}:`).update(body).digest('hex');
  return { 'x-slack-request-timestamp': String(at), 'x-slack-signature': `v0=${digest}` };
}

async function post({ url, secret }: { url: string; secret: string }, envelope: Envelope): Promise<number> {
  const { contentType, body } = toBody(envelope);
  const retry: Record<string, string> = envelope.attempt === 0 ? {} : { 'x-slack-retry-num': String(envelope.attempt), 'x-slack-retry-reason': 'http_timeout' };
  const headers = { 'content-type': contentType, ...toSignature(secret, body, Math.floor(Date.now() / 1000)), ...retry };
  return fetch(url, { method: 'POST', headers, body }).then(
    async (response) => {
      await response.arrayBuffer();
      return response.status;
    },
    () => 0,
  );
}
