/**
 * The registry: every tool that exists, by name, with the file or plugin it came from. The model is offered what
 * `definitions` gives; a call goes validate -> handler (timed, abortable) -> one string of bounded size. Names are looked up
 * in a Map alone, since they come from the model and `constructor` is a name too.
 */
import type { Log } from '../contract/log.ts';
import type { ToolDefinition } from '../contract/model.ts';
import type { Tool, ToolArgs, ToolContext } from '../contract/tool.ts';
import { createValidator, toParameters } from './arguments.ts';
import { createAvailability, type Pass } from './availability.ts';
import { assertTool } from './definition.ts';
import { capErrorResult, cut, toErrorResult, toHandlerValue, toThrownText } from './result-text.ts';
import { runHandler, type HandlerEnd } from './run-handler.ts';
import { storeResult, toPreview } from './stored-results.ts';

export interface AbsentTool {
  name: string;
  reason: string;
}

export interface Registry {
  /**
   * Adds a tool; one of the same name and toolset is replaced. False when another toolset has the name already: the first
   * stays and the log names both owners. Throws a HermesError TOOL_INVALID for a malformed definition.
   */
  register(tool: Tool, owner: string): boolean;
  /** Takes the tool away if `owner` registered it. */
  unregister(name: string, owner: string): void;
  get(name: string): Tool | undefined;
  /** Every name, sorted. */
  names(): readonly string[];
  /** What the model is offered, sorted by name, and why the others of `names` are not. Never rejects. */
  definitions(names: Iterable<string>): Promise<{ definitions: ToolDefinition[]; absent: AbsentTool[] }>;
  /** Null, or a sentence that says what is wrong with the arguments. */
  validate(tool: Tool, args: unknown): string | null;
  /** Runs a tool. Every fault is a result `{"error": "..."}`; never throws, never rejects. */
  dispatch(name: string, args: ToolArgs, context: ToolContext): Promise<string>;
  /** The text itself, or what stands for a result that is too long for this tool. Never rejects. */
  capResult(tool: Tool, text: string): Promise<string>;
}

export interface RegistryOptions {
  log: Log;
  home: string;
  /** Where `requiresEnv` is looked up. */
  env?: Record<string, string | undefined>;
  /** Milliseconds, for the ages of checkFn answers. */
  now?: () => number;
  /** Removes secrets; every result passes it before it is stored or returned. */
  redact?: (text: string) => string;
}

const defaultResultChars = 50_000;

export function createRegistry({ log, home, env = {}, now = () => performance.now(), redact = (text) => text }: RegistryOptions): Registry {
  const entries = new Map<string, { tool: Tool; owner: string }>();
  /** Asked for several times in every turn. */
  let sortedNames: string[] | null = null;
  const warned = new Set<string>();
  const validate = createValidator();
  const absence = createAvailability({ env, now });

  function register(tool: Tool, owner: string): boolean {
    assertTool(tool, owner);
    const first = entries.get(tool.name);
    if (first && first.tool.toolset !== tool.toolset) {
      log.error(
        `Tool ${tool.name} of ${owner} (toolset ${tool.toolset}) is not registered: ${first.owner} has one of that name in toolset ${first.tool.toolset}. Rename one of them.`,
        { tool: tool.name },
      );
      return false;
    }
    entries.set(tool.name, { tool, owner });
    sortedNames = null;
    return true;
  }

  function unregister(name: string, owner: string): void {
    if (entries.get(name)?.owner === owner) entries.delete(name);
    sortedNames = null;
  }

  async function definitions(names: Iterable<string>) {
    const pass: Pass = new Map();
    const sorted = [...new Set(names)].sort();
    const asked = sorted.map(async (name) => {
      const tool = entries.get(name)?.tool;
      return { name, tool, reason: tool ? await absence(tool, pass) : 'not installed' };
    });
    const offered: ToolDefinition[] = [];
    const absent: AbsentTool[] = [];
    for (const { name, tool, reason } of await Promise.all(asked)) {
      if (tool && reason === null) {
        offered.push({ name, description: tool.schema.description, parameters: toParameters(tool) });
        continue;
      }
      absent.push({ name, reason: reason ?? 'not installed' });
      log.debug(`Tool ${name} is left out: ${reason}.`, { tool: name });
    }
    return { definitions: offered, absent };
  }

  async function dispatch(name: string, args: ToolArgs, context: ToolContext): Promise<string> {
    try {
      const entry = entries.get(name);
      if (!entry) return toErrorResult(`Unknown tool: ${cut(String(name), 200)}`);
      const { tool, owner } = entry;
      if (tool.agentRun) return toErrorResult(`${name} needs the agent's own state and cannot be dispatched directly.`);
      const invalid = validate(tool, args);
      if (invalid) return toErrorResult(invalid);
      const end = await runHandler(tool, args, context, {
        onLate: (late) => log.warn(`Tool ${name} of ${owner} ended after nobody waited for it any more; ${lateText(late)}`, { tool: name }),
        onBlocked: (ms) => log.warn(`Tool ${name} of ${owner} blocked the whole process for ${ms} ms; it should work asynchronously.`, { tool: name }),
      });
      return await fit(redact(toText(tool, owner, end)), tool.maxResultChars ?? defaultResultChars);
    } catch (thrown) {
      return toErrorResult(redact(`Error executing ${cut(String(name), 200)}: ${toThrownText(thrown)}`));
    }
  }

  function toText(tool: Tool, owner: string, end: HandlerEnd): string {
    if (end.kind === 'timed_out') return toErrorResult(`Tool ${tool.name} timed out after ${end.limitMs / 1000} s; whether it took effect is unknown.`);
    if (end.kind === 'aborted') return toErrorResult(`Tool ${tool.name} was aborted.`);
    if (end.kind === 'threw') return toErrorResult(`Tool execution failed: ${toThrownText(end.thrown)}`);
    const value = toHandlerValue(end.value);
    if (value.kind === 'text') return capErrorResult(value.text);
    if (value.kind === 'failure') return toErrorResult(`Tool execution failed: ${value.message}`);
    warnOnce(tool, owner, value.kind === 'object' ? 'an object' : value.type);
    if (value.kind === 'object') return capErrorResult(value.text);
    return toErrorResult(`Tool handler returned unsupported result type: ${value.type}`, {
      error_type: 'tool_result_contract',
      tool: tool.name,
      result_type: value.type,
    });
  }

  function warnOnce(tool: Tool, owner: string, what: string): void {
    const key = `${tool.name}\n${what}`;
    if (warned.has(key)) return;
    warned.add(key);
    log.warn(`The handler of tool ${tool.name} (${owner}) returned ${what}; return a JSON string, e.g. JSON.stringify(...).`, { tool: tool.name });
  }

  async function fit(text: string, limit: number): Promise<string> {
    if (text.length <= limit) return text;
    try {
      return await storeResult(home, text, limit);
    } catch (thrown) {
      log.error(`A long tool result could not be kept: ${toThrownText(thrown)}.`);
      return toPreview(text, limit, { size: text.length, note: 'Too long to show whole, and the rest could not be kept.' });
    }
  }

  return {
    register,
    unregister,
    get: (name) => entries.get(name)?.tool,
    names: () => (sortedNames ??= [...entries.keys()].sort()),
    definitions,
    validate,
    dispatch,
    capResult: (tool, text) => fit(text, tool.maxResultChars ?? defaultResultChars),
  };
}

function lateText(end: HandlerEnd): string {
  return end.kind === 'threw' ? `its error is discarded: ${cut(toThrownText(end.thrown), 500)}` : 'its result is discarded.';
}
