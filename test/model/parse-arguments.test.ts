import { assert, dictionary, jsonValue, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseArguments } from '../../src/model/parse-arguments.ts';

const noJson = ['{', '}', '{"a"', '{"a":', '{"a":1', '{"a":1,}', '{a:1}', "{'a':1}", '{"a":1}}', '{"a":1} {"b":2}', '{"a":undefined}', '{"a":NaN}', '{"a":0x10}', '{"a":01}', '{"a":+1}', '{"a":.5}', '{"a":"\n"}', '{"a":"\\x"}', '{"a":"unterminated}', '{"a":tru}', '```json\n{"a":1}\n```', 'call(a=1)', '<arg>1</arg>', 'a: 1', '// {}\n', '{"a":1 "b":2}', '\u0000', '{"a":[1,2}', '{"a":{]}', 'ä', '{"\\u12":1}', '{"a":1}x', 'function(){}', '{,}', '{:1}', '{"a"::1}', '"', '[', ']', '{"a":--1}'];
const noObject = ['[]', '"x"', 'null', '3', 'true', 'false', '-0.5', '[{"a":1}]', '""', '"{}"', '1e3', '[[[]]]', '"null"', ' [1] ', '0'];
const nested = (depth: number) => '{"a":'.repeat(depth) + '1' + '}'.repeat(depth);
const tooBig = ['{"a":1e999}', '{"a":[-1e999]}', nested(65), nested(10_000), `{"a":${'['.repeat(70)}${']'.repeat(70)}}`, `{"a":"${'x'.repeat(256 * 1024)}"}`, `{"a":"${'ä'.repeat(130 * 1024)}"}`];

describe('tool arguments', () => {
  it.each([...noJson, ...noObject, ...tooBig])('%.40s gives no arguments, and says why', (text) => {
    const parsed = parseArguments(text);
    expect(parsed.args).toEqual({});
    expect(parsed.invalid).toMatch(/^the arguments /);
  });

  it.each([
    ['{}', {}],
    ['', {}],
    [' \n', {}],
    ['{"a":1,"a":2}', { a: 2 }],
    ['{"n":12345678901234567890}', { n: 12345678901234567000 }],
    ['{"text":"[[[[{{{{\\"]"}', { text: '[[[[{{{{"]' }],
  ])('%s is accepted', (text, args) => {
    expect(parseArguments(text)).toEqual({ args });
  });

  it('64 levels are accepted', () => {
    expect(parseArguments(nested(64)).invalid).toBeUndefined();
  });

  it('drops keys that reach a prototype, at any depth', () => {
    const { args } = parseArguments('{"__proto__":{"admin":true},"a":[{"constructor":{"prototype":{"x":1}},"b":1}],"prototype":1}');
    expect(args).toEqual({ a: [{ b: 1 }] });
    expect(Object.keys(args)).toEqual(['a']);
    expect('admin' in args).toBe(false);
  });

  it('gives back every object that JSON can write', () => {
    const noDanger = (value: unknown): boolean => !/"(__proto__|constructor|prototype)":|-0/.test(JSON.stringify(value));
    assert(
      property(dictionary(string(), jsonValue({ maxDepth: 5 })).filter(noDanger), (object) => {
        expect(parseArguments(JSON.stringify(object))).toEqual({ args: JSON.parse(JSON.stringify(object)) });
      }),
      { numRuns: 200 },
    );
  });
});
