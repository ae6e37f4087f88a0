/** Stretches of the source that a cut should not fall into: links, addresses, inline code, references, escapes, emphasis. */
import { readInline, type Token } from '../markdown/inline.ts';
import { textOf, toOffset, type Content } from '../markdown/lines.ts';
import type { Seams } from './seams.ts';

/** Source offsets, ascending, not overlapping. */
export type Spans = { from: number; to: number }[];

export interface Guarded {
  /** What a cut would break for good. */
  atoms: Spans;
  /** The same and emphasis, which a cut only leaves without its look. */
  marked: Spans;
}

const nothing: Guarded = { atoms: [], marked: [] };

/** What to guard in the block of a line. Read once per block and kept in `known`, so that a long line is read once. */
export function guardedAt(seams: Seams, no: number, known: Map<number, Guarded>): Guarded {
  const leaf = seams.leaves[no];
  const line = seams.document.lines[no];
  if (leaf === undefined || line === undefined || leaf.type === 'code' || leaf.type === 'rule') return nothing;
  const key = leaf.type === 'table' ? no : leaf.span.first;
  let guarded = known.get(key);
  if (guarded === undefined) {
    const content = leaf.type === 'table' ? { text: textOf(seams.document.source, line), starts: [0], at: [line.from] } : leaf.content;
    guarded = toGuarded(content, readInline(content.text, seams.document.definitions));
    known.set(key, guarded);
  }
  return guarded;
}

export function isInside(spans: Spans, offset: number): boolean {
  let low = 0;
  let high = spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((spans[middle]?.to ?? 0) <= offset) low = middle + 1;
    else high = middle;
  }
  return (spans[low]?.from ?? Infinity) < offset;
}

function toGuarded(content: Content, tokens: Token[]): Guarded {
  const guarded: Guarded = { atoms: [], marked: [] };
  let links = 0;
  let marks = 0;
  let linkFrom = 0;
  let markFrom = 0;
  const add = (spans: Spans, from: number, to: number) => spans.push({ from: toOffset(content, from), to: toOffset(content, to - 1) + 1 });
  for (const token of tokens) {
    if (token.type === 'link' && links++ === 0) linkFrom = token.from;
    else if (token.type === 'open' && marks++ === 0) markFrom = token.from;
    const linkEnds = token.type === 'endlink' && --links === 0;
    const isAtom = linkEnds || (links === 0 && isWhole(token));
    if (isAtom) add(guarded.atoms, linkEnds ? linkFrom : token.from, token.to);
    const marksEnd = token.type === 'close' && --marks === 0;
    if (marksEnd || (isAtom && marks === 0)) add(guarded.marked, marksEnd ? markFrom : linkEnds ? linkFrom : token.from, token.to);
  }
  return guarded;
}

/** Text that is written otherwise in the source is a reference or an escape. */
function isWhole(token: Token): boolean {
  return token.type === 'code' || token.type === 'url' || (token.type === 'text' && token.value.length !== token.to - token.from);
}
