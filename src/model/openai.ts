/**
 * The only door to the `openai` package: one streamed chat completion per attempt, against any compatible server.
 *
 * request -> body -> observer -> HTTP -> readAnswer -> assembler -> answer or Fault. The package builds and sends the request;
 * its retries are off (retry.ts decides), and its stream reader is not used: it ends a cut stream without a word.
 */
import type { OpenAI as OpenAIClient } from 'openai';
import type { ChatCompletionCreateParamsStreaming } from 'openai/resources/chat/completions';
import type { ModelDeps, ModelRequest, Usage } from '../contract/model.ts';
import { createRedactor } from '../lib/redact.ts';
import { createAssembler } from './assemble.ts';
import { type Answer, type Attempt, type AttemptResult, type Fault, FaultError, noUsage, type Provider } from './attempt.ts';
import { cutDetail, toBodyFault, toConnectionFault, toStatusFault } from './classify.ts';
import type { ProviderSpec } from './presets.ts';
import { createPost } from './post.ts';
import { readAnswer } from './read-answer.ts';
import { toOpenAiMessages, toOpenAiTools } from './to-openai-messages.ts';
import { untilAborted } from './until-aborted.ts';
import { startWatch, type Watch } from './watch.ts';

/** Ms between two chunks that carry something. */
const idleMs = 60_000;
/** Ms for the usage that some servers send behind the finish_reason, and for the end of the body. */
const afterFinishMs = 5_000;
/** Bytes of an error body that are read at all. */
const errorBodyLimit = 64 * 1024;

const secretHeaders = /^(authorization|api-key|x-api-key|cookie|proxy-authorization)$/;

type Sdk = { OpenAI: typeof OpenAIClient };

/** What is known of the HTTP request of one attempt. */
interface Exchange {
  url: string;
  startedAt: number;
  sent: 0 | 1;
  /** Null until the answer's headers are there. */
  status: number | null;
  /** Ends the answer, wherever it is. */
  close?: () => void;
  /** Of an answer with a status that is a success. */
  body?: AsyncIterable<Uint8Array>;
  /** An answer with a status that is no success. */
  refusal?: { body: string; headers: Headers };
  watch?: Watch;
  /** The limit that ran out, if one did. */
  expiredMs?: number;
}

export function createOpenAiProvider(spec: ProviderSpec, deps: ModelDeps): Provider {
  const redactor = createRedactor();
  redactor.add(spec.apiKey);
  const post = createPost();
  /** False once this server has refused the option. */
  let asksForUsage = true;
  let loading: Promise<Sdk> | undefined;
  // Most of a process's start would go by with reading the package.
  const load = () => (loading ??= import('openai'));

  return {
    id: spec.id,
    account: `${spec.baseUrl} ${spec.apiKey ?? ''}`,
    async warm() {
      await load().catch((thrown: unknown) => deps.log.error('the openai package cannot be loaded', { thrown: String(thrown) }));
    },
    async attempt(attempt) {
      if (spec.missing) return { ok: false, fault: toMissingKey(spec.missing), usage: noUsage };
      const result = await send(attempt);
      if (result.ok || !asksForUsage || result.fault.failure !== 'bad_request' || !/stream_options|include_usage/.test(result.fault.detail)) return result;
      asksForUsage = false;
      return send(attempt, result.usage.requests);
    },
  };

  async function send({ request, number, firstTokenMs, onText, api }: Attempt, earlierRequests = 0): Promise<AttemptResult> {
    const { OpenAI } = await load();
    const { signal } = request;
    const control = new AbortController();
    const assembler = createAssembler((delta) => signal.aborted || onText(delta));
    const exchange: Exchange = { url: '', startedAt: 0, sent: 0, status: null };

    /** Sees the request as it goes out, with its real headers, and the answer before the package reads it. */
    const observedFetch: typeof fetch = async (input, init) => {
      const url = redactor.text(String(input));
      if (api) {
        const headers = toHeaderRecord(new Headers(init?.headers), redactor.text);
        const body = JSON.parse(String(init?.body)) as unknown;
        await untilAborted(api.onRequest({ method: 'POST', url, headers, body, model: spec.id, attempt: number }), signal);
      }
      Object.assign(exchange, { url, startedAt: deps.now(), sent: 1 });
      exchange.watch = startWatch(deps, firstTokenMs, (ms) => {
        exchange.expiredMs = ms;
        control.abort();
      });
      const { status, headers, body, close } = await post(String(input), { headers: Object.fromEntries(new Headers(init?.headers)), body: String(init?.body), signal: init?.signal ?? control.signal });
      Object.assign(exchange, { status, close });
      if (status >= 200 && status < 300) exchange.body = body;
      else exchange.refusal = { body: redactor.text(await readErrorBody(body)), headers };
      // The package is told the status alone; the bytes are read past it.
      return new Response(null, { status });
    };

    const onAbort = () => control.abort();
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) control.abort();
    let outcome: { answer: Answer } | { fault: Fault };
    try {
      await createClient(OpenAI, spec, observedFetch)
        .chat.completions.create(toBody(spec.name, request, asksForUsage), { signal: control.signal })
        .asResponse();
      await readAnswer(exchange.body ?? null, assembler, () => exchange.watch?.touch(assembler.finished ? afterFinishMs : idleMs));
      // The caller may have given up in the middle of the last piece.
      signal.throwIfAborted();
      outcome = { answer: assembler.finish() };
    } catch (thrown) {
      outcome = { fault: toFault(thrown) };
    } finally {
      exchange.watch?.stop();
      signal.removeEventListener('abort', onAbort);
      // Whatever is still open is of no use any more: a stream that was given up, an error body without end.
      exchange.close?.();
    }

    const usage: Usage = { ...assembler.usage, requests: earlierRequests + exchange.sent };
    await report(outcome, usage);
    return 'answer' in outcome ? { ok: true, ...outcome.answer, usage } : { ok: false, fault: outcome.fault, usage };

    function toFault(thrown: unknown): Fault {
      if (signal.aborted) return { failure: 'aborted', detail: 'ended by the caller', tries: 1, fallback: false };
      if (exchange.expiredMs) return toTimeout(exchange.expiredMs, assembler.started);
      if (exchange.refusal) return toStatusFault(exchange.status ?? 0, exchange.refusal.body, exchange.refusal.headers);
      const fault = thrown instanceof FaultError ? thrown.fault : exchange.status === null ? toConnectionFault(thrown) : toBodyFault(thrown);
      return { ...fault, detail: cutDetail(redactor.text(fault.detail)) };
    }

    async function report(outcome: { answer: Answer } | { fault: Fault }, usage: Usage): Promise<void> {
      if (!api || exchange.status === null) return;
      const response = 'answer' in outcome ? toAssembled(outcome.answer) : cutDetail(exchange.refusal?.body ?? outcome.fault.detail);
      const answered = { method: 'POST', url: exchange.url, status_code: exchange.status, response, duration_ms: deps.now() - exchange.startedAt };
      await untilAborted(api.onResponse({ ...answered, usage: 'answer' in outcome ? usage : null }), signal);
    }
  }
}

/** What the package would otherwise take from the environment is given, so that no key or organisation leaks to another provider. */
function createClient(OpenAI: Sdk['OpenAI'], spec: ProviderSpec, fetch: typeof globalThis.fetch) {
  return new OpenAI({
    apiKey: spec.apiKey ?? 'none',
    ...(spec.apiKey ? {} : { defaultHeaders: { Authorization: null } }),
    baseURL: spec.baseUrl,
    organization: null,
    project: null,
    adminAPIKey: null,
    webhookSecret: null,
    maxRetries: 0,
    logLevel: 'off',
    fetch,
  });
}

function toBody(name: string, request: ModelRequest, asksForUsage: boolean): ChatCompletionCreateParamsStreaming {
  const tools = toOpenAiTools(request.tools);
  return {
    model: name,
    messages: toOpenAiMessages(request.messages),
    ...(tools.length > 0 ? { tools } : {}),
    stream: true,
    ...(asksForUsage ? { stream_options: { include_usage: true } } : {}),
  };
}

function toAssembled({ text, toolCalls, finish }: Answer) {
  return { content: text, tool_calls: toolCalls.map(({ id, name, args }) => ({ id, name, arguments: args })), finish_reason: finish };
}

function toMissingKey(missing: string): Fault {
  return { failure: 'auth', detail: `the provider's key is not configured: put ${missing}`, tries: 1, fallback: true };
}

/** A server that was silent for so long is not asked again in the same call; another one may be. */
function toTimeout(ms: number, started: boolean): Fault {
  return { failure: 'timeout', detail: `nothing new for ${ms / 1000} s ${started ? 'in the middle of the answer' : 'after the request'}`, tries: 1, fallback: true };
}

function toHeaderRecord(headers: Headers, redact: (text: string) => string): Record<string, string> {
  return Object.fromEntries([...headers].map(([name, value]) => [name, secretHeaders.test(name) ? '[redacted]' : redact(value)]));
}

/** At most 64 KiB; a body that breaks off is as good as its beginning. */
async function readErrorBody(body: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const bytes of body) {
      text += decoder.decode(bytes, { stream: true });
      if (text.length > errorBodyLimit) break;
    }
  } catch {
    // The status alone says enough.
  }
  return text;
}
