/**
 * How large a request is, in tokens, without a tokenizer: good enough to decide when to compact, and cheap enough to ask
 * before every model call. It leans to the high side, because a prompt that is too long costs a failed call.
 */
import type { ToolDefinition } from '../contract/model.ts';
import type { Entry } from '../contract/transcript.ts';

const charsPerToken = 4;
/** Frame of one message: its role, separators and, for tool messages, the id. */
const perEntry = 6;
/** What providers charge for one photo, roughly. */
const perImage = 1000;

/** About four ASCII characters to a token, about two of other alphabets, one of Chinese, Japanese, Korean and emoji. */
export function estimateTokens(text: string): number {
  let quarters = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    quarters += code < 0x80 ? 1 : code < 0x2e80 ? 2 : charsPerToken;
  }
  return Math.ceil(quarters / charsPerToken);
}

export function estimateEntry(entry: Entry): number {
  let tokens = perEntry + estimateTokens(entry.text ?? '');
  if (entry.role === 'assistant')
    for (const call of entry.toolCalls) tokens += perEntry + estimateTokens(call.name) + estimateTokens(JSON.stringify(call.args));
  if (entry.role === 'user') {
    tokens += estimateTokens(entry.note ?? '');
    for (const file of entry.media ?? []) if (file.kind === 'image') tokens += perImage;
  }
  return tokens;
}

export function estimateEntries(entries: readonly Entry[]): number {
  return entries.reduce((sum, entry) => sum + estimateEntry(entry), 0);
}

export function estimateTools(tools: readonly ToolDefinition[]): number {
  return tools.length === 0 ? 0 : estimateTokens(JSON.stringify(tools));
}
