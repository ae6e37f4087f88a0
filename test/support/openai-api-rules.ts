/** What the real API refuses with 400, and the stricter of its compatible servers too. Null when a request is in order. */
import type { ChatRequestBody, ChatRequestMessage } from './openai-api.ts';

const namePattern = /^[a-zA-Z0-9_-]{1,64}$/;

export function findViolation(body: ChatRequestBody): string | null {
  if (typeof body.model !== 'string' || body.model === '') return 'you must provide a model parameter';
  if (!Array.isArray(body.messages) || body.messages.length === 0) return '[] is too short - \'messages\'';
  if (body.stream !== true && body.stream_options !== undefined) return 'The \'stream_options\' parameter is only allowed when \'stream\' is enabled.';
  return findToolViolation(body) ?? findMessageViolation(body.messages);
}

function findToolViolation({ tools }: ChatRequestBody): string | null {
  if (tools === undefined) return null;
  if (!Array.isArray(tools) || tools.length === 0) return '[] is too short - \'tools\'';
  const names = new Set<string>();
  for (const [place, tool] of tools.entries()) {
    const { name, parameters } = tool.function;
    if (tool.type !== 'function') return `Invalid value: '${tool.type}'. tools[${place}].type`;
    if (!namePattern.test(name)) return `Invalid 'tools[${place}].function.name': string does not match pattern.`;
    if (parameters !== undefined && parameters['type'] !== 'object') return `Invalid schema for function '${name}': schema must be of type "object".`;
    if (names.has(name)) return `Tool names must be unique: ${name}`;
    names.add(name);
  }
  return null;
}

function findMessageViolation(messages: ChatRequestMessage[]): string | null {
  /** Ids of the last assistant message that have no answer yet. */
  let open = new Set<string>();
  for (const [place, message] of messages.entries()) {
    const at = `messages[${place}]`;
    if (message.role === 'tool') {
      const id = message.tool_call_id ?? '';
      if (!open.delete(id)) return `${at}: messages with role 'tool' must be a response to a preceding message with 'tool_calls' (id "${id}").`;
      if (isEmpty(message.content)) return `${at}: content must not be empty.`;
      continue;
    }
    if (open.size > 0) return `${at}: an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'; missing: ${[...open].join(', ')}.`;
    const wrong = findOtherViolation(message);
    if (wrong !== null) return `${at}: ${wrong}`;
    open = new Set(message.tool_calls?.map(({ id }) => id));
    if (open.size !== (message.tool_calls?.length ?? 0)) return `${at}: duplicate tool_call ids.`;
  }
  return open.size > 0 ? `an assistant message with 'tool_calls' must be followed by tool messages; missing: ${[...open].join(', ')}.` : null;
}

function findOtherViolation(message: ChatRequestMessage): string | null {
  if (!['system', 'developer', 'user', 'assistant'].includes(message.role)) return `Invalid value: '${message.role}'. Supported values are: 'system', 'assistant', 'user', 'tool' and 'developer'.`;
  if (message.role !== 'assistant' && message.tool_calls !== undefined) return 'tool_calls are only allowed for assistant.';
  if (message.tool_calls === undefined) return isEmpty(message.content) ? 'content must not be empty.' : null;
  if (!Array.isArray(message.tool_calls) || message.tool_calls.length === 0) return '[] is too short - \'tool_calls\'';
  if (message.content === '') return 'content must be null or text beside tool_calls.';
  for (const call of message.tool_calls) {
    if (typeof call.id !== 'string' || call.id === '') return 'tool_calls need an id.';
    if (call.type !== 'function') return `Invalid value: '${call.type}' for a tool call's type.`;
    if (!namePattern.test(call.function.name)) return `Invalid function.name '${call.function.name}': string does not match pattern.`;
    if (!isObjectText(call.function.arguments)) return `arguments of ${call.id} are not the JSON of an object.`;
  }
  return null;
}

function isEmpty(content: ChatRequestMessage['content']): boolean {
  if (content === undefined || content === null) return true;
  if (typeof content === 'string') return content.trim() === '';
  return content.length === 0 || content.some((part) => part.type === 'text' && !part.text?.trim());
}

function isObjectText(text: unknown): boolean {
  if (typeof text !== 'string') return false;
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
