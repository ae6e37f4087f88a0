/** What the schemas object to, turned into problems with a place and a sentence that says what to write instead. */
import type { z } from 'zod';
import { nearest } from '../src/lib/nearest.ts';
import { keyAt, keyNames, type KeyNode } from './keys.ts';
import type { Problem } from './problems.ts';
import type { Path, YamlTree } from './read-yaml.ts';

type Issue = z.core.$ZodIssue;

const kinds: Record<string, string> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping of keys to values',
  record: 'a mapping of keys to values',
  null: 'null',
};

export function toProblems(issue: Issue, tree: YamlTree, keys: KeyNode): Problem[] {
  const path = issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step));
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => toProblem([...path, key], `is unknown${suggest(key, keyNames(keyAt(keys, path)))}`));
  return [toProblem(path, toReason(issue))];

  function toProblem(at: Path, reason: string): Problem {
    const variables = tree.variablesAt(at);
    const from = variables.length > 0 ? ` (its value comes from ${variables.join(', ')})` : '';
    return { ...tree.placeOf(at), key: at.join('.'), reason: reason + from };
  }
}

function suggest(name: string, known: string[]): string {
  const guess = nearest(name, known);
  return guess ? `; did you mean ${guess}?` : '';
}

function toReason(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${kinds[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `must be ${oneOf(issue.values.map(String))}`;
    case 'too_small':
      return issue.origin === 'string' || issue.origin === 'array'
        ? 'must not be empty'
        : `must be ${issue.inclusive ? 'at least' : 'more than'} ${issue.minimum}`;
    case 'too_big':
      return `must be at most ${issue.maximum}`;
    case 'invalid_format':
      return issue.format === 'url' ? 'must be an address that begins with http:// or https://' : issue.message;
    case 'invalid_union':
      return toUnionReason(issue.errors);
    default:
      return issue.message;
  }
}

/** A variant that got past the type says more than "must be this or that". */
function toUnionReason(variants: readonly (readonly Issue[])[]): string {
  // YAML has no bigint of its own; "a number" is said already.
  const firsts = variants.flatMap((issues) => issues.slice(0, 1)).filter((issue) => issue.code !== 'invalid_type' || issue.expected !== 'bigint');
  const inside = firsts.find((issue) => issue.code !== 'invalid_type' && issue.code !== 'invalid_value');
  if (inside) return toReason(inside);
  return `must be ${oneOf([...new Set(firsts.map((issue) => toReason(issue).replace(/^must be /, '')))])}`;
}

function oneOf(words: string[]): string {
  const last = words.at(-1) ?? 'nothing';
  return words.length > 1 ? `${words.slice(0, -1).join(', ')} or ${last}` : last;
}
