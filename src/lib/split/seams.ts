/**
 * Where a Markdown text comes apart well, line by line: how good a cut in front of each line is, which block the line belongs
 * to, and what a part that begins there needs before its text so that it still is what it was (an opened fence, the head of
 * a table, the sign of a quote).
 */
import { parseMarkdown } from '../markdown/blocks.ts';
import { isBlankLine, type Line } from '../markdown/lines.ts';
import type { Block, Document } from '../markdown/nodes.ts';

/** The lower the better; `never` parts what belongs together (a table's head, an empty fence). */
export const rank = { paragraph: 0, block: 1, line: 2, afterHeading: 3, never: 4 } as const;

export type Leaf = Exclude<Block, { type: 'quote' | 'list' }>;

export interface Seams {
  document: Document;
  /** By number of line: the rank of a cut in front of it, and its block. */
  ranks: number[];
  leaves: (Leaf | undefined)[];
}

/** What is added around a part of the source. Both are empty for most parts. */
export interface Frame {
  before: string;
  after: string;
}

/** Stands for the line behind the last one. */
const outside: Line = { no: -1, from: 0, ink: 1, to: 1 };

export function findSeams(source: string): Seams {
  const document = parseMarkdown(source);
  const { lines } = document;
  const ranks = lines.map((line, no) => (isBlankLine(line) ? rank.never : isBlankLine(lines[no - 1] ?? line) ? rank.paragraph : rank.line) as number);
  const seams: Seams = { document, ranks, leaves: lines.map(() => undefined) };
  for (const block of document.blocks) addBlock(seams, block);
  return seams;
}

function addBlock(seams: Seams, block: Block): void {
  improve(seams, block.span.first);
  if (block.type === 'quote') {
    for (const child of block.children) addBlock(seams, child);
  } else if (block.type === 'list') {
    for (const item of block.items) {
      improve(seams, item.span.first);
      for (const child of item.children) addBlock(seams, child);
    }
  } else addLeaf(seams, block);
}

function improve(seams: Seams, no: number): void {
  if (seams.ranks[no] === rank.line) seams.ranks[no] = rank.block;
}

function addLeaf(seams: Seams, leaf: Leaf): void {
  const { ranks, leaves, document: { lines } } = seams;
  const { first, end } = leaf.span;
  for (let no = first; no < end; no += 1) {
    leaves[no] = leaf;
    if (no === first) continue;
    if (leaf.type === 'table' && no <= first + 2) ranks[no] = rank.never;
    if (leaf.type !== 'code') continue;
    const isEdge = leaf.fence !== null && (no === first + 1 || isClosingLine(leaf, no));
    ranks[no] = isEdge ? rank.never : isBlankLine(lines[no - 1] ?? outside) ? rank.block : rank.line;
  }
  if (leaf.type !== 'heading') return;
  for (let no = leaf.span.first + 1; no < leaf.span.end; no += 1) ranks[no] = rank.never;
  let next = leaf.span.end;
  while (isBlankLine(seams.document.lines[next] ?? outside)) next += 1;
  ranks[next] = rank.afterHeading;
}

/** The number of the line in which an offset lies. */
export function lineAt({ document: { lines } }: Seams, offset: number): number {
  let low = 0;
  let high = lines.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((lines[middle]?.from ?? Infinity) <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The code around an offset in the body of a fence, or null. The body ends where its closing line starts. */
export function fenceAround(seams: Seams, offset: number): (Leaf & { type: 'code' }) | null {
  const no = lineAt(seams, offset);
  const leaf = seams.leaves[no];
  if (leaf?.type !== 'code' || leaf.fence === null || no === leaf.span.first) return null;
  return isClosingLine(leaf, no) && offset > (lineOf(seams, no)?.from ?? 0) ? null : leaf;
}

/** What stands before and after a part from `from` to `to`. */
export function frameOf(seams: Seams, from: number, to: number): Frame {
  const before = beforeText(seams, from);
  const fence = to < seams.document.source.length ? fenceAround(seams, to) : null;
  const opened = fence !== null && (before !== '' || (lineOf(seams, fence.span.first)?.from ?? 0) >= from);
  return { before, after: opened ? `\n${containerOf(seams, fence)}${fence.fence}` : '' };
}

function beforeText(seams: Seams, from: number): string {
  const no = lineAt(seams, from);
  const leaf = seams.leaves[no];
  const inLine = from > (lineOf(seams, no)?.from ?? from);
  if (leaf === undefined || (no === leaf.span.first && !inLine)) return '';
  const container = containerOf(seams, leaf);
  const sign = inLine && container.includes('>') ? container : '';
  const { source } = seams.document;
  if (leaf.type === 'code' && leaf.fence !== null && no > leaf.span.first && !isClosingLine(leaf, no)) return `${container}${leaf.fence}${leaf.lang}\n${sign}`;
  if (leaf.type === 'table' && no >= leaf.span.first + 2) {
    const rule = lineOf(seams, leaf.span.first + 1);
    return `${container}${source.slice(leaf.span.from, lineOf(seams, leaf.span.first)?.to)}\n${source.slice(rule?.from, rule?.to)}\n${sign}`;
  }
  return sign;
}

/** What stands before the lines of a block because of the quotes and lists around it; list markers as the white space below them. */
function containerOf(seams: Seams, leaf: Leaf): string {
  return seams.document.source.slice(lineOf(seams, leaf.span.first)?.from ?? leaf.span.from, leaf.span.from).replace(/[^>\s]/g, ' ');
}

export function isClosingLine(leaf: Leaf, no: number): boolean {
  return leaf.type === 'code' && leaf.closed && leaf.fence !== null && no === leaf.span.end - 1;
}

function lineOf(seams: Seams, no: number): Line | undefined {
  return seams.document.lines[no];
}
