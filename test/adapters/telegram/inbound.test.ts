/** Recorded shapes of updates and what each becomes; and that no JSON at all can make the conversion throw. */
import { readdirSync, readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toInboundMessage, type Me } from '../../../adapters/telegram/inbound.ts';
import { stripMention, toMention } from '../../../adapters/telegram/mention.ts';

const me: Me = { id: 7000001, username: 'hermes_test_bot' };
const folder = new URL('../../fixtures/telegram/', import.meta.url);
const fixtures = readdirSync(folder).map((file) => ({ file, ...(JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as { about: string; update: object; expected: object | null }) }));

describe('recorded updates', () => {
  test.each(fixtures)('$file: $about', ({ update, expected }) => {
    expect(toInboundMessage(update, me, 0)).toEqual(expected);
  });

  test('an InboundMessage survives JSON, so the inbox can keep it', () => {
    for (const { update } of fixtures) {
      const message = toInboundMessage(update, me, 0);
      expect(JSON.parse(JSON.stringify(message))).toEqual(message);
    }
  });
});

describe('any JSON', () => {
  test('is a message or null, never a throw', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (json) => {
        const message = toInboundMessage(json, me, 0);
        expect(message === null || message.address.platform === 'telegram').toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  test('also where it begins as an update does', () => {
    const wrong = fc.oneof(fc.jsonValue(), fc.constant(undefined));
    fc.assert(
      fc.property(fc.constantFrom(...fixtures), fc.array(fc.tuple(fc.nat(), wrong), { minLength: 1, maxLength: 5 }), ({ update }, changes) => {
        const broken = structuredClone(update);
        for (const [pick, value] of changes) {
          const spots = spotsOf(broken);
          const [owner, key] = spots[pick % spots.length] ?? [broken, 'update_id'];
          (owner as Record<string, unknown>)[key] = value;
        }
        const message = toInboundMessage(broken, me, 0);
        if (!message) return;
        expect(message.key).toMatch(/^update:-?\d+$/);
        expect(message.sender.name.length).toBeLessThanOrEqual(64);
        expect(message.sender.id).not.toBe(String(me.id));
      }),
      { numRuns: 1500 },
    );
  });
});

describe('the mention', () => {
  test.each([
    ['@hermes_test_bot, hello', 'hello'],
    ['hello @HERMES_test_bot', 'hello'],
    ['so @hermes_test_bot what', 'so what'],
    ['first\n@hermes_test_bot second', 'first\nsecond'],
    ['@hermes_test_bot @hermes_test_bot hi', 'hi'],
  ])('is found without entities too: %j', (text, rest) => {
    const mention = toMention(text, [], me);
    expect(mention.ranges.length).toBeGreaterThan(0);
    expect(stripMention(text, mention)).toBe(rest);
  });

  test.each(['mail me@hermes_test_bot', '@hermes_test_bots', 'https://t.me/@hermes_test_bot'])('is not seen in %j', (text) => {
    expect(toMention(text, [], me).ranges).toEqual([]);
  });

  test.each([
    ['/steer hi', 'ours'],
    ['/new', 'ours'],
    ['/new@Hermes_test_bot', 'ours'],
    ['/new@other_bot', 'other'],
    ['/etc/passwd', 'none'],
    ['1/2', 'none'],
  ])('a leading command needs no entity: %j is %s', (text, command) => {
    expect(toMention(text, [], me).command).toBe(command);
  });

  test('taking mentions out never takes anything else', () => {
    const word = fc.stringMatching(/^[a-z🙂é]{1,8}$/u);
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 8 }), fc.nat(), (words, where) => {
        const at = where % (words.length + 1);
        const text = [...words.slice(0, at), '@hermes_test_bot', ...words.slice(at)].join(' ');
        expect(stripMention(text, toMention(text, [], me))).toBe(words.join(' '));
      }),
    );
  });
});

/** Every place in a JSON tree that holds a value. */
function spotsOf(tree: object): [object, string][] {
  return Object.entries(tree).flatMap(([key, value]) => [[tree, key] as [object, string], ...(typeof value === 'object' && value !== null ? spotsOf(value as object) : [])]);
}
