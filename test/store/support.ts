/** A store in a home of its own, and messages and parts to put in it. */
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Address, InboundMessage } from '../../src/contract/message.ts';
import type { NewPart, PartPayload } from '../../src/store/outbox.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { tempHome } from '../support/temp-home.ts';

export interface TestStore extends Store {
  path: string;
  /** Closes it and opens it again, as a process that starts does. */
  reopen(process?: string): TestStore;
}

export function openTestStore({ path = join(tempHome(), 'state.db'), process = 'daemon', beforeCommit = () => {} } = {}): TestStore {
  const store = openStore({ path, process, beforeCommit, alongMs: 0 });
  onTestFinished(() => store.close());
  return {
    ...store,
    path,
    reopen(next = process) {
      void store.close();
      return openTestStore({ path, process: next, beforeCommit });
    },
  };
}

let count = 0;

export const chat = (id = 'c1'): Address => ({ platform: 'test', account: 'bot', chat: id });

/** A message that somebody wrote; each has a key of its own unless one is given. */
export function said(text: string, given: Partial<InboundMessage> = {}): InboundMessage {
  count += 1;
  return {
    key: `event:${count}`,
    kind: 'message',
    address: chat(),
    chatType: 'dm',
    sender: { id: 'u1', name: 'Ann', isBot: false },
    text,
    addressed: true,
    messageId: `m${count}`,
    attachments: [],
    at: Date.now(),
    ...given,
  };
}

/** One part of the reply to turn `turnId`. */
export function part(text: string, { turnId = 't1', number = 0, to = chat(), sessionId = null as string | null, ...payload }: { turnId?: string; number?: number; to?: Address; sessionId?: string | null } & Partial<PartPayload> = {}): NewPart {
  return { origin: { kind: 'turn', id: turnId, sessionId, turnId }, part: number, payload: { address: to, text, format: 'markdown', ...payload } };
}

/** Admits texts to a lane in order; gives their row ids. */
export async function admitAll(store: Store, lane: string, texts: string[], given: Partial<InboundMessage> = {}): Promise<number[]> {
  const ids: number[] = [];
  for (const text of texts) ids.push((await store.inbox.admit({ lane, message: said(text, given), now: 1 })).id);
  return ids;
}

/** Texts of the rows that a claim gives, [] for none. */
export async function claimTexts(store: Store, lane: string, { now = 10, collect = false } = {}): Promise<string[]> {
  const { rows } = await store.inbox.claimNext(lane, now, collect);
  return rows?.map(({ message }) => message.text) ?? [];
}
