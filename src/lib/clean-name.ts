/**
 * Display names come from strangers. They are shown in prompts, logs and lists, so they must not break a line, turn the
 * reading direction of what follows, or fill the screen.
 */

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
const unwanted = /[\p{Cc}\p{Cs}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]/gu;
const limit = 64;

/** A name on one line: no control, direction or line-break characters, at most 64 UTF-16 units, cut between graphemes. */
export function cleanName(name: string): string {
  // Platforms cap names far below this; it only bounds the work that a hostile caller can cause.
  const line = name.slice(0, 16 * limit).replace(/\s+/g, ' ').replace(unwanted, '').replace(/ {2,}/g, ' ').trim();
  if (line.length <= limit) return line;
  let kept = '';
  for (const { segment } of graphemes.segment(line)) {
    if (kept.length + segment.length > limit) break;
    kept += segment;
  }
  // One grapheme of endless combining marks: its beginning is all that can be shown.
  return kept.trim() || line.slice(0, limit).replace(/\p{Cs}/gu, '');
}
