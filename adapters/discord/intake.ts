/**
 * Events on their way to receive(). A channel's events go in order, channels side by side; after each commit the message's id is kept. After
 * a fresh READY the channels that may have missed something are caught up with first, by the same path and under the same keys.
 *
 * event -> (its channel is looked up) -> toInboundMessage() -> (a thread is opened) -> receive(), until it is committed -> seen
 */
import type { AdapterContext, Receipt, Receive } from '../../src/contract/adapter.ts';
import { toMessage } from '../../src/contract/errors.ts';
import type { InboundMessage } from '../../src/contract/message.ts';
import { backoffMs, sleep, type Backoff } from '../../src/lib/retry.ts';
import { toReason, type DiscordApi } from './api.ts';
import { inThread, openThread, wantsThread } from './auto-thread.ts';
import { fetchMissed, mostChannels } from './catch-up.ts';
import { createDirectory, holdsMessages, type Directory } from './directory.ts';
import { toChannel, toChannelId, toGuild, toInteraction, toMember, toMessageEvent, toReady, type DiscordChannel, type DiscordMessage } from './event.ts';
import { toInboundMessage, type GatewayEvent, type Surroundings } from './inbound.ts';
import { createInOrder } from './in-order.ts';
import type { Interactions } from './interactions.ts';
import type { Seen } from './seen.ts';
import { compareIds } from './snowflake.ts';

export interface IntakeOptions {
  api: DiscordApi;
  context: Pick<AdapterContext, 'log' | 'isAllowed'>;
  seen: Seen;
  interactions: Interactions;
  receive: Receive;
  settings: { autoThread: boolean; /** Rules ask for roles, which a channel's history does not tell. */ needsRoles: boolean };
  backoff: Backoff;
  signal: AbortSignal;
}

export interface Intake {
  /** Takes an event; returns at once and never throws. */
  take(event: GatewayEvent): void;
  /** Resolves when everything that was on its way has ended. The signal has to be aborted first. */
  close(): Promise<void>;
}

const inLane = new Set(['MESSAGE_CREATE', 'MESSAGE_UPDATE', 'MESSAGE_REACTION_ADD', 'MESSAGE_REACTION_REMOVE']);

export function createIntake({ api, context, seen, interactions, receive, settings, backoff, signal }: IntakeOptions): Intake {
  const { log } = context;
  const directory: Directory = createDirectory();
  const lanes = createInOrder();
  const gestures = new Set<Promise<void>>();
  let around: Surroundings = { me: '', directory };
  /** Servers of the last READY that have not told their channels yet. */
  const awaited = new Set<string>();
  let channelsLeft = 0;
  /** The newest message that a former connection saw, wherever; what is newer may have been missed. */
  let newestSeen: string | undefined;
  let asking: Promise<unknown> = Promise.resolve();

  function take(event: GatewayEvent): void {
    directory.take(event.type, event.data);
    if (event.type === 'READY') return takeReady(event.data);
    if (event.type === 'GUILD_CREATE') return takeGuild(event.data);
    if (event.type === 'INTERACTION_CREATE') return takeInteraction(event);
    const channel = inLane.has(event.type) ? toChannelId(event.data)?.channel_id : undefined;
    if (channel !== undefined) lanes.add(channel, () => handle(channel, event));
  }

  function takeReady(data: unknown): void {
    const ready = toReady(data);
    if (!ready) return;
    around = { me: ready.user.id, directory };
    awaited.clear();
    for (const { id } of ready.guilds) awaited.add(id);
    channelsLeft = mostChannels;
    newestSeen = seen.list()[0]?.id;
    for (const { channel, kind, guild } of seen.list()) if (kind === 'dm' || (kind === 'talk' && guild !== undefined)) queueCatchUp(channel);
  }

  /** Its events come before any of its messages, so what is queued here goes ahead of them. */
  function takeGuild(data: unknown): void {
    const guild = toGuild(data);
    if (!guild) return;
    const isAfterReady = awaited.delete(guild.id);
    const channels = [...guild.channels, ...guild.threads].filter(({ type }) => holdsMessages(type));
    for (const { id, last_message_id: last } of channels.sort(byNewest)) {
      const known = seen.get(id);
      if (known) {
        const isNewer = last !== undefined && last !== null && compareIds(last, known.id) > 0;
        if (isAfterReady && isNewer && known.kind === 'quiet') queueCatchUp(id);
      } else if (isAfterReady && newestSeen !== undefined && isNewerThan(newestSeen, last ?? id)) {
        // Opened, or first written in, while nobody was connected; a forum's post begins with a message of its own id.
        void seen.keep(id, newestSeen, 'quiet', guild.id).catch(notWritten);
        queueCatchUp(id);
      } else if (last !== undefined) void seen.keep(id, last ?? '0', 'quiet', guild.id).catch(notWritten);
    }
  }

  function queueCatchUp(channel: string): void {
    channelsLeft -= 1;
    if (channelsLeft < 0) return log.info('more channels than can be asked for missed messages; this one is passed over', { channel });
    lanes.add(channel, () => catchUp(channel));
  }

  async function catchUp(channel: string): Promise<void> {
    const after = seen.get(channel)?.id;
    if (after === undefined || signal.aborted) return;
    // One channel after another, as Discord's limits want it.
    const mine = asking.then(() => fetchMissed(channel, after, { api, log, now: Date.now(), signal }));
    asking = mine;
    const missed = await mine;
    if (missed.length > 0) log.info('catching up with a channel', { channel, messages: missed.length });
    for (const json of missed) await handle(channel, { type: 'MESSAGE_CREATE', data: await asLive(channel, json) });
  }

  /** A channel's history tells neither the server nor the sender's place in it. */
  async function asLive(channel: string, json: unknown): Promise<unknown> {
    const guild = directory.place(channel)?.guild ?? seen.get(channel)?.guild;
    if (guild === undefined) return json;
    const author = toMessageEvent(json)?.author;
    const isPerson = author !== undefined && author.bot !== true;
    const member = settings.needsRoles && isPerson ? toMember(await api.call('GET', `/guilds/${guild}/members/${author.id}`, { signal }).catch(() => null)) : null;
    return { ...(json as object), guild_id: guild, ...(member ? { member } : {}) };
  }

  async function handle(channel: string, event: GatewayEvent): Promise<void> {
    if (signal.aborted) return;
    try {
      await learn(channel, event.data);
      const inbound = toInboundMessage(event, around, Date.now());
      const message = event.type === 'MESSAGE_CREATE' ? toMessageEvent(event.data) : null;
      const placed = inbound && message ? await place(inbound, message) : inbound;
      const receipt = placed ? await keep(placed) : null;
      // Undefined: we are told to stop, and the message is not kept. The next start fetches it.
      if (message && receipt !== undefined) await note(message, placed, receipt);
    } catch (thrown) {
      log.error('an event failed', { type: event.type, channel, error: toMessage(thrown) });
    }
  }

  /** Threads that were archived when we connected, and new ones that we were not told of. */
  async function learn(channel: string, data: unknown): Promise<void> {
    const guild = (data as { guild_id?: unknown }).guild_id;
    if (typeof guild !== 'string' || directory.place(channel)) return;
    const found = await api.call('GET', `/channels/${channel}`, { signal }).catch((error: unknown) => log.debug('a channel is not known', { channel, reason: toReason(error) }));
    directory.add(toChannel(found) ?? unknownChannel(channel), guild);
  }

  async function place(inbound: InboundMessage, message: DiscordMessage): Promise<InboundMessage> {
    if (!settings.autoThread || !wantsThread(inbound, message, around) || !context.isAllowed(inbound)) return inbound;
    try {
      return inThread(inbound, await openThread(api, directory, inbound, message, signal));
    } catch (error) {
      log.info('no thread could be opened; the answer goes to the channel', { channel: message.channel_id, reason: toReason(error) });
      return inbound;
    }
  }

  /** Resolves with the receipt, however long it takes to get one; undefined when we are told to stop. */
  async function keep(inbound: InboundMessage): Promise<Receipt | undefined> {
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      try {
        return await receive(inbound);
      } catch (thrown) {
        const againInMs = backoffMs(attempt, backoff);
        log.warn('a message could not be kept; it is tried again', { reason: toMessage(thrown), againInMs });
        await sleep(againInMs, signal).catch(() => undefined);
      }
    }
    return undefined;
  }

  async function note({ id, channel_id: channel }: DiscordMessage, inbound: InboundMessage | null, receipt: Receipt | null): Promise<void> {
    if (!inbound || !receipt || receipt.status === 'refused') return seen.pass(channel, id);
    const { thread } = inbound.address;
    const guild = directory.place(channel)?.guild;
    await seen.keep(channel, id, inbound.chatType === 'dm' ? 'dm' : 'talk', guild).catch(notWritten);
    // A thread that was opened for it is known from the first message on.
    if (thread !== undefined && thread !== channel) await seen.keep(thread, id, 'talk', guild).catch(notWritten);
  }

  const notWritten = (thrown: unknown): void => log.debug('a message id was not written', { error: toMessage(thrown) });

  function takeInteraction(event: GatewayEvent): void {
    const interaction = toInteraction(event.data);
    const inbound = toInboundMessage(event, around, Date.now());
    if (!interaction || !inbound) return;
    // Not in the channel's lane: it has to be answered at once.
    const gesture: Promise<void> = interactions.answer(interaction, () => keep(inbound)).finally(() => gestures.delete(gesture));
    gestures.add(gesture);
  }

  return {
    take,
    async close() {
      await Promise.all([lanes.idle(), ...gestures]);
      await seen.flush().catch(notWritten);
    },
  };
}

const unknownChannel = (id: string): DiscordChannel => ({ id, type: 0, guild_id: undefined, parent_id: undefined, owner_id: undefined, name: undefined, last_message_id: undefined });

const isNewerThan = (than: string, id: string): boolean => compareIds(id, than) > 0;

function byNewest(a: DiscordChannel, b: DiscordChannel): number {
  return compareIds(b.last_message_id ?? '0', a.last_message_id ?? '0');
}
