/** Our messages and tools -> the body of a chat completion request. Pure; equal input gives equal bytes, so prompt caches hit. */
import type { ChatCompletionFunctionTool, ChatCompletionMessageParam, ChatCompletionUserMessageParam } from 'openai/resources/chat/completions';
import type { ModelMessage, ToolDefinition } from '../contract/model.ts';

/** What every provider accepts as a function's name. */
export function isToolName(name: string): boolean {
  return /^[A-Za-z0-9_-]{1,64}$/.test(name);
}

/** The nearest name that is accepted. */
export function toToolName(name: string): string {
  return name.slice(0, 64).replace(/[^A-Za-z0-9_-]/g, '_') || 'unnamed';
}

export function toOpenAiMessages(messages: ModelMessage[]): ChatCompletionMessageParam[] {
  return messages.map((message) => {
    switch (message.role) {
      case 'system':
        return { role: 'system', content: message.content };
      case 'user':
        return { role: 'user', content: toUserContent(message) };
      case 'tool':
        return { role: 'tool', tool_call_id: message.toolCallId, content: message.content };
      case 'assistant':
        if (!message.toolCalls?.length) return { role: 'assistant', content: message.content };
        return {
          role: 'assistant',
          // Strict servers refuse an empty string beside tool calls.
          content: message.content || null,
          tool_calls: message.toolCalls.map(({ id, name, args }) => ({
            id,
            type: 'function' as const,
            function: { name: toToolName(name), arguments: JSON.stringify(args) },
          })),
        };
    }
  });
}

/** Tools whose names no provider accepts are left out: one of them would make every request fail. */
export function toOpenAiTools(tools: ToolDefinition[]): ChatCompletionFunctionTool[] {
  return tools
    .filter(({ name }) => isToolName(name))
    .map(({ name, description, parameters }) => ({ type: 'function', function: { name, description, parameters } }));
}

function toUserContent(message: Extract<ModelMessage, { role: 'user' }>): ChatCompletionUserMessageParam['content'] {
  if (!message.images?.length) return message.content;
  const images = message.images.map(({ mime, base64 }) => ({ type: 'image_url' as const, image_url: { url: `data:${mime};base64,${base64}` } }));
  return message.content === '' ? images : [{ type: 'text', text: message.content }, ...images];
}
