/** Arguments that fit a JSON Schema well enough to try a tool with: an example, a default or a first choice where the schema has one. */
import type { ToolArgs } from '../contract/tool.ts';
import { isRecord } from './manifest.ts';

/** The required arguments, each with a value of its type. */
export function toSampleArgs(parameters: Record<string, unknown>): ToolArgs {
  const properties = isRecord(parameters.properties) ? parameters.properties : {};
  const required = Array.isArray(parameters.required) ? parameters.required.map(String) : [];
  return Object.fromEntries(required.map((name) => [name, toSample(properties[name])]));
}

function toSample(schema: unknown): unknown {
  if (!isRecord(schema)) return 'text';
  for (const choices of [schema.examples, schema.enum]) if (Array.isArray(choices) && choices.length > 0) return choices[0] as unknown;
  if (schema.default !== undefined) return schema.default;
  switch (Array.isArray(schema.type) ? (schema.type[0] as unknown) : schema.type) {
    case 'number':
    case 'integer':
      return typeof schema.minimum === 'number' ? schema.minimum : 1;
    case 'boolean':
      return true;
    case 'array':
      return schema.items === undefined ? [] : [toSample(schema.items)];
    case 'object':
      return toSampleArgs(schema);
    default:
      return 'text';
  }
}
