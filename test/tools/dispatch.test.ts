import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Tool, ToolArgs, ToolHandler } from '../../src/contract/tool.ts';
import { createRegistry } from '../../src/tools/registry.ts';
import { readStoredResult } from '../../src/tools/stored-results.ts';
import { tempHome } from '../support/temp-home.ts';
import { waitFor } from '../support/wait-for.ts';
import { contextOn, readableLog } from './kit.ts';

function withTool(handler: ToolHandler, more: Partial<Tool> = {}, redact?: (text: string) => string) {
  const { log, said } = readableLog();
  const home = tempHome();
  const registry = createRegistry({ log, home, ...(redact ? { redact } : {}) });
  const name = 'probe';
  registry.register({ name, toolset: 'set', schema: { name, description: 'd', parameters: { type: 'object' } }, handler, ...more }, 'probe.ts');
  const run = (args: ToolArgs = {}, signal = new AbortController().signal, called = name) => registry.dispatch(called, args, contextOn('cli', home, { signal }));
  return { run, said, home, registry, error: async () => (JSON.parse(await run()) as { error: string }).error };
}

function fails(thrown: unknown): ToolHandler {
  return () => {
    throw thrown;
  };
}

describe('whatever a handler does, one string comes back', () => {
  test('a string passes unchanged', async () => {
    expect(await withTool(() => 'plain, not even JSON').run()).toBe('plain, not even JSON');
    expect(await withTool(async () => '{"n":1}').run()).toBe('{"n":1}');
  });

  test('an object is serialised and its author told once', async () => {
    const { run, said } = withTool(() => ({ n: 1 }));
    expect([await run(), await run()]).toEqual(['{"n":1}', '{"n":1}']);
    expect(said('warn')).toHaveLength(1);
    expect(said('warn')[0]).toMatch(/probe.*probe\.ts.*JSON\.stringify/);
  });

  test.each([
    ['an Error', fails(new TypeError('no such city')), 'Tool execution failed: TypeError: no such city'],
    ['a rejection', () => Promise.reject(new Error('down')), 'Tool execution failed: Error: down'],
    ['null', fails(null), 'Tool execution failed: null'],
    ['undefined', fails(undefined), 'Tool execution failed: undefined'],
    ['a text', fails('boom'), 'Tool execution failed: boom'],
    ['an object without a prototype', fails(Object.create(null)), 'Tool execution failed: a value that cannot be shown'],
    ['a returned Error', () => new RangeError('far'), 'Tool execution failed: RangeError: far'],
  ] as [string, ToolHandler, string][])('thrown: %s', async (_, handler, message) => {
    expect(await withTool(handler).error()).toBe(message);
  });

  const cycle: Record<string, unknown> = {};
  cycle['self'] = cycle;
  test.each([
    ['undefined', undefined, 'undefined'],
    ['null', null, 'null'],
    ['a number', 3, 'number'],
    ['NaN', Number.NaN, 'number'],
    ['a boolean', true, 'boolean'],
    ['a BigInt', 1n, 'bigint'],
    ['a symbol', Symbol('s'), 'symbol'],
    ['a function', () => 1, 'function'],
    ['bytes', Buffer.from('x'), 'bytes'],
    ['a BigInt inside', { n: 1n }, 'object that cannot be JSON'],
    ['a cycle', cycle, 'object that cannot be JSON'],
    ['toJSON gives nothing', { toJSON: () => undefined }, 'object without JSON'],
    ['toJSON throws', { toJSON: fails(null) }, 'object that cannot be JSON'],
  ])('returned: %s', async (_, value, type) => {
    const result = JSON.parse(await withTool(() => value).run()) as Record<string, unknown>;
    expect(result).toMatchObject({ error_type: 'tool_result_contract', tool: 'probe' });
    expect(result['error']).toContain(`Tool handler returned unsupported result type: ${type}`);
  });

  test.each([['a Date', new Date(0), '"1970-01-01T00:00:00.000Z"'], ['a Map', new Map([[1, 2]]), '{}'], ['a list', [1], '[1]']])('serialised: %s', async (_, value, text) => {
    expect(await withTool(() => value).run()).toBe(text);
  });

  test('a proxy that throws at every touch is an error result', async () => {
    const handsOff = (): never => {
      throw new Error('hands off');
    };
    const touchy = new Proxy({}, { get: handsOff, getPrototypeOf: handsOff });
    expect(await withTool(() => touchy).error()).toContain('hands off');
  });

  test('property: never a throw, always a string', async () => {
    let value: unknown;
    const { run } = withTool(() => value);
    await fc.assert(
      fc.asyncProperty(fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true, withTypedArray: true }), async (any) => {
        value = any;
        expect(typeof (await run())).toBe('string');
      }),
      { numRuns: 200 },
    );
  });
});

describe('names and arguments', () => {
  test.each(['constructor', '__proto__', 'toString', 'hasOwnProperty', '../x', ''])('an unknown tool: %j', async (name) => {
    expect(await withTool(() => '{}').run({}, undefined, name)).toBe(JSON.stringify({ error: `Unknown tool: ${name}` }));
  });

  test('a name of a megabyte does not come back whole', async () => {
    expect((await withTool(() => '{}').run({}, undefined, 'x'.repeat(1e6))).length).toBeLessThan(300);
  });

  const strict: Partial<Tool> = {
    schema: { name: 'probe', description: 'd', parameters: { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object', properties: { n: { type: 'integer' }, of: { enum: ['a', 'b'] } }, required: ['n'], additionalProperties: false } },
  };
  test.each([
    [{}, /must have required property 'n'/],
    [{ n: '1' }, /\/n must be integer/],
    [{ n: 1, of: 'c' }, /\/of must be equal to one of the allowed values: a, b/],
    [{ n: 1, extra: true }, /must NOT have additional properties \(extra\)/],
    [[1], /must be a JSON object/],
    [null, /must be a JSON object/],
  ])('%j is refused with a sentence to act on, and the handler does not run', async (args, message) => {
    let ran = false;
    const { run } = withTool(() => {
      ran = true;
      return '{}';
    }, strict);
    expect((JSON.parse(await run(args as ToolArgs)) as { error: string }).error).toMatch(message);
    expect(ran).toBe(false);
  });

  test('nothing is coerced, filled in or taken away', async () => {
    let seen: unknown;
    const args = { n: 1 };
    await withTool((given) => {
      seen = given;
      return '{}';
    }, strict).run(args);
    expect(seen).toBe(args);
  });

  test('a schema that cannot be compiled is said, not thrown', async () => {
    const broken = { schema: { name: 'probe', description: 'd', parameters: { type: 'object', properties: { a: { type: 'strnig' } } } } };
    expect(await withTool(() => '{}', broken).error()).toMatch(/schema of probe cannot be used/);
  });

  function nested(depth: number): ToolArgs {
    let value: ToolArgs = {};
    for (let level = 1; level < depth; level++) value = { a: value };
    return value;
  }
  test('64 levels and 256 KiB are allowed, more is not', async () => {
    const { run } = withTool(() => 'ran');
    expect(await run(nested(64))).toBe('ran');
    expect(await run(nested(65))).toMatch(/deeper than 64/);
    expect(await run(nested(100_000))).toMatch(/deeper than 64/);
    expect(await run({ a: 'x'.repeat(256 * 1024 - 8) })).toBe('ran');
    expect(await run({ a: 'x'.repeat(256 * 1024 - 7) })).toMatch(/larger than 256 KiB/);
    expect(await run({ a: 'é'.repeat(200_000) })).toMatch(/larger than 256 KiB/);
    expect(await run({ a: Array.from({ length: 300_000 }, () => 0) })).toMatch(/larger than 256 KiB/);
  });

  test('no argument and no result pollutes a prototype', async () => {
    const keys = ['__proto__', 'constructor', 'prototype'];
    const payloads = keys.flatMap((outer) => ['polluted', 'toString', 'then'].map((inner) => `{"${outer}":{"${inner}":1,"prototype":{"${inner}":1}},"a":{"${outer}":{"${inner}":1}}}`));
    let result: unknown;
    const { run } = withTool(() => result);
    for (const payload of payloads) {
      result = `{"error":"${'x'.repeat(3000)}",${payload.slice(1)}`;
      await run(JSON.parse(payload) as ToolArgs);
      expect(await run()).toMatch(/truncated/);
      result = JSON.parse(payload);
      await run();
      expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
      expect(typeof {}.toString).toBe('function');
    }
    expect(await withTool(() => 'ran').run(JSON.parse('{"__proto__":{"a":1}}') as ToolArgs)).toMatch(/__proto__/);
  });
});

describe('time', () => {
  test('a hang ends at the time limit; the late result is discarded and logged', async () => {
    let release: (text: string) => void = () => {};
    let signal: AbortSignal | undefined;
    const { error, said } = withTool(
      (_, context) => {
        signal = context.signal;
        return new Promise((resolve) => (release = resolve));
      },
      { timeoutMs: 20 },
    );
    expect(await error()).toMatch(/probe timed out after 0\.02 s/);
    expect(signal?.aborted).toBe(true);
    release('late');
    await waitFor('the late result in the log', () => said('warn').find((line) => /its result is discarded/.test(line)));
  });

  test('a late rejection is logged with its owner and nothing more', async () => {
    let fail: (reason: Error) => void = () => {};
    const { error, said } = withTool(() => new Promise((_, reject) => (fail = reject)), { timeoutMs: 20 });
    await error();
    fail(new Error('too late'));
    await waitFor('the late error in the log', () => said('warn').find((line) => /probe\.ts.*too late/.test(line)));
  });

  test('/stop ends the wait at once, and a tool is not started after it', async () => {
    const stop = new AbortController();
    let started = 0;
    const { run } = withTool(() => {
      started += 1;
      return new Promise(() => {});
    });
    const running = run({}, stop.signal);
    stop.abort();
    expect(await running).toMatch(/was aborted/);
    expect(await run({}, stop.signal)).toMatch(/was aborted/);
    expect(started).toBe(1);
  });
});

describe('size', () => {
  test('error texts are capped at 2,048 characters, thrown or returned', async () => {
    const long = 'x'.repeat(100_000);
    expect((await withTool(fails(new Error(long))).error()).length).toBe(2048 + '… [truncated]'.length);
    const own = JSON.parse(await withTool(() => JSON.stringify({ error: long, code: 7 })).run()) as { error: string; code: number };
    expect(own.error).toMatch(/^x{2048}… \[truncated\]$/);
    expect(own.code).toBe(7);
  });

  test('a long result is stored, and the model gets both ends, the size and a handle that pages', async () => {
    const text = `begin ${'äß😀'.repeat(20_000)} end`;
    const { run, home } = withTool(() => text);
    const shown = await run();
    expect(shown.length).toBeLessThanOrEqual(50_000);
    const { handle, size, head, tail } = JSON.parse(shown) as { handle: string; size: number; head: string; tail: string };
    expect(size).toBe(Buffer.byteLength(text));
    expect(text.startsWith(head) && text.endsWith(tail)).toBe(true);
    const folder = join(home, 'cache', 'results');
    expect(readdirSync(folder)).toEqual([handle]);
    expect(statSync(join(folder, handle)).mode & 0o777).toBe(0o600);

    let whole = '';
    for (let offset: number | null = 0; offset !== null; ) {
      const page = JSON.parse((await readStoredResult(home, handle, offset, 1001)) ?? 'null') as { content: string; next_offset: number | null };
      whole += page.content;
      offset = page.next_offset;
    }
    expect(whole).toBe(text);
    expect(await readStoredResult(home, `result_${'0'.repeat(32)}`)).toBeNull();
    expect(await readStoredResult(home, '../../config.yaml')).toBeNull();
  });

  test('a text that JSON makes six times as long still fits', async () => {
    expect((await withTool(() => '\u0001'.repeat(60_000)).run()).length).toBeLessThanOrEqual(50_000);
  });

  test('a tool says its own limit', async () => {
    expect(await withTool(() => 'x'.repeat(60_000), { maxResultChars: 70_000 }).run()).toHaveLength(60_000);
  });

  test('secrets are removed before the result is stored or shown', async () => {
    const redact = (text: string) => text.replaceAll('s3cret', '[redacted]');
    const { run, home } = withTool(() => `s3cret ${'x'.repeat(60_000)} s3cret`, {}, redact);
    const shown = await run();
    const { handle } = JSON.parse(shown) as { handle: string };
    expect(shown).not.toContain('s3cret');
    expect(await readStoredResult(home, handle)).not.toContain('s3cret');
    expect(await withTool(fails(new Error('s3cret')), {}, redact).run()).not.toContain('s3cret');
  });
});

test('a tool of the agent answers an error when it is dispatched', async () => {
  const { error } = withTool(() => 'ran', { agentRun: true });
  expect(await error()).toMatch(/agent's own state/);
});
