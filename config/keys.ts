/** The schemas seen as a tree of keys: what may stand where, what is secret, which variable stands behind a key. */
import { z, type ZodType } from 'zod';
import type { KeyFacts } from '../src/lib/config-values.ts';
import type { Path } from './read-yaml.ts';

/** A JSON Schema node with the facts of lib/config-values.ts beside it. */
export interface KeyNode extends Partial<KeyFacts> {
  type?: string | string[];
  properties?: Record<string, KeyNode>;
  /** What keys of one's own choosing hold. */
  additionalProperties?: KeyNode | boolean;
  items?: KeyNode;
  anyOf?: KeyNode[];
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
}

/** Describes what may be written (not what comes out of it). */
export function toKeyTree(schema: ZodType): KeyNode {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as KeyNode;
}

/** The node of one key or list item; undefined when there can be no such key. */
export function childOf(node: KeyNode, name: string | number): KeyNode | undefined {
  if (node.properties && Object.hasOwn(node.properties, name)) return node.properties[name];
  if (node.items && /^\d+$/.test(String(name))) return node.items;
  if (typeof node.additionalProperties === 'object') return node.additionalProperties;
  for (const variant of node.anyOf ?? []) {
    const child = childOf(variant, name);
    if (child) return child;
  }
  return undefined;
}

export function keyAt(root: KeyNode, path: Path): KeyNode | undefined {
  return path.reduce<KeyNode | undefined>((node, name) => node && childOf(node, name), root);
}

/** Names that a mapping may hold; empty where any name goes. */
export function keyNames(node: KeyNode | undefined): string[] {
  return [...Object.keys(node?.properties ?? {}), ...(node?.anyOf ?? []).flatMap(keyNames)];
}

const secretName = /(token|key|secret|password)$/i;

/** Keys of plugins' own platforms have no facts, so their names must tell. */
function isSecret(node: KeyNode | undefined, name: string): boolean {
  return node && Object.keys(node).length > 0 ? node.secret === true : secretName.test(name);
}

/** A copy of a configuration in which `change` has replaced every secret text that is not empty. */
export function mapSecrets(value: unknown, node: KeyNode | undefined, change: (secret: string) => string, name = ''): unknown {
  if (typeof value === 'string') return value !== '' && isSecret(node, name) ? change(value) : value;
  if (Array.isArray(value)) return value.map((item, index) => mapSecrets(item, node && childOf(node, index), change, name));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, mapSecrets(item, node && childOf(node, key), change, key)]),
  );
}
