/**
 * What a platform has to bring. An adapter turns platform events into InboundMessages, hands them to `receive`, confirms
 * to its platform after `receive` has resolved, and sends OutboundParts. It knows nothing of sessions, agents or the store.
 *
 * Gateway side: receive() -> COMMIT -> resolves -> the adapter confirms. Delivery side: send() -> SendOutcome, never a throw.
 */
import type { Address, Attachment, InboundMessage, OutboundPart } from './message.ts';
import type { Log } from './log.ts';
import type { TurnEvent, TurnOutcome } from './turn.ts';

/** What became of a message that was handed to `receive`. Every one of them may be confirmed to the platform. */
export type Receipt =
  /** Committed: it will end as answered, declined or failed-and-told. */
  | { status: 'accepted'; id: number }
  /** The same event was committed before; `id` is its row. */
  | { status: 'duplicate'; id: number }
  /** Not for us, or not allowed; nothing was kept. */
  | { status: 'refused'; reason: 'not_allowed' | 'not_addressed' | 'bot' | 'unsupported' }
  /** A button of somebody else's question, pressed by a person who is let in. */
  | { status: 'refused'; reason: 'not_yours' };

/** Follows one message through its turn. Callbacks must not throw and must return at once. */
export interface TurnObserver {
  onEvent(event: TurnEvent): void;
  /** Called once, when the message has reached its end. */
  onDone(outcome: TurnOutcome): void;
}

/**
 * Resolves when the message's row is committed (or when it was refused). Rejects with a HermesError STORE_UNAVAILABLE when
 * it could not be kept: then do NOT confirm it to the platform. An observer of a duplicate follows the first delivery's turn.
 */
export type Receive = (message: InboundMessage, observer?: TurnObserver) => Promise<Receipt>;

/** How a call to the platform ended. Data, never an exception, so that delivery can decide by one table. */
export type SendOutcome =
  | { status: 'sent'; messageId: string }
  /** The platform said no until later. `scope` tells whether the chat or the whole bot is limited. */
  | { status: 'rate_limited'; retryAfterMs: number; scope: 'chat' | 'bot' }
  /** It certainly had no effect and may be tried again (5xx answers, refused connections). */
  | { status: 'transient'; error: string }
  /** It may have had an effect (time-out or reset after the request was written). */
  | { status: 'unknown'; error: string }
  /** It will never work. `targetGone`: the chat is deleted, archived, or has blocked the bot. */
  | { status: 'permanent'; error: string; targetGone?: boolean }
  /** For edits alone: the message to edit is gone or can no longer be edited. */
  | { status: 'edit_gone'; error: string }
  /** The chat lives at another id now. */
  | { status: 'moved'; chat: string };

export type AdapterStatus =
  | { state: 'starting' }
  | { state: 'up'; account: string; detail?: string }
  | { state: 'degraded'; reason: string }
  /** Switched off until a restart; `reason` says in one line what to do. */
  | { state: 'off'; reason: string };

/** Least time in ms between two edits of a streamed preview. Other calls wait only when the platform says so (429). */
export interface Pace {
  previewDmMs: number;
  previewGroupMs: number;
}

export interface Adapter {
  readonly platform: string;
  /** What the model is told about this platform in the system prompt; one or two sentences. */
  readonly hint: string;
  readonly pace?: Pace;
  /** True where a second send with the same idempotency key makes no second message; the adapter sees to it that the one there bears the new text. */
  readonly isIdempotent?: boolean;
  /**
   * Opens intake and resolves once the platform accepts us (or has switched us off and `report` said so).
   * Rejects on a fault that is worth retrying; the supervisor calls stop() and start() again with back-off.
   */
  start(receive: Receive): Promise<void>;
  /** Closes intake, then every socket, timer and listener. Safe to call twice, and before start. Must not throw. */
  stop(): Promise<void>;
  /** Cuts Markdown into texts that each fit one message after rendering. Pure. Absent where answers are read from the turn. */
  split?(markdown: string): string[];
  /** Sends one part. Works as soon as the adapter is built, before start. Must not throw; ends within 15 s (uploads 120 s). */
  send?(part: OutboundPart, signal: AbortSignal): Promise<SendOutcome>;
  /** Replaces the text of a message that send() returned. "Not modified" counts as sent. */
  edit?(messageId: string, part: OutboundPart, signal: AbortSignal): Promise<SendOutcome>;
  /** Shows that an answer is on its way; the gateway repeats it every 4 s. Of failures only a rate limit counts: it holds for everything to that chat. */
  typing?(address: Address, signal: AbortSignal): Promise<SendOutcome | void>;
  /** Fetches an attachment's bytes; rejects when it is larger than `maxBytes`, checked before and while reading. */
  download?(attachment: Attachment, maxBytes: number, signal: AbortSignal): Promise<Uint8Array>;
  react?(address: Address, messageId: string, emoji: string, signal: AbortSignal): Promise<void>;
}

export interface MenuCommand {
  name: string;
  description: string;
}

/** What main hands an adapter when it is built. */
export interface AdapterContext {
  log: Log;
  /** The home folder. */
  home: string;
  /** Small durable state of this adapter (offsets, last seen ids). `set` resolves after the commit. */
  state: {
    get(key: string): Promise<string | undefined>;
    set(key: string, value: string): Promise<void>;
    list(prefix: string): Promise<{ key: string; value: string }[]>;
  };
  /** Chat commands for the platform's menu; complete once start() is called. */
  commands(): MenuCommand[];
  report(status: AdapterStatus): void;
  /**
   * Call it before listening with a token: one process at a time on this machine may. Gives the function that lets go, to be called by
   * stop(). Throws a HermesError TOKEN_IN_USE that start() should reject with; a holder's death frees the token by itself.
   */
  claimToken(token: string): () => void;
  /** A chat has another id from now on (a group that became a supergroup): its sessions and waiting parts move. Resolves after the commit. */
  chatMoved(from: string, to: string): Promise<void>;
  /** Mounts a path on the HTTP adapter (webhooks). Returns a function that takes it away again. */
  mount(route: Route): () => void;
  /** Only for platforms on which people are told apart by more than ids; may this sender write here? Pure and in memory. */
  isAllowed(message: InboundMessage): boolean;
}

/** A path that main mounts on the HTTP server for somebody else. */
export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Fastify path syntax, e.g. `/api/sessions/:id`. */
  path: string;
  /** `key`: the bearer key or the page's cookie. `self`: the handler checks the caller itself (platform signatures). */
  auth: 'key' | 'self';
  handle(request: RouteRequest): Promise<RouteReply>;
}

export interface RouteRequest {
  params: Record<string, string>;
  query: Record<string, string>;
  headers: Record<string, string | undefined>;
  /** The bytes as received; at most 1 MiB. */
  rawBody: Uint8Array;
  /** The parsed JSON body, undefined when there was none or it was not JSON. */
  body: unknown;
}

export interface RouteReply {
  status: number;
  headers?: Record<string, string>;
  /** Objects are sent as JSON, strings as text. */
  body?: unknown;
  /** Server-sent events instead of a body: called with a writer; the returned function is called when the client has gone. */
  events?: (write: (event: string, data: unknown) => void) => () => void;
}
