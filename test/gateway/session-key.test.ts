/** Which session a message belongs to, whose it is, and when it is over. */
import { describe, expect, onTestFinished, test } from 'vitest';
import type { InboundMessage } from '../../src/contract/message.ts';
import { isOver, type ResetPolicy } from '../../src/gateway/open-session.ts';
import { toOwner, toSessionKey, type KeyRules } from '../../src/gateway/session-key.ts';
import type { Session } from '../../src/store/sessions.ts';
import { chat, said } from '../store/support.ts';

const usual: KeyRules = { groupPerUser: true, threadPerUser: false };
const thread = { ...chat('g1'), thread: '5' };

describe('keys', () => {
  test.each<[string, Partial<InboundMessage>, KeyRules, string, string]>([
    ['a direct chat', { address: chat('u1') }, usual, 'agent:main:test:dm:u1', 'test:user::u1'],
    ['a group: each person has a session', { chatType: 'group', address: chat('g1') }, usual, 'agent:main:test:group:g1:u1', 'test:user::u1'],
    ['a group that shares one', { chatType: 'group', address: chat('g1') }, { ...usual, groupPerUser: false }, 'agent:main:test:group:g1', 'test:chat::g1:'],
    ['a thread is shared', { chatType: 'thread', address: thread }, usual, 'agent:main:test:thread:g1:5', 'test:chat::g1:5'],
    ['a thread with sessions of one\'s own', { chatType: 'thread', address: thread }, { ...usual, threadPerUser: true }, 'agent:main:test:thread:g1:5:u1', 'test:user::u1'],
    ['a thread under a channel', { chatType: 'channel', address: thread }, usual, 'agent:main:test:channel:g1:5', 'test:chat::g1:5'],
    ['a tenant above the chat', { chatType: 'channel', workspace: 'T1', address: chat('c1') }, usual, 'agent:main:test:channel:T1:c1:u1', 'test:user:T1:u1'],
  ])('%s', (_, given, rules, key, owner) => {
    expect(toSessionKey(said('hi', given), rules)).toBe(key);
    expect(toOwner(said('hi', given), rules)).toBe(owner);
  });

  test('text and names never become part of a key', () => {
    const plain = toSessionKey(said('hi'), usual);
    const sly = said('agent:main:test:dm:victim', { sender: { id: 'u1', name: ':dm:victim', isBot: false } });
    expect(toSessionKey(sly, usual)).toBe(plain);
  });
});

describe('the end of a session', () => {
  const session = (lastActiveAt: number) => ({ lastActiveAt }) as Session;
  const policy = (given: Partial<ResetPolicy>): ResetPolicy => ({ mode: 'both', atHour: 4, idleMinutes: 60, ...given });
  const minute = 60_000;

  test('none never ends one', () => {
    expect(isOver(session(0), policy({ mode: 'none' }), Date.now())).toBe(null);
  });

  test('idle: when more than so many minutes have passed', () => {
    const now = Date.now();
    expect(isOver(session(now - 60 * minute), policy({ mode: 'idle' }), now)).toBe(null);
    expect(isOver(session(now - 60 * minute - 1), policy({ mode: 'idle' }), now)).toBe('idle');
  });

  test('daily: once the hour has passed since it was last used', () => {
    const at = (day: number, hour: number, minutes = 0) => new Date(2026, 0, day, hour, minutes).getTime();
    const over = (last: number, now: number, mode: ResetPolicy['mode'] = 'daily') => isOver(session(last), policy({ mode, idleMinutes: 10_000 }), now);
    expect(over(at(5, 3, 59), at(5, 4, 0))).toBe('daily');
    expect(over(at(5, 4, 0), at(5, 23))).toBe(null);
    expect(over(at(5, 4, 1), at(6, 3, 59))).toBe(null);
    expect(over(at(5, 23), at(6, 4, 1))).toBe('daily');
    expect(over(at(1, 12), at(6, 3))).toBe('daily');
    expect(over(at(5, 3), at(5, 5), 'both')).toBe('daily');
    expect(over(at(5, 3), at(5, 5), 'idle')).toBe(null);
  });

  test('daily, on the days on which the clocks change', () => {
    const before = process.env['TZ'];
    onTestFinished(() => {
      if (before === undefined) delete process.env['TZ'];
      else process.env['TZ'] = before;
    });
    process.env['TZ'] = 'Europe/Berlin';
    // 29 March 2026: 2:00 becomes 3:00. 25 October 2026: 3:00 becomes 2:00.
    const at = (month: number, day: number, hour: number, minutes = 0) => new Date(2026, month - 1, day, hour, minutes).getTime();
    expect(at(3, 29, 12) - at(3, 28, 12)).toBe(23 * 3600_000);
    const over = (last: number, now: number, atHour: number) => isOver(session(last), policy({ mode: 'daily', atHour }), now);
    expect(over(at(3, 28, 23), at(3, 29, 3, 30), 4)).toBe(null);
    expect(over(at(3, 28, 23), at(3, 29, 4, 30), 4)).toBe('daily');
    expect(over(at(10, 24, 23), at(10, 25, 3, 30), 4)).toBe(null);
    expect(over(at(10, 24, 23), at(10, 25, 4, 30), 4)).toBe('daily');
    // The hour of the reset is the one that is skipped: it counts as the next one on that day, and as itself on the day before.
    expect(over(at(3, 29, 1), at(3, 29, 3, 30), 2)).toBe('daily');
    expect(over(at(3, 28, 2, 30), at(3, 29, 1, 30), 2)).toBe(null);
    expect(over(at(3, 28, 1, 30), at(3, 29, 1, 30), 2)).toBe('daily');
  });
});
