/**
 * Messages that are no answer: what plugins and commands send, and what the operator has to hear (a reply that did not arrive, a
 * message that was quarantined). They go through the outbox like every reply.
 */
import { randomUUID } from 'node:crypto';
import { HermesError, toMessage } from '../contract/errors.ts';
import type { Adapter } from '../contract/adapter.ts';
import type { Log } from '../contract/log.ts';
import type { Address } from '../contract/message.ts';
import type { InboxRow } from '../store/inbox.ts';
import { formatAddress, type NewPart, type Origin, type PartRow } from '../store/outbox.ts';
import type { Store } from '../store/store.ts';
import { closeTurn } from './close-turn.ts';

export interface Notices {
  /** Resolves after the commit. Rejects with ADDRESS_INVALID or ADAPTER_OFF. */
  send(to: Address | string, text: string, from: { kind: 'plugin' | 'command'; name: string }): Promise<void>;
  /** `isGone`: the chat itself is out of reach; only the operator can be told. */
  undelivered(part: PartRow, state: 'dead' | 'unknown', error: string, isGone: boolean): Promise<void>;
  /** Ends a row in which the process died while it ran alone, together with what its chat and the operator are told. */
  poison(row: InboxRow): Promise<void>;
  setHome(address: Address): Promise<void>;
  /** Where plugins may answer. */
  addresses: { ofSession(sessionId: string): Address | null; ofUser(platform: string | null, userId: string): Promise<Address | null> };
}

export interface NoticesDeps {
  store: Store;
  /** `PLATFORM:CHAT`, or null for the first home chat. */
  operator: string | null;
  homeChats: string[];
  adapterOf(platform: string): Adapter | undefined;
  kick(platform: string, chat: string): void;
  log: Log;
  now(): number;
}

const homeKey = 'home';

export function createNotices({ store, operator, homeChats, adapterOf, kick, log, now }: NoticesDeps): Notices {
  const state = store.state('gateway');

  /** Null where nothing can be sent. */
  const toParts = (address: Address, text: string, origin: Origin): NewPart[] | null => {
    const texts = adapterOf(address.platform)?.split?.(text);
    return texts ? texts.map((each, part): NewPart => ({ origin, part, payload: { address, text: each, format: 'markdown' } })) : null;
  };

  const kickAll = (parts: NewPart[]) => {
    for (const { payload } of parts) kick(payload.address.platform, payload.address.chat);
  };

  const put = async (address: Address, text: string, origin: Origin) => {
    const parts = toParts(address, text, origin);
    if (!parts) throw new HermesError('ADAPTER_OFF', `${address.platform} is not configured or cannot be sent to.`);
    await store.outbox.add(parts, now());
    kickAll(parts);
  };

  /** Said in the chat once, so that nobody takes what did arrive for all of it. */
  const toGap = ({ id, part, payload: { address } }: PartRow, error: string): NewPart[] =>
    toParts(address, `(Part ${part + 1} of this answer could not be sent: ${error}.)`, { kind: 'notice', id: `gap:${id}`, sessionId: null, turnId: null }) ?? [];

  /** What the operator is told, unless it is about the operator's own chat: one that cannot be reached is not told so. */
  const toOperator = async (text: string, id: string, about: Address): Promise<NewPart[]> => {
    const target = operator ?? (await state.get(homeKey)) ?? homeChats[0];
    const address = target ? parseAddress(target) : null;
    if (address?.platform === about.platform && address.chat === about.chat) return [];
    const parts = address && toParts(address, text, { kind: 'notice', id, sessionId: null, turnId: null });
    if (!parts) log.error(`nobody to tell: set operator in config.yaml to a chat that can be sent to. ${text}`);
    return parts ?? [];
  };

  return {
    send: (to, text, { kind, name }) => put(typeof to === 'string' ? parseAddress(to) : to, text, { kind, id: `${name}:${randomUUID()}`, sessionId: null, turnId: null }),

    async undelivered(part, partState, error, isGone) {
      const where = formatAddress(part.payload.address);
      log.error(partState === 'dead' ? 'a reply was not delivered' : 'nobody knows whether a reply was delivered', { part: part.id, to: where, error });
      if (part.origin === 'notice') return;
      const what = partState === 'dead' ? 'could not be delivered' : 'may not have been delivered';
      try {
        const parts = await toOperator(`A reply to ${where} ${what}: ${error}. \`hermes outbox list\` shows it as ${part.id}.`, `part:${part.id}`, part.payload.address);
        await store.outbox.add([...parts, ...(partState === 'dead' && !isGone ? toGap(part, error) : [])], now());
        kickAll(parts);
        kick(part.payload.address.platform, part.payload.address.chat);
      } catch (thrown) {
        log.error('a notice was not kept', { error: toMessage(thrown) });
      }
    },

    async poison(row) {
      const { address } = row.message;
      const text = `The program died ${row.deaths} times while it worked on this message, so it is not tried again (reference m${row.id}).`;
      log.error('a message is quarantined: the process died whenever it ran', { inbox: row.id, deaths: row.deaths });
      const parts = [
        ...(toParts(address, text, { kind: 'notice', id: `poison:${row.id}`, sessionId: null, turnId: row.turnId }) ?? []),
        ...(await toOperator(`Message m${row.id} from ${formatAddress(address)} is quarantined: the process died ${row.deaths} times while it ran.`, `quarantine:${row.id}`, address)),
      ];
      await closeTurn(store, [row.id], { state: 'quarantined', code: 'TURN_QUARANTINED', text, parts, now: now() });
      kickAll(parts);
    },

    setHome: (address) => state.set(homeKey, formatAddress(address)),
    addresses: {
      ofSession: (sessionId) => store.sessions.addressOf(sessionId),
      ofUser: async () => null,
    },
  };
}

/** `PLATFORM:CHAT` or `PLATFORM:CHAT:THREAD`. Throws ADDRESS_INVALID. */
export function parseAddress(text: string): Address {
  const [platform, chat, ...thread] = text.split(':');
  if (!platform || !chat) throw new HermesError('ADDRESS_INVALID', `"${text}" is no address; write PLATFORM:CHAT or PLATFORM:CHAT:THREAD, e.g. telegram:123456789.`);
  return { platform, account: '', chat, ...(thread.length > 0 ? { thread: thread.join(':') } : {}) };
}
