/**
 * The gate in front of the registry: one malformed schema would make the provider refuse every request, so a definition that
 * is not right never gets in. The message names the tool, its owner and the cure.
 */
import { HermesError } from '../contract/errors.ts';
import type { Tool } from '../contract/tool.ts';
import { toRecord } from './safe-json.ts';

/** Throws a HermesError TOOL_INVALID unless `candidate` is a tool that every provider accepts. */
export function assertTool(candidate: unknown, owner: string): asserts candidate is Tool {
  const tool = toRecord(candidate);
  const name = tool?.['name'];
  const problem = tool ? problemOf(tool) : 'it is no object; export {name, toolset, schema, handler}';
  if (problem) throw new HermesError('TOOL_INVALID', `Tool ${typeof name === 'string' ? name : '(without a name)'} of ${owner}: ${problem}.`);
}

function problemOf(tool: Record<string, unknown>): string | null {
  const { name, toolset, handler } = tool;
  if (typeof name !== 'string' || !/^[a-zA-Z0-9_-]{1,64}$/.test(name)) return 'name must be 1 to 64 letters, digits, _ or -';
  if (typeof toolset !== 'string' || toolset === '') return 'toolset must name the toolset it belongs to';
  if (typeof handler !== 'function') return 'handler must be a function (args, context) that returns a JSON string';
  return schemaProblem(tool['schema']) ?? optionProblem(tool);
}

function schemaProblem(value: unknown): string | null {
  const schema = toRecord(value);
  if (!schema) return 'schema must be an object {name, description, parameters}';
  if (typeof schema['description'] !== 'string') return 'schema.description must be a text that tells the model when to use it';
  if (schema['parameters'] === undefined) return null;
  const parameters = toRecord(schema['parameters']);
  if (!parameters) return 'schema.parameters must be a JSON Schema object, e.g. {type: "object", properties: {}}';
  if (parameters['type'] !== undefined && parameters['type'] !== 'object') return 'schema.parameters.type must be "object"';
  if (parameters['properties'] !== undefined && !toRecord(parameters['properties'])) return 'schema.parameters.properties must be an object';
  if (parameters['required'] !== undefined && !isTexts(parameters['required'])) return 'schema.parameters.required must be a list of names';
  return null;
}

function optionProblem(tool: Record<string, unknown>): string | null {
  for (const key of ['checkFn', 'needsApproval'])
    if (tool[key] !== undefined && typeof tool[key] !== 'function') return `${key} must be a function`;
  for (const key of ['requiresEnv', 'platforms'])
    if (tool[key] !== undefined && !isTexts(tool[key])) return `${key} must be a list of names`;
  for (const key of ['timeoutMs', 'maxResultChars'])
    if (tool[key] !== undefined && !(typeof tool[key] === 'number' && tool[key] > 0)) return `${key} must be a number above 0`;
  return null;
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
