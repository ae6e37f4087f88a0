/**
 * A conversation with the agent core: real turns, real hook lists and a real registry; only the model is scripted, and the journal
 * is kept in memory.
 *
 *   const talk = startTalk({ script: [calls('weather', { city: 'London' }), says('It rains.')], tools: [weather] });
 *   expect((await talk.says('Do I need an umbrella?')).text).toBe('It rains.');
 */
import { runTurn, type TurnInput, type TurnResult } from '../../src/agent/turn.ts';
import type { Model, ModelFailure, ModelReply, ModelRequest, ToolCall } from '../../src/contract/model.ts';
import { hookTable, type HookName } from '../../src/contract/plugin.ts';
import type { AgentTool, Tool } from '../../src/contract/tool.ts';
import type { Entry, Journal, ToolEntry, UserEntry } from '../../src/contract/transcript.ts';
import type { TurnEvent } from '../../src/contract/turn.ts';
import { silentLog } from '../../src/lib/log.ts';
import { createHooks, type HookLists } from '../../src/plugins/hooks.ts';
import { createRegistry } from '../../src/tools/registry.ts';

export type Script = ModelReply | ((request: ModelRequest) => ModelReply | Promise<ModelReply>);

export interface TalkOptions {
  script?: Script[];
  /** What is answered once the script is empty. */
  otherwise?: Script;
  tools?: Tool[];
  agentTools?: Map<string, AgentTool>;
  history?: Entry[];
  contextWindow?: number;
  input?: Partial<TurnInput>;
}

export interface Talk {
  says(text: string, input?: Partial<TurnInput>): Promise<TurnResult>;
  hooks: HookLists;
  /** What the model was asked, copied at that moment. */
  requests: Pick<ModelRequest, 'messages' | 'tools'>[];
  events: TurnEvent[];
  /** What the journal was told, in words: `begin`, `step`, `started a`, `result a`, `steered`, `compacted`. */
  journal: string[];
  /** What a store would hold; the caller's last entry included once a turn is over. */
  history: Entry[];
  /** The names of all hooks in the order they were fired; see watchHooks. */
  fired: { name: HookName; payload: Record<string, unknown> }[];
  watchHooks(): void;
}

export function startTalk(options: TalkOptions = {}): Talk {
  const script = [...(options.script ?? [])];
  const hooks = createHooks({ log: silentLog, limits: { preMs: 5000, postMs: 5000 } });
  const registry = createRegistry({ log: silentLog, home: '/nowhere' });
  for (const tool of options.tools ?? []) registry.register(tool, 'test');
  const requests: Talk['requests'] = [];
  const events: TurnEvent[] = [];
  const journal: string[] = [];
  const history = [...(options.history ?? [])];
  const fired: Talk['fired'] = [];
  let turns = 0;

  const model: Model = {
    id: 'test/model',
    contextWindow: options.contextWindow ?? 128_000,
    async call(request) {
      requests.push({ messages: structuredClone(request.messages), tools: request.tools });
      const next = script.shift() ?? options.otherwise;
      if (!next) throw new Error('the script of the model is over');
      const reply = typeof next === 'function' ? await next(request) : next;
      if (reply.ok && reply.text) for (const word of reply.text.split(/(?<= )/)) request.onText?.(word);
      return reply;
    },
  };

  return {
    hooks,
    requests,
    events,
    journal,
    history,
    fired,
    watchHooks() {
      for (const name of Object.keys(hookTable) as HookName[]) hooks.add('watcher', name, (payload) => void fired.push({ name, payload }));
    },
    async says(text, more = {}) {
      const turnId = `turn-${++turns}`;
      const definitions = (options.tools ?? []).map(({ schema }) => ({ ...schema }));
      const result = await runTurn({
        turnId,
        sessionId: 'session-1',
        taskId: 'session-1',
        platform: 'test',
        senderId: 'anna',
        home: '/nowhere',
        systemPrompt: 'You are a test.',
        history: [...history],
        user: { role: 'user', turnId, text },
        isFirstTurn: history.length === 0,
        tools: { definitions, get: registry.get, refusal: () => null, validate: registry.validate, dispatch: registry.dispatch, capResult: (_tool, text) => text },
        agentTools: options.agentTools ?? new Map(),
        model,
        hooks,
        journal: createJournal(journal),
        limits: { maxSteps: 25, timeoutMs: 60_000 },
        loadImages: async () => [],
        approve: async () => ({ allow: true }),
        steering: () => [],
        redact: (text) => text,
        emit: (event) => void events.push(event),
        signal: new AbortController().signal,
        log: silentLog,
        ...options.input,
        ...more,
      });
      await result.afterwards();
      history.push(...result.entries);
      return result;
    },
  };
}

function createJournal(lines: string[]): Journal {
  const note = async (line: string) => void lines.push(line);
  return {
    begin: (entry: UserEntry, context: string) => note(context ? `begin ${entry.text} + ${context}` : `begin ${entry.text}`),
    step: (entry) => note(`step ${entry.toolCalls.map((call) => call.id).join(' ')}`),
    toolStarted: (entry: ToolEntry) => note(`started ${entry.toolCallId}`),
    toolResult: (entry: ToolEntry) => note(`result ${entry.toolCallId} ${entry.text}`),
    steered: (entry) => note(`steered ${entry.text}`),
    compacted: (summary, firstKeptTurnId) => note(`compacted ${firstKeptTurnId} ${summary}`),
  };
}

export const usage = { input: 10, output: 5, cached: 0, requests: 1 };

export function says(text: string, more: Partial<Extract<ModelReply, { ok: true }>> = {}): ModelReply {
  return { ok: true, text, toolCalls: [], finish: 'stop', model: 'test/model', usage, ...more };
}

let made = 0;

/** A reply with one tool call; ids are unique unless given. */
export function calls(name: string, args: Record<string, unknown> = {}, more: Partial<ToolCall> = {}): ModelReply {
  return callsAll({ name, args, ...more });
}

export function callsAll(...toolCalls: (Partial<ToolCall> & { name: string })[]): ModelReply {
  return says('', { finish: 'tool_calls', toolCalls: toolCalls.map((call) => ({ id: `call-${++made}`, args: {}, ...call })) });
}

export function fails(failure: ModelFailure, partialText = ''): ModelReply {
  return { ok: false, failure, detail: 'secret-canary from the provider', partialText, usage };
}

export function tool(name: string, handler: Tool['handler'], more: Partial<Tool> = {}): Tool {
  const parameters = { type: 'object', properties: { n: { type: 'number' }, city: { type: 'string' } } };
  return { name, toolset: 'test', schema: { name, description: `Does ${name}.`, parameters }, handler, ...more };
}

export function toolTexts(result: TurnResult): (string | null)[] {
  return result.entries.flatMap((entry) => (entry.role === 'tool' ? [entry.text] : []));
}
