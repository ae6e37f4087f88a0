/**
 * Letting strangers in without knowing their ids beforehand: who writes gets a code, and tells it to the operator, who approves it.
 *
 * a stranger's direct message -> request(): kept (COMMIT) -> code sent -> approve(): let in -> isPaired() says so at once.
 * The code is sent past the outbox, because the outbox keeps its texts and the code may be kept as a hash alone; a code that is lost on
 * the way is asked for again. Nothing else happens for a stranger: no session, no inbox row, no model call, no download.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Adapter, SendOutcome } from '../contract/adapter.ts';
import { toMessage } from '../contract/errors.ts';
import type { Log } from '../contract/log.ts';
import type { InboundMessage, OutboundPart } from '../contract/message.ts';
import { codeMs, type Approval, type HashedCode, type PairingStore } from '../store/pairing.ts';
import type { Gates } from './gates.ts';

export interface PairingDeps {
  store: PairingStore;
  adapterOf(platform: string): Adapter | undefined;
  gates: Gates;
  log: Log;
  now(): number;
  /** Unpredictable bytes; default the system's generator. */
  random?: (bytes: number) => Uint8Array;
}

export interface PairingList {
  pending: { platform: string; user: string; name: string; expires: string }[];
  paired: { platform: string; user: string; name: string; since: string }[];
  /** Where too many wrong codes were given, and until when nothing is approved there. */
  locked: { platform: string; until: string }[];
}

export interface Pairing {
  /** In memory, so that the access rules can ask it about every message. */
  isPaired(platform: string, user: string): boolean;
  /** A stranger's direct message. Resolves once the request is kept; the code goes out afterwards. Never rejects. */
  request(message: InboundMessage): Promise<void>;
  /** Rejects with STORE_UNAVAILABLE, and nobody is let in then. */
  approve(platform: string, code: string): Promise<Approval>;
  /** Resolves with whether this person was paired. That person is out at once, even when the commit fails. */
  revoke(platform: string, user: string): Promise<boolean>;
  list(): PairingList;
}

/** 32 symbols, without those that are easily taken for one another. */
const alphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const codeLength = 8;
const sendMs = 15_000;

export function createPairing({ store, adapterOf, gates, log, now, random = randomBytes }: PairingDeps): Pairing {
  const toKey = (platform: string, user: string) => `${platform}\n${user}`;
  const paired = new Set(store.paired().map(({ platform, user }) => toKey(platform, user)));

  const tell = async (adapter: Adapter, { address, sender }: InboundMessage, code: string, { salt, hash }: HashedCode) => {
    const person = { platform: address.platform, user: sender.id };
    const outcome = await attempt(adapter, { address, text: toText(address.platform, code), format: 'markdown', idempotencyKey: `pair-${salt.slice(0, 20)}` });
    if (outcome.status === 'sent') return log.info('a stranger was given a pairing code', person);
    log.warn('a pairing code was not delivered', { ...person, status: outcome.status, ...('error' in outcome ? { error: outcome.error.replaceAll(code, '[code]') } : {}) });
    if (outcome.status === 'rate_limited') gates.limit(address, outcome.scope, outcome.retryAfterMs);
    if (outcome.status === 'permanent' && outcome.targetGone) gates.noteGone(address);
    // The code certainly reached nobody: the next message may ask again.
    if (outcome.status === 'rate_limited' || outcome.status === 'transient') await store.withdraw(address.platform, sender.id, hash);
  };

  return {
    isPaired: (platform, user) => paired.has(toKey(platform, user)),

    async request(message) {
      const { kind, address, sender } = message;
      const adapter = adapterOf(address.platform);
      if (kind !== 'message' || !adapter?.send || gates.isShut(address) || !store.mayAsk(address.platform, sender.id, now())) return;
      const code = Array.from(random(codeLength), (byte) => alphabet[byte % alphabet.length]).join('');
      const salt = Buffer.from(random(16)).toString('hex');
      const hashed = { salt, hash: toHash(salt, code) };
      try {
        // The same message delivered again finds the row of the first delivery.
        if (!(await store.ask({ platform: address.platform, user: sender.id, name: sender.name }, hashed, now()))) return;
      } catch (thrown) {
        return log.warn('a pairing request was not kept', { platform: address.platform, user: sender.id, error: toMessage(thrown) });
      }
      void tell(adapter, message, code, hashed).catch((thrown: unknown) => log.warn('a pairing request was not taken back', { platform: address.platform, user: sender.id, error: toMessage(thrown) }));
    },

    async approve(platform, code) {
      const given = code.trim().toUpperCase();
      const approval = await store.approve(platform, ({ salt, hash }) => isEqual(toHash(salt, given), hash), now());
      if (approval.status === 'approved') {
        paired.add(toKey(platform, approval.user));
        log.info('a person was paired', { platform, user: approval.user });
      } else log.warn('a pairing code was refused', { platform, why: approval.status });
      return approval;
    },

    revoke(platform, user) {
      paired.delete(toKey(platform, user));
      return store.revoke(platform, user);
    },

    list() {
      const iso = (at: number) => new Date(at).toISOString();
      return {
        pending: store.pending(now()).map(({ askedAt, ...person }) => ({ ...person, expires: iso(askedAt + codeMs) })),
        paired: store.paired().map(({ pairedAt, ...person }) => ({ ...person, since: iso(pairedAt) })),
        locked: store.locks(now()).map(({ platform, until }) => ({ platform, until: iso(until) })),
      };
    },
  };
}

async function attempt(adapter: Adapter, part: OutboundPart): Promise<SendOutcome> {
  try {
    return (await adapter.send?.(part, AbortSignal.timeout(sendMs))) ?? { status: 'permanent', error: 'the platform sends nothing' };
  } catch (thrown) {
    return { status: 'unknown', error: toMessage(thrown) };
  }
}

function toText(platform: string, code: string): string {
  return `I do not know you yet. To be let in, ask the person who runs this bot to enter, within ${codeMs / 60_000} minutes:\n\n\`hermes pairing approve ${platform} ${code}\``;
}

function toHash(salt: string, code: string): string {
  return createHash('sha256').update(`${salt}:${code}`).digest('hex');
}

function isEqual(given: string, expected: string): boolean {
  return timingSafeEqual(Buffer.from(given, 'hex'), Buffer.from(expected, 'hex'));
}
