/** What an attempt leaves behind, by one table: pure, so every line of it can be read here. */
import { describe, expect, test } from 'vitest';
import { toSettlement } from '../../src/gateway/delivery.ts';
import type { PartRow } from '../../src/store/outbox.ts';
import { part } from '../store/support.ts';

const now = 10_000_000;
const minute = 60_000;
const hour = 60 * minute;
const { payload } = part('hello');

const row = (given: Partial<PartRow> = {}): PartRow => ({
  id: 1, origin: 'turn', originId: 't1', part: 0, sessionId: null, turnId: 't1', payload, state: 'attempting', maybeSent: 'no', attempts: 1, firstTryAt: now, nextTryAt: 0, messageId: null, error: null, createdAt: now, ...given,
});
const env = (given = {}) => ({ now, random: () => 0.5, isIdempotent: false, limitedUntil: now + 1350, ...given });
const transient = { status: 'transient', error: 'HTTP 500' } as const;
const unknown = { status: 'unknown', error: 'no answer' } as const;

describe('transient', () => {
  test.each([[1, 1000], [2, 2000], [3, 4000], [4, 8000], [5, 16_000], [6, 5 * minute], [7, 5 * minute]])('try %i waits %i ms', (attempts, ms) => {
    expect(toSettlement(row({ attempts }), transient, env())).toEqual({ state: 'waiting', nextTryAt: now + ms, error: 'HTTP 500' });
  });

  test('the wait varies by a fifth', () => {
    const waits = [0, 1].map((random) => (toSettlement(row(), transient, env({ random: () => random })) as { nextTryAt: number }).nextTryAt - now);
    expect(waits).toEqual([800, 1200]);
  });

  test('it is given up after enough tries and an hour, not by either alone', () => {
    const state = (attempts: number, age: number) => toSettlement(row({ attempts, firstTryAt: now - age }), transient, env()).state;
    expect(state(500, hour - 1)).toBe('waiting');
    expect(state(5, 10 * hour)).toBe('waiting');
    expect(state(6, hour)).toBe('dead');
  });
});

describe('limited', () => {
  test('it waits for what the platform said, whatever the number of tries, and says whose limit it was', () => {
    for (const scope of ['chat', 'bot'] as const)
      expect(toSettlement(row({ attempts: 40 }), { status: 'rate_limited', retryAfterMs: 1000, scope }, env())).toEqual({ state: 'waiting', nextTryAt: now + 1350, error: 'rate limited', limited: scope });
  });

  test('after six hours it is given up', () => {
    const state = (age: number) => toSettlement(row({ firstTryAt: now - age }), { status: 'rate_limited', retryAfterMs: 1000, scope: 'chat' }, env()).state;
    expect(state(6 * hour - 1)).toBe('waiting');
    expect(state(6 * hour)).toBe('dead');
  });
});

describe('unknown', () => {
  test('a new message is sent again a second later and marked; a second time nobody knows', () => {
    expect(toSettlement(row(), unknown, env())).toEqual({ state: 'waiting', nextTryAt: now + 1000, error: 'no answer', isLost: true });
    expect(toSettlement(row({ maybeSent: 'lost' }), unknown, env())).toEqual({ state: 'unknown', error: 'no answer' });
  });

  test('an edit, or a platform that drops repeats, is tried again like any fault', () => {
    for (const settlement of [toSettlement(row({ messageId: 'm1' }), unknown, env()), toSettlement(row(), unknown, env({ isIdempotent: true }))])
      expect(settlement).toEqual({ state: 'waiting', nextTryAt: now + 1000, error: 'no answer' });
  });
});

test('permanent: never again; an edit that is refused makes room for a message of its own', () => {
  const refused = { status: 'permanent', error: 'not allowed' } as const;
  expect(toSettlement(row({ messageId: 'm1' }), refused, env())).toMatchObject({ state: 'waiting', nextTryAt: now, forgetMessage: true });
  expect(toSettlement(row({ messageId: 'm1' }), { ...refused, targetGone: true }, env())).toMatchObject({ state: 'dead' });
  expect(toSettlement(row(), refused, env())).toEqual({ state: 'dead', error: 'not allowed' });
  expect(toSettlement(row(), { status: 'permanent', error: 'chat not found', targetGone: true }, env())).toEqual({ state: 'dead', error: 'chat not found' });
});

test('a message to edit that is gone is forgotten, so that the text goes out as a new one', () => {
  expect(toSettlement(row({ messageId: 'm1' }), { status: 'edit_gone', error: 'not found' }, env())).toEqual({ state: 'waiting', nextTryAt: now, error: 'not found', forgetMessage: true });
});

test('moved: at once, to the new chat', () => {
  expect(toSettlement(row(), { status: 'moved', chat: '-100' }, env())).toMatchObject({ state: 'waiting', nextTryAt: now });
});

test.each(['no', 'died', 'lost'] as const)('sent: done, whatever was known of the try before (%s)', (maybeSent) => {
  const sent = { status: 'sent', messageId: 'm1' } as const;
  for (const isIdempotent of [true, false]) expect(toSettlement(row({ maybeSent }), sent, env({ isIdempotent }))).toEqual({ state: 'sent', messageId: 'm1' });
});
