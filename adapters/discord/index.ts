/**
 * Discord. event (gateway.ts) -> intake.ts -> toInboundMessage() -> receive() -> committed -> the message's id is kept; and the other way an
 * OutboundPart -> outbound.ts -> REST API -> SendOutcome. This file opens and closes it all.
 */
import { randomBytes } from 'node:crypto';
import type { Adapter, AdapterContext, AdapterStatus, Receive } from '../../src/contract/adapter.ts';
import { HermesError, toMessage } from '../../src/contract/errors.ts';
import type { Address } from '../../src/contract/message.ts';
import { sleep, type Backoff } from '../../src/lib/retry.ts';
import { createDiscordApi, toReason, toSendOutcome, toStatus } from './api.ts';
import { createIdentifyBudget, toPauseMs, type BudgetLimits } from './budget.ts';
import type { DiscordConfig } from './config.ts';
import { toGatewayInfo, toReady } from './event.ts';
import { openGateway, refusedToken, toBudgetReason, type GatewayConnection } from './gateway.ts';
import { createIntake, type Intake } from './intake.ts';
import { createInteractions, type Interactions } from './interactions.ts';
import { publishMenu } from './menu.ts';
import { createOutbound, splitText, toTarget } from './outbound.ts';
import { createSeen } from './seen.ts';

/** What this adapter reads of its configuration; the rest is the gateway's. */
export type DiscordSettings = Pick<DiscordConfig, 'token' | 'api_root' | 'auto_thread' | 'allowed_roles'>;

export interface DiscordTiming {
  /** Between attempts to connect, and to hand over what could not be kept. */
  backoff: Backoff;
  identify: BudgetLimits;
}

const usual: DiscordTiming = {
  backoff: { baseMs: 1000, capMs: 60_000, jitter: 0.25 },
  identify: { spacingMs: 5000, perFiveMinutes: 5, perDay: 50 },
};

interface Run {
  abort: AbortController;
  interactions: Interactions;
  connection?: GatewayConnection;
  intake?: Intake;
  /** Lets go of the token. */
  release(): void;
  /** The menu on its way; never rejects. */
  menu: Promise<void>;
  closing?: Promise<void>;
}

export function createDiscordAdapter(config: DiscordSettings, context: AdapterContext, timing: DiscordTiming = usual): Adapter {
  const { log, report, state } = context;
  const api = createDiscordApi({ token: config.token, apiRoot: config.api_root });
  const outbound = createOutbound(api, onceKept(state));
  const budget = createIdentifyBudget({ state, limits: timing.identify, now: Date.now });
  let current: Run | undefined;

  async function start(receive: Receive): Promise<void> {
    await stop();
    if (config.token === '') return report({ state: 'off', reason: 'No bot token. Make one in the developer portal (Bot, Reset Token) and set DISCORD_BOT_TOKEN.' });
    const run: Run = { abort: new AbortController(), interactions: createInteractions({ api, log }), release: () => undefined, menu: Promise.resolve() };
    current = run;
    report({ state: 'starting' });
    try {
      await open(run, receive);
    } catch (error) {
      await close(run);
      if (toStatus(error) === 401) return report({ state: 'off', reason: refusedToken });
      throw new HermesError('ADAPTER_OFF', `Discord cannot be used yet: ${toReason(error)}. It is tried again by itself.`);
    }
  }

  async function open(run: Run, receive: Receive): Promise<void> {
    const { signal } = run.abort;
    const { backoff } = timing;
    const degraded = (reason: string): void => report({ state: 'degraded', reason });
    run.release = context.claimToken(`${config.api_root} ${config.token}`);
    const info = toGatewayInfo(await api.call('GET', '/gateway/bot', { signal }));
    if (!info) throw new Error('the answer of /gateway/bot is not from Discord');
    const pauseMs = toPauseMs(info.session_start_limit);
    if (pauseMs > 0) {
      degraded(toBudgetReason(Date.now() + pauseMs));
      await sleep(Math.min(pauseMs, 86_400_000), signal);
    }
    const seen = createSeen(state);
    await seen.load();
    const settings = { autoThread: config.auto_thread, needsRoles: config.allowed_roles.length > 0 };
    const intake = createIntake({ api, context, seen, interactions: run.interactions, receive, settings, backoff, signal });
    run.intake = intake;
    let up: AdapterStatus = { state: 'starting' };

    run.connection = openGateway({
      token: config.token,
      url: info.url,
      budget,
      backoff,
      log,
      onEvent(type, data) {
        const ready = type === 'READY' ? toReady(data) : null;
        if (ready) {
          up = { state: 'up', account: ready.user.id, detail: `${ready.user.username ?? 'bot'} in ${ready.guilds.length} servers` };
          run.menu = run.menu.then(() => publishMenu(api, context, ready.application?.id ?? ready.user.id, signal)).catch((error: unknown) => log.warn('the slash commands were not set', { reason: toReason(error) }));
        }
        intake.take({ type, data });
        if (ready || type === 'RESUMED') report(up);
      },
      onLost: degraded,
      onRefused(reason) {
        report({ state: 'off', reason });
        void close(run);
      },
    });
    await run.connection.opened;
  }

  async function stop(): Promise<void> {
    const run = current;
    current = undefined;
    if (run) await close(run);
  }

  /** Whoever comes second waits for the first. */
  function close(run: Run): Promise<void> {
    run.closing ??= closeAll(run).catch((thrown: unknown) => log.warn('the connection was not closed cleanly', { error: toMessage(thrown) }));
    return run.closing;
  }

  async function closeAll(run: Run): Promise<void> {
    run.abort.abort();
    await run.connection?.close();
    run.release();
    await Promise.all([run.menu, run.intake?.close()]);
    await run.interactions.close();
    api.close();
  }

  /** For calls whose failure changes nothing. */
  const quietly = (call: Promise<unknown>): Promise<void> => call.then(() => undefined, (error: unknown) => log.debug('a call failed', { reason: toReason(error) }));

  return {
    platform: 'discord',
    hint: 'You are talking on Discord. Write short messages in Markdown as Discord shows it; tables are shown as fixed-width text.',
    pace: { previewDmMs: 1200, previewGroupMs: 1200 },
    isIdempotent: true,
    start,
    stop,
    split: splitText,
    async send(part, signal) {
      const outcome = await outbound.send(part, signal);
      if (outcome.status === 'sent') current?.interactions.settle(toTarget(part.address));
      return outcome;
    },
    edit: (messageId, part, signal) => outbound.edit(messageId, part, signal),
    typing: (address, signal) => api.call('POST', `/channels/${toTarget(address)}/typing`, { signal }).then(() => undefined, (error: unknown) => toSendOutcome(error)),
    download: (attachment, maxBytes, signal) => api.download(attachment.ref, maxBytes, signal),
    react: (address, messageId, emoji, signal) => quietly(react(address, messageId, emoji, signal)),
  };

  /** An empty emoji takes the bot's reactions away. */
  async function react(address: Address, messageId: string, emoji: string, signal: AbortSignal): Promise<void> {
    // The message that opened a thread lies in the channel.
    const message = `/channels/${messageId === address.thread ? address.chat : toTarget(address)}/messages/${messageId}` as const;
    if (emoji !== '') return void (await api.call('PUT', `${message}/reactions/${encodeURIComponent(emoji)}/@me`, { signal }));
    const { reactions = [] } = (await api.call('GET', message, { signal })) as { reactions?: { me?: boolean; emoji?: { id?: string | null; name?: string } }[] };
    for (const { me, emoji: set } of reactions) {
      if (me && set?.name) await api.call('DELETE', `${message}/reactions/${encodeURIComponent(set.id ? `${set.name}:${set.id}` : set.name)}/@me`, { signal });
    }
  }
}

/** A few letters of this home's own, made once and kept. */
function onceKept(state: AdapterContext['state']): () => Promise<string> {
  const load = async (): Promise<string> => {
    const known = await state.get('nonce_salt');
    const salt = known ?? randomBytes(4).toString('hex');
    if (known === undefined) await state.set('nonce_salt', salt);
    return salt;
  };
  let salt: Promise<string> | undefined;
  return () => {
    salt ??= load().catch((thrown: unknown) => {
      salt = undefined;
      throw thrown;
    });
    return salt;
  };
}
