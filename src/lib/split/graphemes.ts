/** Boundaries between what readers take for one character (https://unicode.org/reports/tr29/). */

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** How far back a start is looked for from which boundaries can be counted. */
const reach = 256;

/** True when a cut at `offset` parts no grapheme. */
export function isBoundary(text: string, offset: number): boolean {
  if (offset <= 0 || offset >= text.length) return true;
  if (isPlain(text, offset - 1) && isPlain(text, offset)) return true;
  const start = safeStart(text, offset);
  return segmenter.segment(text.slice(start, offset + reach)).containing(offset - start)?.index === offset - start;
}

/** The last boundary after `from` that is not behind `offset`; the end of the first grapheme where there is none. */
export function boundaryBefore(text: string, from: number, offset: number): number {
  if (offset > from && isPlain(text, offset - 1) && isPlain(text, offset)) return offset;
  let best = from;
  for (const { index, segment } of segmenter.segment(text.slice(from, Math.max(offset, from) + reach))) {
    const end = from + index + segment.length;
    if (end > offset && best > from) break;
    best = end;
    if (end >= offset) break;
  }
  return best;
}

/** Printable ASCII joins with nothing on either side; the end of the text counts as such. */
function isPlain(text: string, offset: number): boolean {
  const code = text.charCodeAt(offset);
  return Number.isNaN(code) || (code >= 32 && code < 127);
}

function safeStart(text: string, offset: number): number {
  const least = Math.max(0, offset - reach);
  let start = offset - 1;
  while (start > least && !isPlain(text, start)) start -= 1;
  return start;
}
