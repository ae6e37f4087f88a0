/**
 * Arguments on their way to a tool: capped in size and depth, free of keys that reach prototypes, valid by the tool's JSON
 * Schema. Nothing is coerced or filled in, so that hooks, approvals and the handler see the same bytes.
 */
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { toMessage } from '../contract/errors.ts';
import type { Tool } from '../contract/tool.ts';
import { cut } from './result-text.ts';
import { toRecord } from './safe-json.ts';

const maxBytes = 256 * 1024;
const maxDepth = 64;

/** Null when the arguments are valid, otherwise a sentence that the model can act on. */
export type ValidateArgs = (tool: Tool, args: unknown) => string | null;

/** Each tool's schema is compiled once, at its first call; nothing is compiled at start, the schema of schemas never. */
export function createValidator(): ValidateArgs {
  let ajv: Ajv | null = null;
  const compiled = new WeakMap<Tool, ValidateFunction | string>();

  function check(tool: Tool): ValidateFunction | string {
    const known = compiled.get(tool);
    if (known) return known;
    let made: ValidateFunction | string;
    try {
      // `$schema` may name a draft that ajv was not built for; the keywords that tools use mean the same in all of them.
      const { $schema: _, ...schema } = toParameters(tool);
      ajv ??= new Ajv({ strict: false, allErrors: true, addUsedSchema: false, validateFormats: false, meta: false, validateSchema: false, logger: false });
      made = ajv.compile(schema);
    } catch (thrown) {
      made = `The schema of ${tool.name} cannot be used: ${toMessage(thrown)}`;
    }
    compiled.set(tool, made);
    return made;
  }

  return (tool, args) => {
    if (!toRecord(args)) return `Arguments of ${tool.name} must be a JSON object.`;
    const beyond = overLimit(args);
    if (beyond) return `Arguments of ${tool.name} ${beyond}.`;
    const validate = check(tool);
    if (typeof validate === 'string') return validate;
    if (validate(args)) return null;
    const problems = (validate.errors ?? []).slice(0, 5).map(toSentence);
    return `Arguments of ${tool.name} are not valid: ${[...new Set(problems)].join('; ')}.`;
  };
}

/** The JSON Schema of a tool's arguments, always of type object. */
export function toParameters(tool: Tool): Record<string, unknown> {
  const given: Record<string, unknown> | undefined = tool.schema.parameters;
  return { type: 'object', properties: {}, ...given };
}

/** Walks without recursion: the arguments may be as deep as an attacker likes, and from a plugin even cyclic. */
function overLimit(args: unknown): string | null {
  let budget = maxBytes;
  const waiting: { value: unknown; depth: number }[] = [{ value: args, depth: 1 }];
  for (let item = waiting.pop(); item; item = waiting.pop()) {
    if (typeof item.value !== 'object' || item.value === null) continue;
    if (item.depth > maxDepth) return `are nested deeper than ${maxDepth} levels`;
    if (Object.hasOwn(item.value, '__proto__')) return 'hold the key __proto__, which is not allowed';
    for (const value of Object.values(item.value)) {
      if (--budget < 0) return `are larger than ${maxBytes / 1024} KiB`;
      waiting.push({ value, depth: item.depth + 1 });
    }
  }
  try {
    return Buffer.byteLength(JSON.stringify(args)) > maxBytes ? `are larger than ${maxBytes / 1024} KiB` : null;
  } catch (thrown) {
    return `are not JSON (${toMessage(thrown)})`;
  }
}

function toSentence(error: ErrorObject): string {
  const where = error.instancePath ? `${error.instancePath} ` : '';
  const params = error.params as { allowedValues?: unknown[]; additionalProperty?: string };
  const allowed = params.allowedValues ? `: ${params.allowedValues.join(', ')}` : '';
  const extra = params.additionalProperty ? ` (${cut(params.additionalProperty, 100)})` : '';
  return `${cut(where, 200)}${error.message ?? error.keyword}${allowed}${extra}`;
}
