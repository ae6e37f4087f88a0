/** An answer as the page keeps it: texts, tools and notices in the order in which they came. Plain data, so that it survives a reload. */
import type { ToolProgress } from './ask.ts';

export type Part =
  /** `start`: where it begins in the whole text of the answer. */
  | { kind: 'text'; start: number; text: string }
  | { kind: 'tool'; tool: ToolProgress }
  | { kind: 'notice'; text: string }
  | { kind: 'question'; text: string; choices: string[] };

/** `all` is the whole text so far. What follows a tool is a text of its own. */
export function setText(parts: Part[], all: string): void {
  const last = parts.at(-1);
  if (last?.kind === 'text') {
    last.text = all.slice(last.start);
    return;
  }
  const before = parts.findLast((part) => part.kind === 'text');
  const start = before ? before.start + before.text.length : 0;
  if (all.length > start) parts.push({ kind: 'text', start, text: all.slice(start) });
}

/** A tool's end finds its beginning by the id and keeps what only the beginning told. */
export function setTool(parts: Part[], tool: ToolProgress): void {
  const known = parts.find((part) => part.kind === 'tool' && part.tool.id === tool.id);
  if (known?.kind === 'tool') known.tool = { ...tool, emoji: tool.emoji || known.tool.emoji, label: tool.label || known.tool.label };
  else parts.push({ kind: 'tool', tool });
}

/** At the end: a command's reply came as a notice and as the text; one of them is enough. */
export function settle(parts: Part[]): Part[] {
  const notices = parts.flatMap((part) => (part.kind === 'notice' ? part.text : [])).join('\n\n');
  return notices && notices === toWholeText(parts) ? parts.filter((part) => part.kind !== 'notice') : parts;
}

export function toWholeText(parts: Part[]): string {
  return parts.flatMap((part) => (part.kind === 'text' ? part.text : [])).join('');
}
