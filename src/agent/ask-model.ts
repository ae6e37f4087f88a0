/**
 * One step's question to the model: the budget is asked, a history that is too long is compacted, the request is built and sent, its
 * text streams out. A prompt that the provider finds too long is compacted and sent again, twice at most in one turn.
 */
import type { ApiObserver, ModelMessage, ModelReply, Usage } from '../contract/model.ts';
import type { Entry, UserEntry } from '../contract/transcript.ts';
import { compactHistory } from './compact.ts';
import { toModelMessages } from './prompt.ts';
import { estimateEntries, estimateEntry, estimateTokens, estimateTools } from './tokens.ts';
import type { TurnInput } from './turn-input.ts';

const compactAt = 0.75;
const keepShare = 0.25;
const maxCompactions = 2;

/** Stands behind the conversation of the last call, as sent only. */
const askForAnswer = 'No steps are left in this turn. Answer now, without tools, with what you have; say what is still open.';

/** What the calls of one turn share. */
export interface Asking {
  input: TurnInput;
  /** The message of this turn; never empty. */
  user: UserEntry;
  signal: AbortSignal;
  /** Earlier turns; compaction replaces them. */
  history: readonly Entry[];
  /** This turn after the user's message; grows. */
  turnEntries: readonly Entry[];
  context: string;
  images: { mime: string; base64: string }[];
  usage: Usage;
}

/** Gives the reply, or the budget's sentence when no call may be made. `last`: without tools, asking for an answer. */
export type AskModel = (last: boolean) => Promise<ModelReply | { refused: string }>;

export function createAskModel(asking: Asking): AskModel {
  const { input, signal, usage } = asking;
  const { model } = input;
  const api = toApiObserver(input);
  const fixedSize = estimateTokens(input.systemPrompt) + estimateTools(input.tools.definitions) + estimateTokens(asking.context);
  const userSize = estimateEntry(asking.user);
  let historySize = estimateEntries(asking.history);
  let turnSize = 0;
  let sized = 0;
  let compactions = 0;
  let overflows = 0;

  const isTooLong = () => {
    for (; sized < asking.turnEntries.length; sized++) turnSize += estimateEntry(asking.turnEntries[sized] as Entry);
    return fixedSize + userSize + historySize + turnSize > model.contextWindow * compactAt;
  };

  /** True when the history has become smaller; a reply when the provider is out and asking it again is no use. */
  const compact = async (how: { keepTokens: number; keepAtLeast?: number; summarise?: boolean }): Promise<boolean | ModelReply> => {
    if (compactions >= maxCompactions) return false;
    const done = await compactHistory({ history: asking.history, model, signal, ...how, ...(api && { api }) });
    if (done.status === 'nothing') return false;
    addUsage(usage, done.status === 'failed' ? done.reply.usage : done.usage);
    if (done.status === 'failed') return done.reply;
    await input.journal.compacted(done.summary, done.firstKeptTurnId ?? input.turnId);
    input.log.info('history compacted', { summarised: done.summarised, entries: asking.history.length });
    asking.history = done.entries;
    historySize = estimateEntries(done.entries);
    // A prompt that could not even be summarised will not get smaller by another try.
    compactions = done.summarised ? compactions + 1 : maxCompactions;
    return true;
  };

  const compactAfterOverflow = () => {
    overflows++;
    const keepTokens = Math.min(model.contextWindow * keepShare, historySize / 2);
    return overflows === 1 ? compact({ keepTokens, keepAtLeast: 0 }) : compact({ keepTokens: 0, keepAtLeast: 0, summarise: false });
  };

  return async (last) => {
    for (;;) {
      const refused = input.beforeCall?.(usage);
      if (refused) return { refused };
      if (isTooLong()) {
        const done = await compact({ keepTokens: model.contextWindow * keepShare });
        if (typeof done === 'object') return done;
      }
      const { history, user, context, turnEntries, images } = asking;
      const messages = toModelMessages({ systemPrompt: input.systemPrompt, history, user, context, turnEntries, images });
      if (last) addToEnd(messages, askForAnswer);
      const reply = await model.call({
        messages,
        tools: last ? [] : input.tools.definitions,
        signal,
        onText: (delta) => input.emit({ type: 'text', delta }),
        onRetract: () => input.emit({ type: 'retract' }),
        ...(api && { api }),
      });
      addUsage(usage, reply.usage);
      if (reply.ok || reply.failure !== 'overflow' || reply.partialText || signal.aborted) return reply;
      const done = await compactAfterOverflow();
      if (typeof done === 'object') return done;
      if (!done) return reply;
    }
  };
}

/** As a user message of its own, or behind the one that stands there: two in a row are refused by some providers. */
function addToEnd(messages: ModelMessage[], text: string): void {
  const end = messages.at(-1);
  if (end?.role === 'user') messages[messages.length - 1] = { ...end, content: `${end.content}\n\n${text}` };
  else messages.push({ role: 'user', content: text });
}

/** Absent when no plugin listens, so that the model need not assemble what nobody reads. */
function toApiObserver({ hooks, sessionId, turnId, platform }: TurnInput): ApiObserver | undefined {
  if (!hooks.has('pre_api_request') && !hooks.has('post_api_request') && !hooks.has('api_request_error')) return undefined;
  const ofTurn = { session_id: sessionId, turn_id: turnId, platform };
  return {
    onRequest: async (info) => void (await hooks.fire('pre_api_request', { ...info, ...ofTurn })),
    onResponse: async (info) => void (await hooks.fire('post_api_request', { ...info, ...ofTurn })),
    onError: async (info) => void (await hooks.fire('api_request_error', { ...info, ...ofTurn })),
  };
}

function addUsage(sum: Usage, more: Usage): void {
  sum.input += more.input;
  sum.output += more.output;
  sum.cached += more.cached;
  sum.requests += more.requests;
}
