/**
 * The gateway socket: the SDK's shard for its protocol (heartbeats, resume, zombie sockets), and around it what a daemon needs: a pause that
 * grows between attempts, the IDENTIFY budget, an end for refusals that no retry can cure, and a close that leaves nothing behind.
 * Events come as Discord wrote them; no cache stands between, so none is swallowed. Source: https://discord.com/developers/docs/events/gateway.
 */
import { DefaultWebSocketManagerOptions, WebSocketShard, WebSocketShardEvents, WebSocketShardStatus, type FetchingStrategyOptions, type IContextFetchingStrategy, type SessionInfo } from '@discordjs/ws';
import { toMessage } from '../../src/contract/errors.ts';
import type { Log } from '../../src/contract/log.ts';
import { backoffMs, sleep, type Backoff } from '../../src/lib/retry.ts';
import type { IdentifyBudget } from './budget.ts';

/** Which events are wanted: https://discord.com/developers/docs/events/gateway#gateway-intents. */
const intentBits = { guilds: 1 << 0, guildMessages: 1 << 9, guildMessageReactions: 1 << 10, directMessages: 1 << 12, directMessageReactions: 1 << 13, messageContent: 1 << 15 };
const intents = Object.values(intentBits).reduce((all, bit) => all | bit, 0);

export const refusedToken = 'Discord refused the bot token. In the developer portal open the application, Bot, Reset Token, copy it to DISCORD_BOT_TOKEN and restart.';

/** Close codes after which Discord does not want us back: https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway. */
const finalCodes = new Map<number, string>([
  [4004, refusedToken],
  [4010, 'Discord does not accept the connection of this bot (4010, invalid shard). Update this program and restart.'],
  [4011, 'The bot is in too many servers for one connection (4011, sharding required). Remove it from some servers and restart.'],
  [4012, 'Discord no longer speaks this version of its gateway (4012). Update this program and restart.'],
  [4013, 'Discord does not know an intent that was asked for (4013). Update this program and restart.'],
  [4014, 'Discord does not allow the intents (4014). In the developer portal open the application, Bot, Privileged Gateway Intents, switch on Message Content Intent, save and restart.'],
]);

export interface GatewayOptions {
  token: string;
  url: string;
  budget: IdentifyBudget;
  backoff: Backoff;
  log: Log;
  /** Every event in order, READY and RESUMED among them. Must not throw. */
  onEvent(type: string, data: unknown): void;
  /** The connection was lost and is sought again. */
  onLost(reason: string): void;
  /** Discord does not want us back; nothing is tried any more. */
  onRefused(reason: string): void;
}

export interface GatewayConnection {
  /** Resolves at the first READY, or after onRefused; rejects when the first attempt fails or close() comes first. */
  opened: Promise<void>;
  /** Closes the socket for good. Must not be awaited from within onEvent. */
  close(): Promise<void>;
}

/** A connection that lived so long has earned a fresh start of the pauses. */
const steadyMs = 60_000;
const closeMs = 2000;

export function openGateway({ token, url, budget, backoff, log, onEvent, onLost, onRefused }: GatewayOptions): GatewayConnection {
  const ending = new AbortController();
  const { signal } = ending;
  let session: SessionInfo | null = null;
  let failures = 0;
  let upSince = -Infinity;
  let lastError = '';

  const strategy: IContextFetchingStrategy = {
    options: toShardOptions(token, url),
    // The SDK asks for its session while it is idle just before it connects, and only then: the one place where a pause fits.
    async retrieveSessionInfo() {
      if (shard.status === WebSocketShardStatus.Idle) await beforeConnecting();
      return session;
    },
    updateSessionInfo(_shard, info) {
      session = info;
    },
    async waitForIdentify(_shard, closed) {
      // Were it rejected without an abort, the SDK would identify all the same.
      await budget.spend().catch((thrown: unknown) => log.warn('an IDENTIFY was not counted', { error: toMessage(thrown) }));
      closed.throwIfAborted();
    },
  };

  async function beforeConnecting(): Promise<void> {
    try {
      if (failures > 1) await sleep(backoffMs(failures - 1, backoff), signal);
      if (session === null) await budget.wait(signal, (until) => onLost(toBudgetReason(until)));
    } catch (thrown) {
      if (!signal.aborted) log.warn('the IDENTIFY budget was not read', { error: toMessage(thrown) });
    }
    // The SDK goes on to reconnect even after destroy(); here it waits for ever.
    if (signal.aborted) await new Promise<never>(() => undefined);
  }

  const shard = new WebSocketShard(strategy, 0);
  const opened = new Promise<void>((resolve, reject) => {
    let isOpen = false;
    signal.addEventListener('abort', () => reject(new Error('the adapter was stopped')), { once: true });
    shard.on(WebSocketShardEvents.Dispatch, ({ data }) => {
      if (signal.aborted) return;
      if (data.t === 'READY' || data.t === 'RESUMED') {
        upSince = performance.now();
        isOpen = true;
        resolve();
      }
      onEvent(data.t, data.d);
    });
    shard.on(WebSocketShardEvents.Error, ({ error }) => void (lastError = toMessage(error)));
    shard.on(WebSocketShardEvents.Closed, ({ code }) => {
      if (signal.aborted) return;
      const refusal = finalCodes.get(code);
      if (refusal !== undefined) {
        resolve();
        return onRefused(refusal);
      }
      failures = performance.now() - upSince > steadyMs && upSince > 0 ? 1 : failures + 1;
      upSince = -Infinity;
      const reason = `the connection was closed (${code}${lastError === '' ? '' : `, ${lastError}`})`;
      lastError = '';
      log.debug(reason, { failures });
      if (!isOpen) return reject(new Error(reason));
      // Discord asks for a new connection every few hours (the SDK answers with 4200); that alone is no trouble.
      if (code !== 4200 || failures > 1) onLost(`${reason}; it is opened again`);
    });
  });
  // Its outcome is told by the events above.
  shard.connect().catch((thrown: unknown) => log.debug('connecting failed', { error: toMessage(thrown) }));

  async function close(): Promise<void> {
    if (signal.aborted) return;
    ending.abort();
    const socket = toSocket(shard);
    // The SDK drops a socket that is still connecting without closing it, and its error would end the process.
    socket?.on('error', () => undefined);
    if (socket?.readyState === 0) socket.terminate();
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        socket?.terminate();
        resolve();
      }, closeMs);
    });
    await Promise.race([shard.destroy({ reason: 'the program stops' }), patience]).catch((thrown: unknown) => log.debug('closing failed', { error: toMessage(thrown) }));
    clearTimeout(timer);
  }

  return { opened, close };
}

function toShardOptions(token: string, url: string): FetchingStrategyOptions {
  const { identifyProperties, version, encoding, compression, initialPresence, largeThreshold } = DefaultWebSocketManagerOptions;
  return {
    token,
    intents,
    identifyProperties,
    version,
    encoding,
    compression,
    initialPresence,
    largeThreshold,
    handshakeTimeout: 15_000,
    helloTimeout: 15_000,
    readyTimeout: 15_000,
    shardCount: 1,
    gatewayInformation: { url, shards: 1, session_start_limit: { total: 1, remaining: 1, reset_after: 0, max_concurrency: 1 } },
  };
}

interface Socket {
  readyState: number;
  terminate(): void;
  on(event: 'error', listener: () => void): void;
}

/** The shard's own socket, which it keeps to itself; undefined when it has none or hides it better. */
function toSocket(shard: WebSocketShard): Socket | undefined {
  const { connection } = shard as unknown as { connection?: Partial<Socket> | null };
  return connection && typeof connection.terminate === 'function' && typeof connection.on === 'function' ? (connection as Socket) : undefined;
}

export function toBudgetReason(until: number): string {
  return `Discord was connected to too often; the next time is ${new Date(until).toISOString()}. Find out why the program restarts so often.`;
}
