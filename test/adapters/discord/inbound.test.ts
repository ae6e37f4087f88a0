/** Recorded shapes of events and what each becomes; and that no JSON at all can make the conversion throw. */
import { readdirSync, readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createDirectory } from '../../../adapters/discord/directory.ts';
import { toInboundMessage, type Surroundings } from '../../../adapters/discord/inbound.ts';
import { toReadable, type Names } from '../../../adapters/discord/mention.ts';

interface Fixture {
  file: string;
  about: string;
  type: string;
  data: object;
  expected: object | null;
}

const folder = new URL('../../fixtures/discord/', import.meta.url);
const read = (file: string): unknown => JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as unknown;
const fixtures = readdirSync(folder).filter((file) => file !== 'guild.json').map((file) => ({ file, ...(read(file) as Omit<Fixture, 'file'>) }));

const directory = createDirectory();
directory.take('GUILD_CREATE', read('guild.json'));
const around: Surroundings = { me: '1090000000000000001', directory };

describe('recorded events', () => {
  test.each(fixtures)('$file: $about', ({ type, data, expected }) => {
    expect(toInboundMessage({ type, data }, around, 0)).toEqual(expected);
  });

  test('an InboundMessage survives JSON, so the inbox can keep it', () => {
    for (const { type, data } of fixtures) {
      const message = toInboundMessage({ type, data }, around, 0);
      expect(JSON.parse(JSON.stringify(message))).toEqual(message);
    }
  });
});

describe('any JSON', () => {
  const types = [...new Set(fixtures.map(({ type }) => type)), 'GUILD_CREATE', 'THREAD_CREATE', 'THREAD_LIST_SYNC', 'GUILD_ROLE_CREATE', 'CHANNEL_DELETE'];

  test('is a message or null, never a throw, and teaches the directory nothing that hurts', () => {
    fc.assert(
      fc.property(fc.constantFrom(...types), fc.jsonValue(), (type, data) => {
        const learned = createDirectory();
        learned.take(type, data);
        const message = toInboundMessage({ type, data }, { ...around, directory: learned }, 0);
        expect(message === null || message.address.platform === 'discord').toBe(true);
      }),
      { numRuns: 1500 },
    );
  });

  test('also where it begins as an event does', () => {
    const wrong = fc.oneof(fc.jsonValue(), fc.constant(undefined));
    fc.assert(
      fc.property(fc.constantFrom(...fixtures), fc.array(fc.tuple(fc.nat(), wrong), { minLength: 1, maxLength: 5 }), ({ type, data }, changes) => {
        const broken = structuredClone(data);
        for (const [pick, value] of changes) {
          const spots = spotsOf(broken);
          const [owner, key] = spots[pick % spots.length] ?? [broken, 'id'];
          (owner as Record<string, unknown>)[key] = value;
        }
        const message = toInboundMessage({ type, data: broken }, around, 0);
        if (!message) return;
        expect(message.key).toMatch(/^(message|edit|interaction|reaction):\d+/);
        expect(message.sender.name.length).toBeLessThanOrEqual(64);
        expect(message.sender.id).not.toBe(around.me);
      }),
      { numRuns: 1500 },
    );
  });
});

describe('the mention', () => {
  const names: Names = { isUs: (kind, id) => kind === 'user' && id === '1', user: () => 'Bob', role: () => undefined, channel: () => undefined };

  test.each([
    ['<@1> hello', 'hello'],
    ['<@!1>: hello', 'hello'],
    ['hello <@1>', 'hello'],
    ['so <@1> what', 'so what'],
    ['first\n<@1> second', 'first\nsecond'],
    ['<@1> <@1> hi', 'hi'],
    ['<@1>', ''],
  ])('is found and taken out: %j', (text, rest) => {
    expect(toReadable(text, names)).toEqual({ text: rest, isMentioned: true });
  });

  test.each(['<@11> hi', '@1 hi', '<@ 1>', '<#1>', '<@&1>', '<@1'])('is not seen in %j', (text) => {
    expect(toReadable(text, names).isMentioned).toBe(false);
  });

  test('taking mentions out never takes anything else', () => {
    const word = fc.stringMatching(/^[a-z🙂é]{1,8}$/u);
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 8 }), fc.nat(), (words, where) => {
        const at = where % (words.length + 1);
        const text = [...words.slice(0, at), '<@1>', ...words.slice(at)].join(' ');
        expect(toReadable(text, names)).toEqual({ text: words.join(' '), isMentioned: true });
      }),
    );
  });
});

/** Every place in a JSON tree that holds a value. */
function spotsOf(tree: object): [object, string][] {
  return Object.entries(tree).flatMap(([key, value]) => [[tree, key] as [object, string], ...(typeof value === 'object' && value !== null ? spotsOf(value as object) : [])]);
}
