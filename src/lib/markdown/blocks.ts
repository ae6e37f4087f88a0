/**
 * Markdown source -> blocks: paragraphs, headings, code, quotes, lists, tables, rules. The first of two passes; the text inside
 * a block is read by inline.ts when somebody needs it. Every step looks at a line a bounded number of times, so any text
 * takes linear time: answers of a model are untrusted, and this runs for each message (a general CommonMark parser took 10 ms
 * for 1 KB, 3 s for 256 KiB, and overflowed the stack on 16 KB of `>`).
 *
 * The dialect is what people see in chats. It differs from CommonMark on purpose: a quote ends where its `>` ends and an item
 * where its indentation ends (no lazy continuation), any list item may follow a paragraph's line, there are no HTML blocks (tags are
 * text), a dash line makes a heading only of a single line, and a text whose first line is indented has no indented code,
 * because a part that was cut out of a list begins like that.
 */
import { contentOf, indentOf, inkStart, isBlank, isBlankLine, skipColumns, splitLines, textOf, withStart, type Line } from './lines.ts';
import { toLabel } from './link.ts';
import { closesFence, fenceAt, headingAt, isRule, markerAt, underlineDepth, type Marker } from './markers.ts';
import type { Block, Document, ListItem, Span } from './nodes.ts';
import { isDelimiterRow, splitRow, toAlignments } from './table.ts';

/** Containers deeper than this are read as text: it bounds the work and the recursion, and nobody can follow more. */
const maxDepth = 12;

interface Scan {
  source: string;
  definitions: Map<string, string>;
  indentedCode: boolean;
  depth: number;
}

export function parseMarkdown(source: string): Document {
  const lines = splitLines(source);
  const definitions = new Map<string, string>();
  const scan: Scan = { source, definitions, indentedCode: !/^[ \t]+[^\s]/.test(source.slice(0, 256)), depth: 0 };
  return { source, lines, blocks: parseBlocks(scan, lines), definitions };
}

function parseBlocks(scan: Scan, lines: Line[]): Block[] {
  const blocks: Block[] = [];
  let index = 0;
  while (index < lines.length) {
    const line = at(lines, index);
    if (isBlankLine(line)) {
      index += 1;
      continue;
    }
    const block =
      readIndentedCode(scan, lines, index) ??
      readFence(scan, lines, index) ??
      readHeading(scan, line) ??
      readRule(scan, line) ??
      readQuote(scan, lines, index) ??
      readList(scan, lines, index) ??
      readTable(scan, lines, index) ??
      readParagraph(scan, lines, index);
    blocks.push(block);
    // Blocks of a container are read from its own lines, which are consecutive in the source.
    index += block.span.end - block.span.first;
  }
  return blocks;
}

/** The blocks of a container's lines. */
function parseInside(scan: Scan, lines: Line[]): Block[] {
  scan.depth += 1;
  const blocks = parseBlocks(scan, lines);
  scan.depth -= 1;
  return blocks;
}

function readIndentedCode(scan: Scan, lines: Line[], index: number): Block | null {
  if (!scan.indentedCode || indentOf(scan.source, at(lines, index)) < 4) return null;
  let end = index + 1;
  for (let next = end; next < lines.length; next += 1) {
    const line = at(lines, next);
    if (isBlankLine(line)) continue;
    if (indentOf(scan.source, line) < 4) break;
    end = next + 1;
  }
  const body = lines.slice(index, end);
  const value = body.map((line) => scan.source.slice(skipColumns(scan.source, line, 4), line.to)).join('\n');
  return { type: 'code', span: spanOf(body), fence: null, lang: '', closed: true, value };
}

function readFence(scan: Scan, lines: Line[], index: number): Block | null {
  const opener = at(lines, index);
  const start = inkStart(scan.source, opener);
  const fence = fenceAt(scan.source, opener, start);
  if (fence === null) return null;
  const indent = indentOf(scan.source, opener);
  let end = index + 1;
  let closed = false;
  while (end < lines.length && !closed) {
    closed = closesFence(scan.source, at(lines, end), fence);
    end += 1;
  }
  const body = lines.slice(index + 1, closed ? end - 1 : end);
  const value = body.map((line) => scan.source.slice(skipColumns(scan.source, line, indent), line.to)).join('\n');
  const info = scan.source.slice(start + fence.length, opener.ink).trim();
  const lang = /^[^\s{]{0,64}/.exec(info)?.[0] ?? '';
  return { type: 'code', span: spanOf(lines.slice(index, end)), fence, lang, closed, value };
}

function readHeading(scan: Scan, line: Line): Block | null {
  const heading = headingAt(scan.source, line);
  if (heading === null) return null;
  return { type: 'heading', span: spanOf([line]), depth: heading.depth, setext: false, content: contentOf(scan.source, [heading.title]) };
}

function readRule(scan: Scan, line: Line): Block | null {
  return isRule(scan.source, line) ? { type: 'rule', span: spanOf([line]) } : null;
}

function readQuote(scan: Scan, lines: Line[], index: number): Block | null {
  if (scan.depth >= maxDepth) return null;
  const inner: Line[] = [];
  let end = index;
  for (; end < lines.length; end += 1) {
    const line = at(lines, end);
    const start = inkStart(scan.source, line);
    if (line.ink <= start || scan.source[start] !== '>') break;
    inner.push(withStart(line, isBlank(scan.source.charCodeAt(start + 1)) && start + 1 < line.to ? start + 2 : start + 1));
  }
  if (end === index) return null;
  return { type: 'quote', span: spanOf(lines.slice(index, end)), children: parseInside(scan, inner) };
}

function readList(scan: Scan, lines: Line[], index: number): Block | null {
  if (scan.depth >= maxDepth) return null;
  const first = markerAt(scan.source, at(lines, index));
  if (first === null) return null;
  const items: ListItem[] = [];
  let next = index;
  while (next < lines.length) {
    const line = at(lines, next);
    const marker = !isBlankLine(line) && !isRule(scan.source, line) ? markerAt(scan.source, line) : null;
    if (marker === null || marker.kind !== first.kind) break;
    const end = itemEnd(scan, lines, next, marker.column);
    const previous = items.at(-1)?.number ?? -1;
    const number = marker.number === null ? null : Math.max(marker.number, previous + 1);
    items.push(readItem(scan, lines.slice(next, end), { ...marker, number }));
    next = end;
    while (next < lines.length && isBlankLine(at(lines, next))) next += 1;
  }
  const end = items.reduce((total, item) => Math.max(total, item.span.end - at(lines, index).no), 0);
  return { type: 'list', span: spanOf(lines.slice(index, index + end)), items };
}

/** The index behind the last line that stands far enough to the right to belong to the item that starts at `index`. */
function itemEnd(scan: Scan, lines: Line[], index: number, column: number): number {
  let end = index + 1;
  for (let next = end; next < lines.length; next += 1) {
    const line = at(lines, next);
    if (isBlankLine(line)) continue;
    if (indentOf(scan.source, line) < column) break;
    end = next + 1;
  }
  return end;
}

function readItem(scan: Scan, lines: Line[], marker: Marker): ListItem {
  const span = spanOf(lines);
  const inner = lines.map((line, index) => {
    if (index > 0) return withStart(line, Math.min(skipColumns(scan.source, line, marker.column), line.to));
    const gap = marker.column - marker.indent - (marker.end - inkStart(scan.source, line));
    return withStart(line, skipColumns(scan.source, withStart(line, marker.end), gap));
  });
  const first = at(inner, 0);
  const checked = readBox(scan, first);
  const children = parseInside(scan, inner);
  return { span, indent: marker.indent, marker: marker.kind, number: marker.number, checked, children };
}

/** Whether a task is done, for an item that begins with a box; the line then starts behind it. */
function readBox(scan: Scan, line: Line): boolean | null {
  if (scan.source[line.from] !== '[') return null;
  const box = /^\[([ xX])\](?=[ \t]|$)/.exec(scan.source.slice(line.from, Math.min(line.from + 4, line.ink)));
  if (box === null) return null;
  line.from += box[0].length;
  return box[1] !== ' ';
}

function readTable(scan: Scan, lines: Line[], index: number): Block | null {
  if (!isTableHead(scan, lines, index)) return null;
  let end = index + 2;
  while (end < lines.length && textOf(scan.source, at(lines, end)).includes('|') && !startsBlock(scan, lines, end)) end += 1;
  const body = lines.slice(index, end);
  const rows = body.filter((_, row) => row !== 1).map((line) => splitRow(textOf(scan.source, line)));
  return { type: 'table', span: spanOf(body), align: toAlignments(textOf(scan.source, at(lines, index + 1))), rows };
}

function isTableHead(scan: Scan, lines: Line[], index: number): boolean {
  const below = lines[index + 1];
  if (below === undefined) return false;
  const head = textOf(scan.source, at(lines, index));
  const delimiter = textOf(scan.source, below);
  return head.includes('|') && isDelimiterRow(delimiter) && splitRow(head).length === splitRow(delimiter).length;
}

function readParagraph(scan: Scan, lines: Line[], index: number): Block {
  let end = index;
  for (; end < lines.length; end += 1) {
    const line = at(lines, end);
    if (isBlankLine(line)) break;
    if (end > index && (startsBlock(scan, lines, end) || isTableHead(scan, lines, end))) break;
    const underline = end === index ? underlineDepth(scan.source, lines[end + 1]) : 0;
    if (underline > 0) {
      const content = contentOf(scan.source, [line]);
      return { type: 'heading', span: spanOf(lines.slice(index, end + 2)), depth: underline, setext: true, content };
    }
    readDefinition(scan, line);
  }
  const body = lines.slice(index, end);
  return { type: 'paragraph', span: spanOf(body), content: contentOf(scan.source, body) };
}

/** True for a line that ends the paragraph above it. */
function startsBlock(scan: Scan, lines: Line[], index: number): boolean {
  const line = at(lines, index);
  const start = inkStart(scan.source, line);
  const first = scan.source.charCodeAt(start);
  if (first > 62 && first !== 96 && first !== 126 && first !== 95) return false;
  if (scan.depth < maxDepth) {
    if (first === 62) return true;
    const marker = markerAt(scan.source, line);
    if (marker !== null && marker.end < line.ink) return true;
  }
  return fenceAt(scan.source, line, start) !== null || headingAt(scan.source, line) !== null || isRule(scan.source, line);
}

/** Definitions stay visible as text: the target may be needed by a reader whose part of the answer does not hold the reference. */
function readDefinition(scan: Scan, line: Line): void {
  const start = inkStart(scan.source, line);
  if (scan.source[start] !== '[') return;
  const match = /^\[([^[\]]{1,100})\]:[ \t]*<?([^\s<>]+)>?(?:[ \t]+["'(].*)?$/.exec(scan.source.slice(start, Math.min(line.ink, start + 4096)));
  const label = toLabel(match?.[1] ?? '');
  if (match?.[2] !== undefined && label !== '' && !label.startsWith('^') && !scan.definitions.has(label)) scan.definitions.set(label, match[2]);
}

function spanOf(lines: Line[]): Span {
  const first = at(lines, 0);
  const last = at(lines, lines.length - 1);
  return { first: first.no, end: last.no + 1, from: first.from, to: last.to };
}

function at(lines: Line[], index: number): Line {
  const line = lines[index];
  if (line === undefined) throw new RangeError(`no line ${index}`);
  return line;
}
