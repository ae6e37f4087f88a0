/** The table of docs/configuration.md, made from the schemas. */
import { z } from 'zod';
import type { KeyNode } from '../../config/keys.ts';
import { toKeyTree } from '../../config/keys.ts';
import { configShape } from '../../config/schema.ts';
import { chatPlatformShape } from '../../src/lib/platform-config.ts';
import { platforms } from './support.ts';

const main = z.strictObject(configShape);
const everyPlatform = z.strictObject(chatPlatformShape);

export function toKeyTable(): string {
  const shared = new Set(Object.keys(chatPlatformShape));
  const own = Object.entries(platforms).flatMap(([platform, schema]) =>
    toRows(omit(toKeyTree(schema), shared), schema.parse({}), `platforms.${platform}`),
  );
  return [
    '| key | default | meaning |\n|---|---|---|',
    ...toRows(toKeyTree(main), main.parse({}), ''),
    ...own,
    ...toRows(toKeyTree(everyPlatform), everyPlatform.parse({}), 'platforms.PLATFORM'),
  ].join('\n');
}

function omit(node: KeyNode, names: Set<string>): KeyNode {
  return { ...node, properties: Object.fromEntries(Object.entries(node.properties ?? {}).filter(([name]) => !names.has(name))) };
}

/** `value` is what an empty file gives here; undefined inside lists and mappings of one's own. */
function toRows(node: KeyNode, value: unknown, path: string): string[] {
  const rows = node.description ? [`| \`${path}\` | ${toDefault(node, value)} | ${toMeaning(node)} |`] : [];
  for (const [name, child] of Object.entries(node.properties ?? {}))
    rows.push(...toRows(child, (value as Record<string, unknown> | null | undefined)?.[name], path ? `${path}.${name}` : name));
  if (typeof node.additionalProperties === 'object') rows.push(...toRows(node.additionalProperties, undefined, `${path}.NAME`));
  if (node.items) rows.push(...toRows(node.items, undefined, `${path}.N`));
  for (const variant of node.anyOf ?? []) rows.push(...toRows(variant, undefined, path));
  return rows;
}

function toDefault(node: KeyNode, value: unknown = node.default): string {
  if (node.env) return `\`\${${node.env}}\``;
  return value === undefined ? '' : `\`${JSON.stringify(value)}\``;
}

function toMeaning(node: KeyNode): string {
  const choices = (node.enum ?? (node.anyOf ?? []).flatMap((variant) => variant.enum ?? [])).filter((choice) => choice !== null);
  const limits = choices.length > 0 ? ` (${choices.map((choice) => `\`${String(choice)}\``).join(', ')})` : '';
  const override = node.override ? `; ${node.override} wins over the file` : '';
  return `${node.description}${limits}${override}`.replaceAll('|', '\\|');
}
