/**
 * The one surface behind which every provider stands. A call never throws: faults are data, so that the turn can decide.
 * Retries, time-outs and fallbacks live behind this surface; the turn sees one call.
 */
import type { Log } from './log.ts';

export interface ToolCall {
  id: string;
  name: string;
  /** Parsed arguments; `{}` when they could not be parsed. */
  args: Record<string, unknown>;
  /** Set when the arguments were no JSON object: the tool must not run and the model is told this. */
  invalid?: string;
}

/** One message as the model gets it. */
export type ModelMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; content: string; images?: { mime: string; base64: string }[] }
  | { role: 'assistant'; content: string; toolCalls?: ToolCall[] }
  | { role: 'tool'; toolCallId: string; name: string; content: string };

/** A tool as the model is offered it. */
export interface ToolDefinition {
  name: string;
  description: string;
  /** JSON Schema of the arguments; always an object schema. */
  parameters: Record<string, unknown>;
}

export interface Usage {
  /** Tokens; never negative. */
  input: number;
  output: number;
  /** The part of `input` that came from the provider's cache. */
  cached: number;
  /** HTTP requests made. */
  requests: number;
}

export interface ModelRequest {
  messages: ModelMessage[];
  tools: ToolDefinition[];
  signal: AbortSignal;
  /** Visible text as it arrives. */
  onText?(delta: string): void;
  /** The text given to onText in this call is void: another attempt begins. Only before anything final is known. */
  onRetract?(): void;
  /** Told of every HTTP attempt; awaited before the request is sent and after it is answered. */
  api?: ApiObserver;
}

export type ModelFailure =
  | 'auth' // 401, 403: the key is refused
  | 'quota' // 402 or a quota phrase
  | 'rate_limited'
  | 'overflow' // the prompt does not fit the context window
  | 'bad_request' // any other 4xx
  | 'unavailable' // 5xx, connection refused, DNS, TLS
  | 'timeout' // connect, first byte or idle
  | 'cut' // the stream ended in the middle
  | 'bad_answer' // HTML, no choices, an error in a 200
  | 'aborted'; // by request.signal

export type ModelReply =
  | {
      ok: true;
      text: string;
      toolCalls: ToolCall[];
      finish: 'stop' | 'tool_calls' | 'length' | 'content_filter';
      /** Provider and name that answered, e.g. `openai/gpt-5-mini`; differs from Model.id after a fallback. */
      model: string;
      usage: Usage;
    }
  | {
      ok: false;
      failure: ModelFailure;
      /** For the log and the operator only; never shown in a chat. At most 2 KiB, secrets removed. */
      detail: string;
      status?: number;
      /** Text that was already handed to onText and not retracted. */
      partialText: string;
      usage: Usage;
    };

export interface Model {
  /** `provider/name`. */
  readonly id: string;
  /** Tokens. */
  readonly contextWindow: number;
  /** Never throws or rejects. */
  call(request: ModelRequest): Promise<ModelReply>;
}

export interface ApiRequestInfo {
  method: string;
  url: string;
  /** Secrets are replaced by `[redacted]`. */
  headers: Record<string, string>;
  body: unknown;
  model: string;
  /** 1 for the first attempt of a call. */
  attempt: number;
}

export interface ApiResponseInfo {
  method: string;
  url: string;
  status_code: number;
  /** The assembled answer, or the error body (at most 2 KiB). */
  response: unknown;
  duration_ms: number;
  usage: Usage | null;
}

export interface ApiErrorInfo {
  status_code: number | null;
  error: string;
  attempt: number;
  retryable: boolean;
}

export interface ApiObserver {
  onRequest(info: ApiRequestInfo): Promise<void>;
  onResponse(info: ApiResponseInfo): Promise<void>;
  onError(info: ApiErrorInfo): Promise<void>;
}

/** What createModel needs; the same shape as config `model`. */
export interface ModelConfig {
  provider: string;
  name: string | null;
  base_url: string | null;
  api_key: string | null;
  context_window: number;
  fallbacks: { provider: string; name: string | null; base_url: string | null; api_key: string | null }[];
}

/** The clock and the log that model code uses; tests pass their own. */
export interface ModelDeps {
  log: Log;
  /** Environment to look the provider's usual key up in. */
  env: Record<string, string | undefined>;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Monotonic, ms. */
  now(): number;
  random(): number;
}
