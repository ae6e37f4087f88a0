/**
 * `hermes config set`: changes one key in the text of config.yaml and keeps everything else, comments included. The file is
 * replaced as a whole (temporary file, fsync, rename), so a reader sees the old text or the new one.
 */
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { isMap, isScalar, isSeq, parseDocument, type Document, type Node, type YAMLMap, type YAMLSeq } from 'yaml';
import { HermesError, toMessage } from '../src/contract/errors.ts';
import { readYaml, yamlOptions } from './read-yaml.ts';
import { toConfigError } from './problems.ts';
import { hideVariables, showVariables } from './variables.ts';

/**
 * The new text of the file. `value` is YAML, e.g. `12`, `true`, `[1, 2]`; `asText` takes it as a text instead.
 * Throws CONFIG_INVALID when the old text or the value is no YAML, USAGE when the key leads through something that holds no keys.
 */
export function setKey(file: string, text: string, key: string, value: string, asText: boolean): string {
  const broken = readYaml(file, text, {}).problems;
  if (broken.length > 0) throw toConfigError(broken);
  const document = parseDocument(hideVariables(text), yamlOptions);
  const path = key.split('.');
  if (path.includes('')) throw new HermesError('USAGE', `${key} is no key; write it like log.level`);
  const created = document.createNode(asText ? hideVariables(value) : toPlain(value));
  if (document.contents === null || isEmptyScalar(document.contents)) document.contents = document.createNode({}) as never;
  let holder: Node | null = document.contents;
  for (const name of path.slice(0, -1)) holder = stepInto(document, holder, name, key);
  put(document, holder, path.at(-1) ?? '', created, key);
  return showVariables(document.toString({ lineWidth: 0, flowCollectionPadding: /[{[] /.test(text) }));
}

function toPlain(value: string): unknown {
  const parsed = parseDocument(hideVariables(value), yamlOptions);
  if (parsed.errors.length > 0) throw new HermesError('USAGE', 'the value is not valid YAML; put quotes around it');
  return parsed.toJS({ maxAliasCount: 0 });
}

function isEmptyScalar(node: unknown): boolean {
  return isScalar(node) && node.value === null;
}

function stepInto(document: Document, holder: Node | null, name: string, key: string): Node {
  const found = find(holder, name, key);
  if (found && !isEmptyScalar(found)) return found;
  const section = document.createNode({}) as Node;
  put(document, holder, name, section, key);
  return section;
}

function find(holder: Node | null, name: string, key: string): Node | null {
  if (isMap(holder)) return (pairOf(holder, name)?.value ?? null) as Node | null;
  if (isSeq(holder)) return (holder.items[toIndex(holder, name, key)] ?? null) as Node | null;
  throw new HermesError('USAGE', `${key} cannot be set: something on the way to it holds no keys; edit the file by hand`);
}

/** The comments of what stood there before stay. */
function put(document: Document, holder: Node | null, name: string, value: Node, key: string): void {
  const before = find(holder, name, key);
  if (before && isScalar(before)) {
    value.comment = before.comment ?? null;
    value.commentBefore = before.commentBefore ?? null;
  }
  if (isSeq(holder)) holder.items[toIndex(holder, name, key)] = value;
  if (!isMap(holder)) return;
  const pair = pairOf(holder, name);
  if (pair) pair.value = value;
  else holder.items.push(document.createPair(name, value));
}

/** Keys are compared as they are written: `-100123:` is found by "-100123". */
function pairOf(map: YAMLMap, name: string) {
  return map.items.find(({ key }) => isScalar(key) && (typeof key.value === 'string' ? key.value : key.source) === name);
}

function toIndex(list: YAMLSeq, name: string, key: string): number {
  const index = /^\d+$/.test(name) ? Number(name) : NaN;
  if (index <= list.items.length) return index;
  throw new HermesError('USAGE', `${key} cannot be set: the list has ${list.items.length} items, counted from 0`);
}

/** Throws HOME_UNUSABLE. The file keeps its mode, a new one is 0600. */
export function replaceFile(path: string, text: string): void {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const mode = (statSync(path, { throwIfNoEntry: false })?.mode ?? 0o600) & 0o777;
    const file = openSync(temporary, 'w', mode);
    try {
      writeFileSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
    syncFolder(dirname(path));
  } catch (cause) {
    if (existsSync(temporary)) rmSync(temporary);
    throw new HermesError('HOME_UNUSABLE', `${path} cannot be written: ${toMessage(cause)}`, { cause });
  }
}

/** Makes the rename last through a power cut. */
function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
