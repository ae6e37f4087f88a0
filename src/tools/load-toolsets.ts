/** config/toolsets.yaml as data: name -> {description, tools, includes}. Every problem of the file is said in one go. */
import { parse } from 'yaml';
import { HermesError, toMessage } from '../contract/errors.ts';
import { toRecord } from './safe-json.ts';

export interface ToolsetDefinition {
  description: string;
  tools: readonly string[];
  includes: readonly string[];
}

export type ToolsetDefinitions = ReadonlyMap<string, ToolsetDefinition>;

/** Throws a HermesError CONFIG_INVALID that lists every problem. A Map, because names come from outside. */
export function loadToolsets(yamlText: string): ToolsetDefinitions {
  const file = toRecord(parseYaml(yamlText));
  if (!file) throw new HermesError('CONFIG_INVALID', 'toolsets.yaml: write a mapping of names to {description, tools, includes}.');
  const definitions = new Map<string, ToolsetDefinition>();
  const problems: string[] = [];
  for (const [name, value] of Object.entries(file)) {
    const set = toRecord(value);
    const unknown = set && Object.keys(set).find((key) => !['description', 'tools', 'includes'].includes(key));
    const tools = toNames(set?.['tools']);
    const includes = toNames(set?.['includes']);
    const description = set?.['description'];
    if (unknown) problems.push(`${name}.${unknown}: unknown key; a toolset has description, tools and includes`);
    else if (!tools || !includes || typeof description !== 'string') problems.push(`${name}: needs a description, and tools and includes as lists of names`);
    else definitions.set(name, { description, tools, includes });
  }
  if (problems.length > 0) throw new HermesError('CONFIG_INVALID', `toolsets.yaml cannot be used:\n${problems.join('\n')}`);
  return definitions;
}

function parseYaml(text: string): unknown {
  try {
    return parse(text);
  } catch (thrown) {
    throw new HermesError('CONFIG_INVALID', `toolsets.yaml cannot be read: ${toMessage(thrown)}`, { cause: thrown });
  }
}

function toNames(value: unknown): string[] | null {
  if (value === undefined) return [];
  return Array.isArray(value) && value.every((name) => typeof name === 'string') ? (value as string[]) : null;
}
