/** Who may write, rule by rule. Default is nobody. */
import { describe, expect, test } from 'vitest';
import { createAccess, type AccessRules, type EverywhereRules } from '../../src/gateway/access.ts';
import type { InboundMessage } from '../../src/contract/message.ts';
import { chat, said } from '../store/support.ts';

const nobody: AccessRules = { allowed_users: [], allowed_chats: [], group_allowed_users: [], allow_all: false, unauthorized_dm: 'pair', require_mention: true, mention_patterns: [], free_response_chats: [], ignored_chats: [] };
const dm = (given: Partial<InboundMessage> = {}) => said('hi', { address: chat('u1'), ...given });
const group = (given: Partial<InboundMessage> = {}) => said('hi', { chatType: 'group', address: chat('g1'), ...given });

function verdict(message: InboundMessage, rules: Partial<AccessRules> = {}, { everywhere = {}, paired = [] as string[] }: { everywhere?: Partial<EverywhereRules>; paired?: string[] } = {}): string {
  const access = createAccess({
    rules: new Map([['test', { ...nobody, ...rules }]]),
    everywhere: { allowed_users: [], allow_all: false, ...everywhere },
    trusted: new Set(['local']),
    isPaired: (platform, user) => paired.includes(`${platform}:${user}`),
  });
  const answer = access.authorize(message);
  return answer.allow ? 'allowed' : `${answer.reason}${answer.mayPair ? ', may pair' : ''}`;
}

describe('direct chats', () => {
  test.each<[string, Partial<AccessRules>, { everywhere?: Partial<EverywhereRules>; paired?: string[] }, string]>([
    ['no rule at all', {}, {}, 'not_allowed, may pair'],
    ['strangers are ignored', { unauthorized_dm: 'ignore' }, {}, 'not_allowed'],
    ['the sender is listed', { allowed_users: ['u1'] }, {}, 'allowed'],
    ['somebody else is', { allowed_users: ['u11', '1', 'U1', ''] }, {}, 'not_allowed, may pair'],
    ['listed everywhere', {}, { everywhere: { allowed_users: ['u1'] } }, 'allowed'],
    ['paired', {}, { paired: ['test:u1'] }, 'allowed'],
    ['paired elsewhere', {}, { paired: ['other:u1'] }, 'not_allowed, may pair'],
    ['all are let in', { allow_all: true }, {}, 'allowed'],
    ['all are let in everywhere', {}, { everywhere: { allow_all: true } }, 'allowed'],
    ['listed for groups only', { group_allowed_users: ['u1'], allowed_chats: ['u1'] }, {}, 'not_allowed, may pair'],
    ['an ignored chat, whoever writes', { allow_all: true, ignored_chats: ['u1'] }, {}, 'not_allowed'],
  ])('%s', (_, rules, others, expected) => expect(verdict(dm(), rules, others)).toBe(expected));
});

describe('groups', () => {
  test.each<[string, Partial<AccessRules>, { everywhere?: Partial<EverywhereRules>; paired?: string[] }, string]>([
    ['no rule at all', {}, {}, 'not_allowed'],
    ['an allowed chat', { allowed_chats: ['g1'] }, {}, 'allowed'],
    ['another chat', { allowed_chats: ['g11'] }, {}, 'not_allowed'],
    ['an allowed sender', { allowed_users: ['u1'] }, {}, 'allowed'],
    ['a sender allowed in groups', { group_allowed_users: ['u1'] }, {}, 'allowed'],
    ['pairing counts for nothing here', {}, { paired: ['test:u1'] }, 'not_allowed'],
    ['listed everywhere', {}, { everywhere: { allowed_users: ['u1'] } }, 'allowed'],
    ['an ignored chat wins', { allowed_chats: ['g1'], ignored_chats: ['g1'] }, {}, 'not_allowed'],
  ])('%s', (_, rules, others, expected) => expect(verdict(group(), rules, others)).toBe(expected));

  test('a role lets in, an unknown one does not, and none without a list', () => {
    const withRole = group({ sender: { id: 'u2', name: 'Bob', isBot: false, roles: ['r1', 'r2'] } });
    expect(verdict(withRole, { allowed_roles: ['r2'] })).toBe('allowed');
    expect(verdict(withRole, { allowed_roles: ['r3'] })).toBe('not_allowed');
    expect(verdict(withRole)).toBe('not_allowed');
  });

  test('a thread answers to its parent\'s rules', () => {
    const thread = group({ chatType: 'thread', address: { ...chat('g1'), thread: '5' } });
    const elsewhere = group({ chatType: 'thread', address: chat('t9'), parentChat: 'g1' });
    for (const message of [thread, elsewhere]) {
      expect(verdict(message, { allowed_chats: ['g1'] })).toBe('allowed');
      expect(verdict(message, { allowed_chats: ['g2'] })).toBe('not_allowed');
      expect(verdict(message, { allow_all: true, ignored_chats: ['g1'] })).toBe('not_allowed');
    }
  });
});

describe('being meant', () => {
  const aside = { addressed: false, text: 'the weather is nice' };
  const all = { allow_all: true };

  test.each<[string, Partial<AccessRules>, string]>([
    ['a mention is needed by default', {}, 'not_addressed'],
    ['not where it is not required', { require_mention: false }, 'allowed'],
    ['not in a chat that is free', { free_response_chats: ['g1'] }, 'allowed'],
    ['another chat\'s freedom is not this one\'s', { free_response_chats: ['g2'] }, 'not_addressed'],
    ['a pattern counts as a mention, any case', { mention_patterns: ['\\bWEATHER\\b'] }, 'allowed'],
    ['one that does not match does not', { mention_patterns: ['^hermes'] }, 'not_addressed'],
    ['one that is no expression is as if it were not there', { mention_patterns: ['(', 'nice$'] }, 'allowed'],
  ])('%s', (_, rules, expected) => expect(verdict(group(aside), { ...all, ...rules })).toBe(expected));

  test('a direct chat needs none, a button needs none', () => {
    expect(verdict(dm(aside), all)).toBe('allowed');
    expect(verdict(group({ ...aside, kind: 'button' }), all)).toBe('allowed');
  });

  test('who may not write is not told that he was not meant', () => {
    expect(verdict(group(aside))).toBe('not_allowed');
  });
});

test('another bot starts nothing, whatever the rules', () => {
  const bot = { sender: { id: 'u1', name: 'Robot', isBot: true } };
  expect(verdict(dm(bot), { allow_all: true, allowed_users: ['u1'] })).toBe('bot');
  expect(verdict(group(bot), { allow_all: true })).toBe('bot');
});

test('whatever the gesture, the same gate: edits, buttons, reactions and joins of strangers are refused', () => {
  for (const kind of ['message', 'edit', 'button', 'reaction', 'join'] as const) {
    expect(verdict(dm({ kind }), { unauthorized_dm: 'ignore' })).toBe('not_allowed');
    expect(verdict(dm({ kind }), { allowed_users: ['u1'] })).toBe('allowed');
  }
});

test('a name is nothing: only ids are compared', () => {
  expect(verdict(dm({ sender: { id: 'u666', name: 'u1', isBot: false } }), { allowed_users: ['u1', 'Ann'] })).toBe('not_allowed, may pair');
});

test('a platform without rules lets nobody in; one whose adapter has checked its caller lets everybody', () => {
  expect(verdict(dm({ address: { ...chat(), platform: 'unknown' } }), { allow_all: true })).toBe('not_allowed');
  expect(verdict(group({ address: { ...chat(), platform: 'local' }, addressed: false }))).toBe('allowed');
});
