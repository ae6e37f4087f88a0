/**
 * Blocks -> lines of a chat message. Chats know a few marks and no lists, tables or headings, so those become text: bullets and
 * indentation, columns, bold lines. What differs between platforms is in a Style; the walk is the same for all.
 * Blocks stay as far apart as in the source, by one blank line at most: people and models space chat messages by hand.
 */
import { isInvisible } from '../visible-text.ts';
import { parseMarkdown } from './blocks.ts';
import { readInline } from './inline.ts';
import type { Content } from './lines.ts';
import type { Block, Document, ListItem } from './nodes.ts';
import { toSendable, type Row, type Style } from './style.ts';
import { toTableText } from './table.ts';
import { toBareLine, writeInline, type Seen } from './write-inline.ts';

interface Walk {
  document: Document;
  style: Style;
  /** How many quotes and lists the block at hand is in. */
  quotes: number;
  lists: number;
  seen: Seen;
}

const bullets = ['•', '◦', '▪'];

/** Markdown in the given style. What would leave nothing to see (an empty fence, say) is returned as the source it was. */
export function layOut(markdown: string, style: Style): string {
  const document = parseMarkdown(toSendable(markdown));
  const walk: Walk = { document, style, quotes: 0, lists: 0, seen: { ink: false } };
  const rows = toRows(walk, document.blocks);
  return walk.seen.ink ? rows.map((row) => row.text).join('\n') : style.text(document.source.trim());
}

function toRows(walk: Walk, blocks: Block[]): Row[] {
  const rows: Row[] = [];
  let end: number | null = null;
  for (const block of blocks) {
    if (end !== null && block.span.first > end) rows.push({ text: '', code: false });
    for (const row of toBlockRows(walk, block)) rows.push(row);
    end = block.span.end;
  }
  return rows;
}

function toBlockRows(walk: Walk, block: Block): Row[] {
  switch (block.type) {
    case 'paragraph':
      return toInlineRows(walk, block.content, false);
    case 'heading':
      return toInlineRows(walk, block.content, true);
    case 'code':
      return toCode(walk, block.value, block.lang);
    case 'table':
      return toCode(walk, toTableText(block.rows.map((row) => row.map((cell) => toBareLine(cell, walk.document.definitions))), block.align), '');
    case 'quote': {
      walk.quotes += 1;
      const rows = toRows(walk, block.children);
      walk.quotes -= 1;
      return rows.length === 0 ? [] : walk.style.quote(rows, walk.quotes + walk.lists);
    }
    case 'list':
      return toListRows(walk, block.items);
    case 'rule':
      walk.seen.ink = true;
      return toLines('———');
  }
}

function toInlineRows(walk: Walk, content: Content, bold: boolean): Row[] {
  if (content.text === '') return [];
  const tokens = readInline(content.text, walk.document.definitions);
  const edge = { mark: 'strong', from: 0, to: 0 } as const;
  return toLines(writeInline(walk.style, bold ? [{ type: 'open', ...edge }, ...tokens, { type: 'close', ...edge }] : tokens, walk.seen));
}

function toCode(walk: Walk, value: string, lang: string): Row[] {
  if (isInvisible(value)) return [];
  walk.seen.ink = true;
  return [{ text: walk.style.codeBlock(value, lang), code: true }];
}

function toListRows(walk: Walk, items: ListItem[]): Row[] {
  const rows: Row[] = [];
  let end: number | null = null;
  for (const item of items) {
    if (end !== null && item.span.first > end) rows.push({ text: '', code: false });
    for (const row of toItemRows(walk, item)) rows.push(row);
    end = item.span.end;
  }
  return rows;
}

function toItemRows(walk: Walk, item: ListItem): Row[] {
  const bullet = item.checked === null ? (bullets[walk.lists % bullets.length] ?? '•') : item.checked ? '☑' : '☐';
  const box = item.checked === null ? '' : `${bullet} `;
  const marker = item.number === null ? `${bullet} ` : `${item.number}${item.marker} ${box}`;
  const before = ' '.repeat(Math.min(item.indent, 12));
  walk.lists += 1;
  const inner = toRows(walk, item.children);
  walk.lists -= 1;
  const indent = before + ' '.repeat(marker.length);
  walk.seen.ink = true;
  const [head, ...tail] = inner;
  // A block of code has no room for a marker: it gets a line of its own.
  const onMarkerLine = head !== undefined && !head.code;
  const first = { text: before + (onMarkerLine ? marker + head.text : marker.trimEnd()), code: false };
  return [first, ...(onMarkerLine ? tail : inner).map((row) => (row.code || row.text === '' ? row : { text: indent + row.text, code: false }))];
}

function toLines(text: string): Row[] {
  if (!text.includes('\n')) return [{ text, code: false }];
  return text.split('\n').map((line) => ({ text: line, code: false }));
}
