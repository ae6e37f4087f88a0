/**
 * Chooses where to cut: the best seam in a window of the source. A seam that would leave the part nearly empty comes after worse
 * ones that fill it: between lines it has to fill a third, inside a line a half of the window. Two graphemes of one word are
 * parted only where there is nothing else.
 */
import { boundaryBefore, isBoundary } from './graphemes.ts';
import { lineAt, rank, type Seams } from './seams.ts';
import { guardedAt, isInside, type Guarded, type Spans } from './spans.ts';

export interface Cutter {
  seams: Seams;
  known: Map<number, Guarded>;
}

/** The text behind a cut would be read as a marker of a list, a heading, a quote, a fence or a rule, which it was not before. */
const marker = /^(?:[-+*](?:\s|$)|#{1,6}(?:\s|$)|>|\d{1,9}[.)](?:\s|$)|`{3}|~{3}|[-*_]{3}|={3})/;
const sentenceEnd = /[.!?…][)\]"'”’»*_]{0,3}$/u;
const fullWidthStop = /[。！？｡]/;
const fullWidthPause = /[，、；：」』）】》]/;

/** An offset behind `from`, at most `from + length` unless the first grapheme is longer. */
export function chooseCut(cutter: Cutter, from: number, length: number): number {
  const { source } = cutter.seams.document;
  const to = from + length;
  if (to >= source.length) return source.length;
    const lines = cutsAtLines(cutter, from, to);
  const good = lines.slice(0, rank.afterHeading).find((offset) => offset >= from + length / 3);
  if (good !== undefined) return good;
  const no = lineAt(cutter.seams, to);
  const guarded = guardedAt(cutter.seams, no, cutter.known);
  const least = Math.max(from, cutter.seams.document.lines[no]?.from ?? 0);
  const line = lines.find((offset) => offset > from);
  // A row or a line of code is no prose: it is cut inside only when nothing else is left.
  const type = cutter.seams.leaves[no]?.type;
  if (line !== undefined && (type === 'table' || type === 'code')) return line;
  return (
    cutInLine(source, Math.max(least, from + (length >> 1) - 1), to, guarded.marked) ??
    line ??
    cutInLine(source, least, to, guarded.marked) ??
    cutInLine(source, least, to, guarded.atoms) ??
    cutAtEdge(source, least, to, guarded.atoms) ??
    cutInLine(source, least, to, []) ??
    boundaryBefore(source, from, to)
  );
}

/** The last cut in front of a line for each rank; -1 where there is none. */
function cutsAtLines({ seams, known }: Cutter, from: number, to: number): number[] {
  const found = Array.from<number>({ length: rank.never }).fill(-1);
  for (let no = lineAt(seams, to); no > 0; no -= 1) {
    const start = seams.document.lines[no]?.from ?? 0;
    if (start <= from) break;
    const value = seams.ranks[no] ?? rank.never;
    if (found[value] !== -1) continue;
    if (value === rank.line && isInside(guardedAt(seams, no, known).marked, start)) continue;
    found[value] = start;
    if (value === rank.paragraph) break;
  }
  return found;
}

/** The last end of a sentence behind `least` and up to `to`, else that of a word; outside of the spans. */
function cutInLine(source: string, least: number, to: number, spans: Spans): number | undefined {
  let word: number | undefined;
  for (let offset = to; offset > least; offset -= 1) {
    const isSpace = source[offset] === ' ' || source[offset] === '\t';
    if (!isSpace && source.charCodeAt(offset - 1) < 0x3000) continue;
    const before = source[offset - 1] ?? '';
    if (!isSpace && !fullWidthStop.test(before) && !fullWidthPause.test(before)) continue;
    const isSentence = isSpace ? sentenceEnd.test(source.slice(Math.max(least, offset - 4), offset)) : fullWidthStop.test(before);
    if (word !== undefined && !isSentence) continue;
    if (isInside(spans, offset) || !isClean(source, offset)) continue;
    if (isSentence) return offset;
    word = offset;
  }
  return word;
}

function isClean(source: string, offset: number): boolean {
  let next = offset;
  while (source[next] === ' ' || source[next] === '\t') next += 1;
  return isBoundary(source, offset) && isBoundary(source, next) && !marker.test(source.slice(next, next + 12));
}

/** A boundary between graphemes that is in no span: where one begins or ends, if the last one of the window is inside. */
function cutAtEdge(source: string, least: number, to: number, spans: Spans): number | undefined {
  const last = boundaryBefore(source, least, to);
  const offset = isInside(spans, last) ? spans.findLast((span) => span.from < last)?.from : last;
  return offset !== undefined && offset > least && offset <= to && isBoundary(source, offset) ? offset : undefined;
}
