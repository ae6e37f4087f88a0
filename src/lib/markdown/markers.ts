/** Recognises by a single line what begins, ends or is a block. All of them look at the line once. */
import { indentOf, inkStart, isBlank, runEnd, withStart, type Line } from './lines.ts';

/** The marker of a list item. */
export interface Marker {
  kind: string;
  number: number | null;
  indent: number;
  /** Where the marker ends in the source, and the column at which the item's own text stands. */
  end: number;
  column: number;
}

/** The fence that a block of code begins with, three characters at least, or null. */
export function fenceAt(source: string, line: Line, start: number): string | null {
  const mark = source[start];
  if (mark !== '`' && mark !== '~') return null;
  const end = runEnd(source, start, line.ink);
  if (end - start < 3) return null;
  const tick = mark === '`' ? source.indexOf('`', end) : -1;
  return tick !== -1 && tick < line.ink ? null : source.slice(start, end);
}

export function closesFence(source: string, line: Line, fence: string): boolean {
  const start = inkStart(source, line);
  return source[start] === fence[0] && line.ink - start >= fence.length && runEnd(source, start, line.ink) === line.ink;
}

export function isRule(source: string, line: Line): boolean {
  const start = inkStart(source, line);
  const mark = source[start];
  if (mark !== '-' && mark !== '*' && mark !== '_') return false;
  let marks = 0;
  for (let index = start; index < line.ink; index += 1) {
    if (source[index] === mark) marks += 1;
    else if (!isBlank(source.charCodeAt(index))) return false;
  }
  return marks >= 3;
}

/** Null for a line that begins no list item. */
export function markerAt(source: string, line: Line): Marker | null {
  const start = inkStart(source, line);
  let end = start;
  const first = source.charCodeAt(start);
  let number: number | null = null;
  if (first === 45 || first === 42 || first === 43) end = start + 1;
  else {
    while (end - start < 9 && isDigit(source.charCodeAt(end))) end += 1;
    const mark = source[end];
    if (end === start || (mark !== '.' && mark !== ')')) return null;
    number = Number(source.slice(start, end));
    end += 1;
  }
  if (end < line.ink && !isBlank(source.charCodeAt(end))) return null;
  const indent = indentOf(source, line);
  const gap = end >= line.ink ? 1 : indentOf(source, withStart(line, end));
  return { kind: source[end - 1] ?? '-', number, indent, end, column: indent + (end - start) + (gap > 4 ? 1 : gap) };
}

/** 1 for a line of `=`, 2 for a line of `-`, else 0. Shorter ones are more often a list that is being typed. */
export function underlineDepth(source: string, line: Line | undefined): number {
  if (line === undefined) return 0;
  const start = inkStart(source, line);
  const mark = source[start];
  if ((mark !== '=' && mark !== '-') || line.ink - start < 3) return 0;
  return runEnd(source, start, line.ink) === line.ink ? (mark === '=' ? 1 : 2) : 0;
}

/** How many `#` a heading begins with, and where its text lies; null for other lines. A closing run of `#` is not part of it. */
export function headingAt(source: string, line: Line): { depth: number; title: Line } | null {
  const start = inkStart(source, line);
  if (source[start] !== '#') return null;
  const from = runEnd(source, start, line.ink);
  if (from - start > 6 || (from < line.ink && !isBlank(source.charCodeAt(from)))) return null;
  let closing = line.ink;
  while (closing > from && source[closing - 1] === '#') closing -= 1;
  const isClosed = closing > from && isBlank(source.charCodeAt(closing - 1));
  const ink = isClosed ? trimEnd(source, from, closing) : line.ink;
  return { depth: from - start, title: { no: line.no, from, ink, to: line.to } };
}

function trimEnd(source: string, from: number, to: number): number {
  let end = to;
  while (end > from && isBlank(source.charCodeAt(end - 1))) end -= 1;
  return end;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}
