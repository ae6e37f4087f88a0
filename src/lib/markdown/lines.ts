/** Lines of a Markdown source and their white space. Offsets always count UTF-16 units from the start of the source. */

/** A line inside its container. */
export interface Line {
  /** Number of the line in the source, from 0. */
  no: number;
  /** Where it starts behind the markers of its containers. */
  from: number;
  /** Where its last character that is not white space ends; `from` or less on a blank line. */
  ink: number;
  /** Where it ends, before CR and LF. */
  to: number;
}

/** Text of a block without markers and indentation, with the way back: what stands at `starts[i]` here is at `at[i]` in the source. */
export interface Content {
  text: string;
  starts: number[];
  at: number[];
}

export function splitLines(source: string): Line[] {
  const lines: Line[] = [];
  let from = 0;
  for (;;) {
    const newline = source.indexOf('\n', from);
    let to = newline === -1 ? source.length : newline;
    if (to > from && source[to - 1] === '\r') to -= 1;
    let ink = to;
    while (ink > from && isBlank(source.charCodeAt(ink - 1))) ink -= 1;
    lines.push({ no: lines.length, from, ink, to });
    if (newline === -1) return lines;
    from = newline + 1;
  }
}

/** The line without what stands before `from`. */
export function withStart(line: Line, from: number): Line {
  return { no: line.no, from, ink: line.ink, to: line.to };
}

export function contentOf(source: string, lines: Line[]): Content {
  const only = lines.length === 1 ? lines[0] : undefined;
  if (only) return { text: textOf(source, only), starts: [0], at: [inkStart(source, only)] };
  const content: Content = { text: '', starts: [], at: [] };
  const texts: string[] = [];
  let length = 0;
  for (const line of lines) {
    const text = textOf(source, line);
    content.starts.push(length);
    content.at.push(inkStart(source, line));
    texts.push(text);
    length += text.length + 1;
  }
  content.text = texts.join('\n');
  return content;
}

/** Where a place in a content's text is in the source. */
export function toOffset(content: Content, place: number): number {
  let low = 0;
  let high = content.starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((content.starts[middle] ?? 0) <= place) low = middle;
    else high = middle - 1;
  }
  return (content.at[low] ?? 0) + place - (content.starts[low] ?? 0);
}

/** The line without white space at both ends. */
export function textOf(source: string, line: Line): string {
  const start = inkStart(source, line);
  return source.slice(start, Math.max(start, line.ink));
}

export function inkStart(source: string, line: Line): number {
  let start = line.from;
  while (start < line.ink && isBlank(source.charCodeAt(start))) start += 1;
  return start;
}

export function isBlankLine(line: Line): boolean {
  return line.ink <= line.from;
}

/** Columns of white space at the start of a line; a tab goes to the next multiple of four. */
export function indentOf(source: string, line: Line): number {
  return walkIndent(source, line, Infinity).columns;
}

/** The offset behind at most `wanted` columns of white space. */
export function skipColumns(source: string, line: Line, wanted: number): number {
  return walkIndent(source, line, wanted).offset;
}

function walkIndent(source: string, line: Line, wanted: number): { columns: number; offset: number } {
  let columns = 0;
  let offset = line.from;
  for (; offset < line.to && columns < wanted; offset += 1) {
    const code = source.charCodeAt(offset);
    if (code === 9) columns += 4 - (columns % 4);
    else if (code === 32) columns += 1;
    else break;
  }
  return { columns, offset };
}

/** Where the run of one character that begins at `start` ends. */
export function runEnd(source: string, start: number, limit: number): number {
  const code = source.charCodeAt(start);
  let end = start;
  while (end < limit && source.charCodeAt(end) === code) end += 1;
  return end;
}

export function isBlank(code: number): boolean {
  return code === 32 || code === 9 || code === 13;
}
