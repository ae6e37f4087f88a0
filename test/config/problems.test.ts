/** What is refused, in which words, and that nothing of the file's values is shown. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import type { KeyNode } from '../../config/keys.ts';
import { HermesError } from '../../src/contract/errors.ts';
import { load, problems } from './support.ts';

describe('a problem', () => {
  it('is told with its place, and all are told at once', () => {
    const yaml = 'modle: {}\nagent:\n  max_step: 1\n  max_steps: "25"\n  turn_timeout_s: 0\nlog: {level: loud}\nplatforms:\n  telegram:\n    tokn: 1:abc\n    webhook: {url: ftp://x}\nmcp_servers: {a: {args: []}}\noperator: me\nsessions: []\n';
    expect(problems(yaml)).toEqual([
      'config.yaml:1:1 modle is unknown; did you mean model?',
      'config.yaml:3:3 agent.max_step is unknown; did you mean max_steps?',
      'config.yaml:4:3 agent.max_steps must be a number',
      'config.yaml:5:3 agent.turn_timeout_s must be more than 0',
      'config.yaml:6:7 log.level must be debug, info, warn, error or silent',
      'config.yaml:9:5 platforms.telegram.tokn is unknown; did you mean token?',
      'config.yaml:10:15 platforms.telegram.webhook.url must be an address that begins with http:// or https://',
      'config.yaml:11:15 mcp_servers.a needs either command or url',
      'config.yaml:12:1 operator must be PLATFORM:CHAT or PLATFORM:CHAT:THREAD',
      'config.yaml:13:1 sessions must be a mapping of keys to values',
    ]);
  });

  it.each([
    ['a text for a number', 'agent: {max_steps: "5"}', 'must be a number'],
    ['a number for a text', 'model: {name: 5}', 'must be text'],
    ['a number for a token', 'platforms: {telegram: {token: 5}}', 'must be text'],
    ['a pattern that is none', 'platforms: {telegram: {mention_patterns: ["(hey"]}}', 'must be a regular expression'],
    ['a text for true', 'cron: {enabled: "true"}', 'must be true or false'],
    ['yes for true', 'cron: {enabled: yes}', 'must be true or false'],
    ['off for false', 'cron: {enabled: off}', 'must be true or false'],
    ['1 for true', 'cron: {enabled: 1}', 'must be true or false'],
    ['a single id for a list', 'platforms: {telegram: {allowed_users: 123}}', 'must be a list'],
    ['a fraction', 'agent: {max_steps: 1.5}', 'must be a whole number'],
    ['infinity', 'agent: {turn_timeout_s: .inf}', 'must be a number'],
    ['a number too large for one', 'agent: {max_steps: 99999999999999999999}', 'must be a number'],
    ['null for a number', 'agent: {max_steps: null}', 'must be a number'],
    ['a list for a mapping', 'agent: [1]', 'must be a mapping'],
    ['a key with white space', 'model: {api_key: "a b"}', 'contains white space'],
    ['an empty name', 'skills: {paths: [""]}', 'must not be empty'],
    ['a network without width', 'web: {allow_cidrs: [10.0.0.0]}', 'must be a network'],
  ])('is %s', (_, yaml, reason) => {
    const lines = problems(yaml);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^config\.yaml:1:\d+ \S+ must|contains/);
    expect(lines[0]).toContain(reason);
  });

  it.each([
    ['a tab', 'agent:\n\tmax_steps: 1\n'],
    ['the same key twice', 'log: {level: info}\nlog: {level: warn}\n'],
    ['the same id twice, as number and text', 'platforms: {telegram: {chats: {1: {}, "1": {}}}}\n'],
    ['an open quote', 'model: {name: "abc\n'],
    ['an open bracket', 'skills: {paths: [a'],
    ['two documents', 'log: {}\n---\nlog: {}\n'],
    ['a list at the top', '- a\n'],
    ['a text at the top', 'hello\n'],
    ['an unknown tag', 'model: {name: !secret x}\n'],
    ['an alias of nothing', 'model: {name: *x}\n'],
    ['an alias of itself', 'mcp_servers: &a {x: *a}\n'],
    ['a bomb of aliases', `a: &a [x, x]\n${'bcdefghij'.split('').map((k, i) => `${k}: &${k} [${Array(9).fill(`*${'abcdefghi'[i]}`).join(', ')}]`).join('\n')}\n`],
    ['absurd nesting', '['.repeat(50_000)],
    ['deep nesting', `model: ${'{a: '.repeat(100)}1${'}'.repeat(100)}\n`],
    ['a prototype', '__proto__: {polluted: true}\nconstructor: {prototype: {polluted: true}}\n'],
    ['a mapping as key', '{{a: b}: c}\n'],
    ['2 MiB', `# ${'x'.repeat(2 * 1024 * 1024)}\n`],
  ])('is %s', (_, yaml) => {
    for (const line of problems(yaml)) expect(line).toMatch(/^config\.yaml:\d+:\d+ \S+ \S+/);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it('is a line of .env that means nothing', () => {
    expect(problems(null, { dotenv: 'A=1\nwhat is this\n\nB="open\n' })).toEqual(['.env:2:1 - must be NAME=value, quotes closed', '.env:4:1 B must be NAME=value, quotes closed']);
  });

  it('never shows a value', () => {
    const secret = 'xoxb-very-secret';
    for (const yaml of [`${secret}\n`, `log: {level: ${secret}}`, `model: {name: a} ${secret}`, `agent: {max_steps: ${secret}}`, `model: {api_key: "${secret} x"}`, `model: |${secret}\n`, `model:\n  name: a\n ${secret}: [`, `}${secret}`])
      expect(problems(yaml).join('\n').replaceAll(/ \S*xoxb\S* is unknown/g, ''), yaml).not.toContain(secret);
  });
});

describe('every key', () => {
  const { keys } = load(null, { home: '/nonexistent' });
  const mappings = [...walk(keys, [])];

  it('is refused with its own name when one letter is missing or two are swapped', () => {
    let typos = 0;
    for (const mapping of mappings) {
      const names = Object.keys(mapping.keys.properties ?? {});
      const wrong = new Set(names.flatMap((name) => [name.slice(0, -1), `${name.slice(0, -2)}${name.at(-1)}${name.at(-2)}`]).filter((typo) => typo !== '' && !names.includes(typo)));
      typos += wrong.size;
      const lines = problems(stringify(nest(mapping.path, Object.fromEntries([...wrong].map((typo) => [typo, 1])))));
      for (const typo of wrong) expect(lines.join('\n')).toMatch(new RegExp(` ${[...mapping.path, typo].join('\\.')} is unknown; did you mean \\w+\\?`));
    }
    expect(typos).toBeGreaterThan(200);
  });

  it('is refused when it holds what no key holds', () => {
    for (const { path, keys } of mappings) {
      const names = Object.keys(keys.properties ?? {});
      const lines = problems(stringify(nest(path, Object.fromEntries(names.map((name) => [name, [[{}]]])))));
      for (const name of names) expect(lines.join('\n')).toContain(` ${[...path, name].join('.')}`);
    }
  });
});

it('whatever the text is, the answer is a configuration or CONFIG_INVALID', () => {
  const piece = fc.constantFrom('agent', 'platforms', 'telegram', ':', ': ', '\n', '  ', '- ', '[', ']', '{', '}', '&a ', '*a', '"', "'", '|', '>', '#', '!!int ', '? ', '~', '1', 'true', '${X}', '${', '\t', '%YAML 1.1\n', '---', '<<', '\u0000', 'ü', '😀');
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 25 }), (pieces) => {
      try {
        load(pieces.join(''));
      } catch (error) {
        expect(error).toBeInstanceOf(HermesError);
        expect((error as HermesError).code).toBe('CONFIG_INVALID');
      }
    }),
    { numRuns: 150 },
  );
});

interface Mapping {
  path: string[];
  keys: KeyNode;
}

function* walk(node: KeyNode, path: string[]): Generator<Mapping> {
  if (node.properties) yield { path, keys: node };
  for (const [name, child] of Object.entries(node.properties ?? {})) yield* walk(child, [...path, name]);
  if (typeof node.additionalProperties === 'object') yield* walk(node.additionalProperties, [...path, 'any']);
  for (const variant of node.anyOf ?? []) yield* walk(variant, path);
}

function nest(path: string[], inner: unknown): unknown {
  return path.reduceRight<unknown>((value, name) => ({ [name]: value }), inner);
}
