/**
 * Cuts Markdown source into parts that each fit one message. The source is cut, not the rendered text: each part is rendered
 * on its own, so no markup can be torn, and a failed part can be sent again from what is stored.
 */
import { isInvisible } from './visible-text.ts';
import { chooseCut, type Cutter } from './split/cut.ts';
import { boundaryBefore, isBoundary } from './split/graphemes.ts';
import { fenceAround, findSeams, frameOf, isClosingLine, lineAt, type Frame } from './split/seams.ts';

export interface SplitOptions {
  /** The most that `measure` may give for a part; 16 at least. */
  limit: number;
  /** Length of a part once it is rendered, in the platform's own unit. Called a few times for each part. */
  measure: (markdown: string) => number;
}

/** One part: `before`, the source from `from` to `to`, `after`. */
export interface Part extends Frame {
  from: number;
  to: number;
}

/**
 * The parts of a text, in order, each of which measures `limit` at most. A text that fits is returned as it is; a text in which there
 * is nothing to see gives no part.
 *
 * Cut at a blank line, a block, a line, a sentence, a word, a grapheme, in this order of preference; not inside links,
 * addresses, inline code, character references or emphasis, unless one of them alone is over the limit. Code that is cut
 * is closed and opened again with its fence and language, a table that is cut repeats its head, a quoted line that is cut
 * goes on in a quote. These additions (a Part's `before` and `after`) are left out where they would take over half the limit.
 * Indented code has no fence to open again: its later parts are text.
 *
 * Nothing else is added and nothing is lost: the parts without their additions are stretches of the source in order, and between
 * them, before the first and behind the last there is white space alone, or characters that cannot be seen.
 */
export function splitMarkdown(markdown: string, options: SplitOptions): string[] {
  const source = toWellFormed(markdown);
  return cutMarkdown(source, options).map((part) => part.before + source.slice(part.from, part.to) + part.after);
}

/** The same as places in the source, which must be well-formed. */
export function cutMarkdown(source: string, { limit, measure }: SplitOptions): Part[] {
  if (isInvisible(source)) return [];
  if (measure(source) <= limit) return [{ from: 0, to: source.length, before: '', after: '' }];
  const splitting: Splitting = { source, limit, measure, cutter: { seams: findSeams(source), known: new Map() }, guess: limit };
  const parts: Part[] = [];
  let from = skipBlank(splitting, 0);
  while (from < source.length) {
    const { part, next } = nextPart(splitting, from);
    if (!isInvisible(source.slice(part.from, part.to))) parts.push(part);
    from = next;
  }
  return parts;
}

interface Splitting extends SplitOptions {
  source: string;
  cutter: Cutter;
  /** Source characters that the next part will hold, as the last one makes one guess. */
  guess: number;
}

interface Step {
  part: Part;
  next: number;
}

function nextPart(splitting: Splitting, from: number): Step {
  return fill(splitting, from, true) ?? fill(splitting, from, false) ?? takeSome(splitting, from);
}

/** The largest part that a few tries find, or null when not even one grapheme fits. */
function fill(splitting: Splitting, from: number, framed: boolean): Step | null {
  const { limit, source } = splitting;
  let length = splitting.guess;
  let tooLong = Infinity;
  let best: Step | null = null;
  let bestCut = from;
  for (let tries = 1; ; tries += 1) {
    const cut = chooseCut(splitting.cutter, from, length);
    if (cut - from >= tooLong || cut <= bestCut) return best;
    const step = toStep(splitting, from, cut, framed);
    const size = measureStep(splitting, step);
    if (size <= limit) {
      best = step;
      bestCut = cut;
      const roomier = withRoom(cut - from, size, limit);
      splitting.guess = Math.min(roomier, tooLong);
      // A window that was too small may have hidden a better seam; between two sizes a few tries are enough.
      if (size > limit * (tooLong === Infinity ? 0.9 : 0.7) || step.next >= source.length || tries > 6) return best;
      length = tooLong === Infinity ? roomier : (cut - from + tooLong) >> 1;
    } else {
      tooLong = cut - from;
      if (tries > 6 && best !== null) return best;
      length = best !== null ? (bestCut - from + tooLong) >> 1 : tries < 5 ? Math.min(tooLong - 1, Math.floor((tooLong * limit) / size)) : tooLong >> 1;
    }
  }
}

/** The source characters that should fill the limit, when `length` of them measure `size`. */
function withRoom(length: number, size: number, limit: number): number {
  return Math.min(8 * length, Math.ceil(length + (limit - size) * Math.max(1, length / Math.max(1, size))));
}

/** The first characters of a grapheme that alone is over the limit (endless combining marks): at least one. */
function takeSome(splitting: Splitting, from: number): Step {
  const { source, limit } = splitting;
  let to = boundaryBefore(source, from, from + limit);
  for (;;) {
    const step = toStep(splitting, from, to, false);
    const half = from + ((to - from) >> 1);
    const shorter = isLowHalf(source, half) ? half - 1 : half;
    if (shorter <= from || measureStep(splitting, step) <= limit) return step;
    to = shorter;
  }
}

function toStep(splitting: Splitting, from: number, cut: number, framed: boolean): Step {
  const { source, limit, cutter: { seams } } = splitting;
  const fence = fenceAround(seams, cut);
  // What is left of the code is its closing line: it goes with the code.
  const isClosed = fence !== null && isClosingLine(fence, lineAt(seams, cut)) && fence.span.to - cut <= limit / 4;
  const reach = isClosed ? fence.span.to : cut;
  const frame = frameOf(seams, from, reach);
  const fits = framed && frame.before.length + frame.after.length <= limit / 2;
  const inCode = fence !== null && reach === cut;
  const to = inCode ? dropNewline(source, from, cut) : trimBlank(source, from, reach);
  return { part: { from, to, before: fits ? frame.before : '', after: fits ? frame.after : '' }, next: inCode ? cut : skipBlank(splitting, reach) };
}

function measureStep({ source, measure }: Splitting, { part }: Step): number {
  return measure(part.before + source.slice(part.from, part.to) + part.after);
}

/** Behind blank lines, at the start of the first line that has ink, or behind the blanks inside a line. */
function skipBlank({ source }: Splitting, cut: number): number {
  let at = cut;
  let start = cut > 0 && source[cut - 1] !== '\n' ? -1 : cut;
  for (; at < source.length && isBlank(source, at); at += 1) if (source[at] === '\n') start = at + 1;
  if (at < source.length && start !== -1) return start;
  // A mark that combines with the last blank keeps it.
  return at > cut && !isBoundary(source, at) ? at - 1 : at;
}

function trimBlank(source: string, from: number, cut: number): number {
  let to = cut;
  while (to > from && isBlank(source, to - 1)) to -= 1;
  return to < cut && !isBoundary(source, to) ? to + 1 : to;
}

/** In code every blank counts; only the line break at the cut is that of the fence now. */
function dropNewline(source: string, from: number, cut: number): number {
  if (cut - from < 2 || source[cut - 1] !== '\n') return cut;
  return source[cut - 2] === '\r' ? cut - 2 : cut - 1;
}

function isBlank(source: string, offset: number): boolean {
  const code = source.charCodeAt(offset);
  return code === 32 || code === 10 || code === 9 || code === 13;
}

function isLowHalf(source: string, offset: number): boolean {
  const code = source.charCodeAt(offset);
  return code >= 0xdc00 && code <= 0xdfff;
}

function toWellFormed(text: string): string {
  return text.replace(/\p{Cs}/gu, '\ufffd');
}
