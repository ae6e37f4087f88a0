/** Recorded shapes of payloads and what each becomes; and that no JSON at all can make the conversion throw. */
import { readdirSync, readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PayloadType } from '../../../adapters/slack/event.ts';
import { toInboundMessage, type Known } from '../../../adapters/slack/inbound.ts';
import { readText, toSlash } from '../../../adapters/slack/text.ts';

const known: Known = {
  me: { userId: 'U0HERMES', botId: 'B0HERMES', teamId: 'T0001', name: 'hermes' },
  now: 1_767_100_000_000,
  isCommand: (name) => ['status', 'new'].includes(name),
  nameOf: (userId) => ({ U2BOB: 'Bob' })[userId],
  isInThread: (channel, thread) => `${channel}:${thread}` === 'C024BE91L:1767100000.000100',
  saidIn: (channel, thread) => (`${channel}:${thread}` === 'C024BE91L:1767100500.000200' ? 'The backup failed.' : undefined),
};
const types: PayloadType[] = ['events_api', 'slash_commands', 'interactive'];
const folder = new URL('../../fixtures/slack/', import.meta.url);
const fixtures = readdirSync(folder).map((file) => ({ file, ...(JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as { about: string; type: PayloadType; payload: object; expected: object | null }) }));

describe('recorded payloads', () => {
  test.each(fixtures)('$file: $about', ({ type, payload, expected }) => {
    expect(toInboundMessage(type, payload, known)).toEqual(expected);
  });

  test('an InboundMessage survives JSON, so the inbox can keep it', () => {
    for (const { type, payload } of fixtures) {
      const message = toInboundMessage(type, payload, known);
      expect(JSON.parse(JSON.stringify(message))).toEqual(message);
    }
  });

  test('a payload is read only as what it came as', () => {
    for (const { type, payload } of fixtures) {
      for (const other of types.filter((each) => each !== type)) expect(toInboundMessage(other, payload, known)).toBeNull();
    }
  });
});

describe('any JSON', () => {
  test('is a message or null, never a throw', () => {
    fc.assert(
      fc.property(fc.constantFrom(...types), fc.jsonValue(), (type, json) => {
        const message = toInboundMessage(type, json, known);
        expect(message === null || message.address.platform === 'slack').toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  test('also where it begins as a payload does', () => {
    const wrong = fc.oneof(fc.jsonValue(), fc.constant(undefined));
    fc.assert(
      fc.property(fc.constantFrom(...fixtures), fc.array(fc.tuple(fc.nat(), wrong), { minLength: 1, maxLength: 5 }), ({ type, payload }, changes) => {
        const broken = structuredClone(payload);
        for (const [pick, value] of changes) {
          const spots = spotsOf(broken);
          const [owner, key] = spots[pick % spots.length] ?? [broken, 'type'];
          (owner as Record<string, unknown>)[key] = value;
        }
        const message = toInboundMessage(type, broken, known);
        if (!message) return;
        expect(message.key).toMatch(/^(message|edit|reaction|join|command|action):/);
        expect(message.sender.name.length).toBeLessThanOrEqual(64);
        expect(message.sender.id).not.toBe(known.me.userId);
        expect(Number.isSafeInteger(message.at)).toBe(true);
      }),
      { numRuns: 3000 },
    );
  });
});

describe('the text', () => {
  const names = { userId: 'U0HERMES', name: 'hermes', nameOf: known.nameOf };

  test.each([
    ['<@U0HERMES>, hello', 'hello'],
    ['<@U0HERMES|hermes>: hello', 'hello'],
    ['hello <@U0HERMES>', 'hello'],
    ['so <@U0HERMES> what', 'so what'],
    ['first\n<@U0HERMES> second', 'first\nsecond'],
    ['<@U0HERMES> <@U0HERMES> hi', 'hi'],
    ['<@U0HERMES> !status now', '!status now'],
  ])('the mention is taken out of %j', (raw, text) => {
    expect(readText(raw, names)).toEqual({ text, isMention: true, isForOther: false });
  });

  test.each(['&lt;@U0HERMES&gt; hi', '<@U0HERMESX> hi', '<#U0HERMES> hi', '@hermes hi', '&amp;lt;@U0HERMES&amp;gt;'])('there is none in %j', (raw) => {
    expect(readText(raw, names).isMention).toBe(false);
  });

  test.each([
    ['!new', '/new'],
    ['!Model x y', '/Model x y'],
    ['!', '!'],
    ['!!', '!!'],
    ['! new', '! new'],
    ['!important: read this', '!important: read this'],
    ['wow!new', 'wow!new'],
    ['/new', '/new'],
  ])('%j is the command %j', (text, command) => {
    expect(toSlash(text)).toBe(command);
  });

  test('what Slack escapes is read back, whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), (said) => {
        const escaped = said.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
        expect(readText(escaped, names)).toEqual({ text: said.trim(), isMention: false, isForOther: false });
      }),
    );
  });
});

/** Every place in a JSON tree that holds a value. */
function spotsOf(tree: object): [object, string][] {
  return Object.entries(tree).flatMap(([key, value]) => [[tree, key] as [object, string], ...(typeof value === 'object' && value !== null ? spotsOf(value as object) : [])]);
}
