/**
 * YAML text -> plain values, each with its place. Variables are filled in here, so a value of the environment can never
 * change the structure. Our own walk over the parsed nodes keeps ids beyond 2^53 exact, counts aliases and refuses keys
 * that would reach an object's prototype.
 */
import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, type Node, type ParsedNode } from 'yaml';
import type { Place, Problem } from './problems.ts';
import { fillVariables, hideVariables, showVariables } from './variables.ts';

const maxBytes = 1024 * 1024;
const maxAliases = 50;
const maxDepth = 64;
const poison = new Set(['__proto__', 'constructor', 'prototype']);
/** For the `yaml` package: YAML 1.2, whatever the file's own directive says; no source text in error messages. */
export const yamlOptions = { schema: 'core', version: '1.2', intAsBigInt: true, prettyErrors: false, logLevel: 'error' } as const;

export type Path = readonly (string | number)[];
export type Environment = Record<string, string | undefined>;

export interface YamlTree {
  /** Objects have no prototype; whole numbers that a double cannot hold are bigints. Empty file: an empty object. */
  root: unknown;
  problems: Problem[];
  /** Place of the key (or list item), or of the nearest thing around it. */
  placeOf(path: Path): Place;
  /** Variables of which the text at this path was made. */
  variablesAt(path: Path): string[];
  /** A number as it is written, where that is not how it would be printed (1e3, 0x1F, 007). */
  oddNumberAt(path: Path): string | undefined;
}

export function toPathKey(path: Path): string {
  return path.join('\0');
}

export function readYaml(file: string, text: string, env: Environment): YamlTree {
  const offsets = new Map<string, number>();
  const variables = new Map<string, string[]>();
  const oddNumbers = new Map<string, string>();
  const problems: Problem[] = [];
  const lines = new LineCounter();
  const tree: YamlTree = {
    root: Object.create(null),
    problems,
    placeOf(path) {
      for (let length = path.length; length > 0; length--) {
        const offset = offsets.get(toPathKey(path.slice(0, length)));
        if (offset !== undefined) return placeAt(offset);
      }
      return { file, line: 1, column: 1 };
    },
    variablesAt: (path) => variables.get(toPathKey(path)) ?? [],
    oddNumberAt: (path) => oddNumbers.get(toPathKey(path)),
  };
  if (Buffer.byteLength(text) > maxBytes) {
    problems.push({ file, line: 1, column: 1, key: '-', reason: 'is larger than 1 MiB' });
    return tree;
  }
  let aliases = 0;
  try {
    const document = parseDocument(hideVariables(text.replace(/^\uFEFF/, '')), { ...yamlOptions, lineCounter: lines });
    for (const fault of [...document.errors, ...document.warnings])
      problems.push({ ...placeAt(fault.pos[0]), key: '-', reason: toYamlReason(fault.code, fault.message) });
    if (problems.length > 0) return tree;
    const contents = document.contents;
    if (!contents || isEmptyNode(contents)) return tree;
    if (isMap(contents)) tree.root = toValue(contents, []);
    else problems.push({ ...placeAt(contents.range[0]), key: '-', reason: 'must be a mapping of keys to values' });

    function toValue(node: Node, path: Path): unknown {
      if (path.length > maxDepth) return fail(node, path, 'is nested too deeply');
      if (isAlias(node)) {
        const target = ++aliases > maxAliases ? undefined : node.resolve(document);
        return target ? toValue(target, path) : fail(node, path, 'uses too many aliases, or one that does not exist');
      }
      if (isScalar(node)) return toScalar(node.value, node.source ?? '', path);
      if (isSeq<ParsedNode>(node))
        return node.items.map((item, index) => {
          offsets.set(toPathKey([...path, index]), item.range[0]);
          return toValue(item, [...path, index]);
        });
      if (isMap<ParsedNode, ParsedNode | null>(node)) {
        const object: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
        for (const { key, value } of node.items) {
          const name = isScalar(key) ? showVariables(String(typeof key.value === 'string' ? key.value : (key.source ?? ''))) : '';
          const at = [...path, name];
          if (name === '' || poison.has(name)) fail(key, at, 'cannot be a key');
          else if (Object.hasOwn(object, name)) fail(key, at, 'is there twice');
          else {
            offsets.set(toPathKey(at), key.range[0]);
            // `key:` with nothing behind it is the same as no such key, so that a section may be commented out line by line.
            if (value && !isEmptyNode(value)) object[name] = toValue(value, at);
          }
        }
        return object;
      }
      return fail(node, path, 'cannot be read');
    }
  } catch (error) {
    // The parser recurses; only absurd nesting overflows the stack.
    if (!(error instanceof RangeError)) throw error;
    problems.push({ file, line: 1, column: 1, key: '-', reason: 'is nested too deeply' });
  }
  return tree;

  function toScalar(value: unknown, source: string, path: Path): unknown {
    if (typeof value === 'string') {
      const filled = fillVariables(value, env);
      if (filled.names.length > 0) variables.set(toPathKey(path), filled.names);
      return filled.text;
    }
    if (typeof value !== 'number' && typeof value !== 'bigint') return value;
    if (String(value) !== source) oddNumbers.set(toPathKey(path), source);
    return typeof value === 'bigint' && Number.isSafeInteger(Number(value)) ? Number(value) : value;
  }

  function fail(node: Node, path: Path, reason: string): undefined {
    problems.push({ ...placeAt(node.range?.[0] ?? 0), key: path.join('.') || '-', reason });
  }

  function placeAt(offset: number): Place {
    const { line, col } = lines.linePos(offset);
    return { file, line: Math.max(1, line), column: Math.max(1, col) };
  }
}

function isEmptyNode(node: Node): boolean {
  return isScalar(node) && node.value === null && (node.source ?? '') === '';
}

/** The parser's sentence without the piece of the file that some of them end with. */
function toYamlReason(code: string, message: string): string {
  if (code === 'DUPLICATE_KEY') return 'has a key twice';
  const plain = message.replace(/(token in YAML stream|extra characters): .*$/s, '$1').split('\n')[0] ?? '';
  return `is not valid YAML: ${plain}`;
}
