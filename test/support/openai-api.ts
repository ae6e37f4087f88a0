/**
 * An OpenAI-compatible API on a loopback socket: POST /v1/chat/completions (stream and not) and GET /v1/models. It plays
 * what a test scripts, keeps every request, and refuses what the real API refuses. It adds no delay of its own.
 *
 *   const api = await startOpenAiApi();
 *   api.script({ toolCalls: [{ name: 'weather', args: { city: 'London' } }] }, { text: 'It rains.' });
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toReplyBytes } from './openai-api-reply.ts';
import { findViolation } from './openai-api-rules.ts';

export interface ToolCallReply {
  name: string;
  /** An object is sent as JSON; a string as it is, so that it may be broken. */
  args: unknown;
  /** Default `call_<n>`, counted over the simulator's life. */
  id?: string;
}

export interface OpenAiReply {
  text?: string;
  toolCalls?: ToolCallReply[];
  /** Sent as `reasoning_content` before everything else. */
  reasoning?: string;
  refusal?: string;
  /** Default `tool_calls` with tool calls, else `stop`; null leaves it out. */
  finish?: string | null;
  /** Default counts of 10 and 5; null leaves it out. */
  usage?: Record<string, unknown> | null;
  /** Default 200. A status of 400 or more without a body gets an error in OpenAI's shape. */
  status?: number;
  /** Instead of an answer: objects as JSON, strings as they are. */
  body?: unknown;
  headers?: Record<string, string>;
  /** The whole body as it is, sent as an event stream unless `headers` say otherwise. */
  raw?: string | Uint8Array;
  /** Ms before the answer begins. */
  delayMs?: number;
  /** The answer begins when this resolves. */
  after?: Promise<unknown>;
  /** No answer at all: the request stays open until the caller or `close` ends it. */
  hang?: boolean;
  /** The connection is destroyed after so many bytes of the body. */
  cutAfter?: number;
  /** Nothing more is sent after so many bytes of the body; the connection stays open. */
  hangAfter?: number;
  /** Bytes per write; default everything in one. */
  chunkBytes?: number;
  /** Ms between two writes of `chunkBytes`; default one turn of the event loop. */
  chunkDelayMs?: number;
  /** Text per delta; default word by word. */
  pieces?: string[];
}

export interface ChatRequestBody {
  model: string;
  messages: ChatRequestMessage[];
  stream?: boolean;
  stream_options?: unknown;
  tools?: { type: string; function: { name: string; description?: string; parameters?: Record<string, unknown> } }[];
  [key: string]: unknown;
}

export interface ChatRequestMessage {
  role: string;
  content?: string | { type: string; text?: string; image_url?: { url: string } }[] | null;
  tool_calls?: { id: string; type: string; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
  [key: string]: unknown;
}

export interface OpenAiRequest {
  headers: IncomingMessage['headers'];
  body: ChatRequestBody;
  /** The body's bytes as text, for comparisons of prefixes. */
  raw: string;
  /** What was refused about it, or null. */
  violation: string | null;
  /** True once the client has gone before the answer was complete. */
  aborted: boolean;
}

export interface OpenAiApi extends AsyncDisposable {
  /** `http://127.0.0.1:<port>/v1`. */
  url: string;
  /** Chat requests in order, refused ones too. */
  requests: OpenAiRequest[];
  violations: string[];
  /** Replies for the next requests, in order; appended to those that wait. */
  script(...replies: OpenAiReply[]): void;
  /** What is answered once the script is empty. Default: `You said: <last user text>`. */
  answer(reply: (request: OpenAiRequest) => OpenAiReply | Promise<OpenAiReply>): void;
  /** The n-th chat request, from 1, as soon as it is there. */
  waitForRequest(n: number): Promise<OpenAiRequest>;
  close(): Promise<void>;
}

export async function startOpenAiApi(options: { models?: string[]; port?: number } = {}): Promise<OpenAiApi> {
  const requests: OpenAiRequest[] = [];
  const violations: string[] = [];
  const scripted: OpenAiReply[] = [];
  let waiting: { n: number; resolve: (request: OpenAiRequest) => void }[] = [];
  let answer: (request: OpenAiRequest) => OpenAiReply | Promise<OpenAiReply> = toEcho;
  let calls = 0;

  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    void serve(request, response).catch((thrown: unknown) => {
      if (!response.headersSent) response.writeHead(500, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message: `simulator: ${String(thrown)}`, type: 'server_error' } }));
    });
  });
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve));

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const raw = await readBody(request);
    if (request.method === 'GET' && request.url === '/v1/models') {
      const data = (options.models ?? ['test-model']).map((id) => ({ id, object: 'model', created: 0, owned_by: 'test' }));
      return send(response, { body: { object: 'list', data } }, false);
    }
    if (request.method !== 'POST' || request.url !== '/v1/chat/completions')
      return send(response, { status: 404, body: { error: { message: `Unknown request URL: ${request.method} ${request.url}`, type: 'invalid_request_error', code: 'unknown_url' } } }, false);

    const body = JSON.parse(raw) as ChatRequestBody;
    const kept: OpenAiRequest = { headers: request.headers, body, raw, violation: findViolation(body), aborted: false };
    response.once('close', () => (kept.aborted = !response.writableFinished));
    requests.push(kept);
    const due = waiting.filter(({ n }) => n <= requests.length);
    waiting = waiting.filter(({ n }) => n > requests.length);
    for (const { n, resolve } of due) resolve(requests[n - 1] ?? kept);

    if (kept.violation !== null) {
      violations.push(kept.violation);
      return send(response, { status: 400, body: { error: { message: kept.violation, type: 'invalid_request_error', param: 'messages', code: null } } }, false);
    }
    return send(response, scripted.shift() ?? (await answer(kept)), body.stream === true);
  }

  async function send(response: ServerResponse, reply: OpenAiReply, stream: boolean): Promise<void> {
    if (reply.delayMs) await new Promise((resolve) => setTimeout(resolve, reply.delayMs));
    if (reply.after) await reply.after;
    if (reply.hang) return;
    const { status, headers, bytes } = toReplyBytes(reply, stream, () => `call_${++calls}`);
    response.writeHead(status, headers);
    const { cutAfter, hangAfter, chunkBytes } = reply;
    if (cutAfter === undefined && hangAfter === undefined && chunkBytes === undefined) return void response.end(bytes);

    const end = Math.min(cutAfter ?? bytes.length, hangAfter ?? bytes.length, bytes.length);
    response.flushHeaders();
    for (let at = 0; at < end && !response.destroyed; at += chunkBytes ?? end) {
      const piece = bytes.subarray(at, Math.min(end, at + (chunkBytes ?? end)));
      await new Promise<void>((resolve) => response.write(piece, () => resolve()));
      await new Promise<void>((resolve) => (reply.chunkDelayMs ? setTimeout(resolve, reply.chunkDelayMs) : setImmediate(resolve)));
    }
    if (hangAfter !== undefined) return;
    if (cutAfter === undefined) response.end();
    // What was written must leave before the connection does.
    else setImmediate(() => response.destroy());
  }

  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    violations,
    script: (...replies) => void scripted.push(...replies),
    answer: (reply) => void (answer = reply),
    waitForRequest: (n) => {
      const there = requests[n - 1];
      return there ? Promise.resolve(there) : new Promise((resolve) => waiting.push({ n, resolve }));
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Text of the last user message of a request. */
export function lastUserText(request: OpenAiRequest): string {
  const content = request.body.messages.findLast(({ role }) => role === 'user')?.content ?? '';
  return typeof content === 'string' ? content : content.map(({ text }) => text ?? '').join('');
}

function toEcho(request: OpenAiRequest): OpenAiReply {
  return { text: `You said: ${lastUserText(request)}` };
}

async function readBody(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString();
}
