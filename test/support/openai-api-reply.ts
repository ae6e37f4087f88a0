/** A scripted reply -> the bytes that OpenAI's API would send for it, as a stream of chunks or as one object. */
import type { OpenAiReply } from './openai-api.ts';

export interface ReplyBytes {
  status: number;
  headers: Record<string, string>;
  bytes: Buffer;
}

const common = { id: 'chatcmpl-1', created: 1_700_000_000, model: 'test-model', system_fingerprint: 'fp_test' };

/** `nextId` names tool calls that have no id of their own. */
export function toReplyBytes(reply: OpenAiReply, stream: boolean, nextId: () => string): ReplyBytes {
  const status = reply.status ?? 200;
  if (reply.raw !== undefined) return { status, headers: { 'content-type': 'text/event-stream', ...reply.headers }, bytes: Buffer.from(reply.raw) };
  if (reply.body !== undefined || status >= 400) {
    const body = reply.body ?? { error: { message: `The server answered ${status}.`, type: 'server_error', param: null, code: null } };
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return { status, headers: { 'content-type': typeof body === 'string' ? 'text/plain' : 'application/json', ...reply.headers }, bytes: Buffer.from(text) };
  }
  const text = stream ? toStream(reply, nextId) : toObject(reply, nextId);
  return { status, headers: { 'content-type': stream ? 'text/event-stream; charset=utf-8' : 'application/json', ...reply.headers }, bytes: Buffer.from(text) };
}

/** The event stream of an answer: role, thoughts, text word by word, tool calls with their arguments in pieces, finish, usage. */
export function toStream(reply: OpenAiReply, nextId: () => string): string {
  const deltas: Record<string, unknown>[] = [{ role: 'assistant', content: reply.toolCalls && !reply.text ? null : '' }];
  for (const piece of words(reply.reasoning)) deltas.push({ reasoning_content: piece });
  for (const piece of reply.pieces ?? words(reply.text)) deltas.push({ content: piece });
  for (const piece of words(reply.refusal)) deltas.push({ refusal: piece });
  (reply.toolCalls ?? []).forEach((call, index) => {
    deltas.push({ tool_calls: [{ index, id: call.id ?? nextId(), type: 'function', function: { name: call.name, arguments: '' } }] });
    for (const piece of toArgumentText(call.args).match(/[\s\S]{1,12}/g) ?? []) deltas.push({ tool_calls: [{ index, function: { arguments: piece } }] });
  });
  const chunks: unknown[] = deltas.map((delta) => ({ ...common, object: 'chat.completion.chunk', choices: [{ index: 0, delta, logprobs: null, finish_reason: null }] }));
  const finish = toFinish(reply);
  if (finish !== null) chunks.push({ ...common, object: 'chat.completion.chunk', choices: [{ index: 0, delta: {}, logprobs: null, finish_reason: finish }] });
  const usage = toUsage(reply);
  if (usage !== null) chunks.push({ ...common, object: 'chat.completion.chunk', choices: [], usage });
  const done = finish === null ? '' : 'data: [DONE]\n\n';
  return chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('') + done;
}

function toObject(reply: OpenAiReply, nextId: () => string): string {
  const calls = reply.toolCalls?.map((call) => ({ id: call.id ?? nextId(), type: 'function', function: { name: call.name, arguments: toArgumentText(call.args) } }));
  const text = reply.pieces?.join('') ?? reply.text ?? null;
  const message = {
    role: 'assistant',
    content: text,
    refusal: reply.refusal ?? null,
    ...(reply.reasoning === undefined ? {} : { reasoning_content: reply.reasoning }),
    ...(calls ? { tool_calls: calls } : {}),
  };
  const usage = toUsage(reply);
  return JSON.stringify({
    ...common,
    object: 'chat.completion',
    choices: [{ index: 0, message, logprobs: null, finish_reason: toFinish(reply) }],
    ...(usage === null ? {} : { usage }),
  });
}

function toFinish(reply: OpenAiReply): string | null {
  return reply.finish === undefined ? (reply.toolCalls?.length ? 'tool_calls' : 'stop') : reply.finish;
}

function toUsage(reply: OpenAiReply): Record<string, unknown> | null {
  return reply.usage === undefined ? { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } : reply.usage;
}

function toArgumentText(args: unknown): string {
  return typeof args === 'string' ? args : JSON.stringify(args);
}

function words(text: string | undefined): string[] {
  return text?.match(/\s*\S+\s*$|\s*\S+|\s+/g) ?? [];
}
