/** Where a link points: the `(target "title")` behind a label, and the labels of definitions. */
import { readEntity } from './entities.ts';

/** Deeper brackets inside a target end the attempt, and longer titles: both keep hostile texts linear. */
const maxBrackets = 32;
const maxTitle = 1000;

export interface Target {
  url: string;
  /** Offset behind the target. */
  to: number;
}

/** The target that starts with a bracket at `at`, or null. */
export function readTarget(text: string, at: number): Target | null {
  if (text[at] !== '(') return null;
  const start = skipBlank(text, at + 1);
  const end = text[start] === '<' ? angleEnd(text, start + 1) : bareEnd(text, start);
  if (end === -1) return null;
  const angled = text[start] === '<';
  const behind = angled ? end + 1 : end;
  let to = skipBlank(text, behind);
  if (to > behind && text[to] !== ')') to = skipBlank(text, titleEnd(text, to));
  return text[to] === ')' ? { url: unescape(text.slice(angled ? start + 1 : start, end)), to: to + 1 } : null;
}

function angleEnd(text: string, start: number): number {
  for (let at = start; at < text.length; at += 1) {
    const mark = text[at];
    if (mark === '>') return at;
    if (mark === '<' || mark === '\n') return -1;
    if (mark === '\\') at += 1;
  }
  return -1;
}

function bareEnd(text: string, start: number): number {
  let open = 0;
  let at = start;
  for (; at < text.length; at += 1) {
    const mark = text[at] ?? '';
    if (mark <= ' ') break;
    if (mark === '\\' && (text[at + 1] ?? ' ') > ' ') at += 1;
    else if (mark === '(' && ++open > maxBrackets) return -1;
    else if (mark === ')' && --open < 0) break;
  }
  return open > 0 ? -1 : at;
}

function titleEnd(text: string, start: number): number {
  const mark = text[start] ?? '';
  const closer = mark === '(' ? ')' : mark;
  if (closer !== '"' && closer !== "'" && closer !== ')') return start;
  for (let at = start + 1; at < text.length && at - start <= maxTitle; at += 1) {
    if (text[at] === closer) return at + 1;
    if (text[at] === '\\') at += 1;
  }
  return start;
}

function skipBlank(text: string, from: number): number {
  let at = from;
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\t') at += 1;
  return at;
}

function unescape(url: string): string {
  return url.replace(/\\([!-/:-@[-`{-~])/g, '$1').replace(/&[#\w]{1,9};/g, (reference) => readEntity(reference, 0)?.value ?? reference);
}

/** Labels are compared without regard to case and white space. */
export function toLabel(text: string): string {
  return text.trim().replace(/\s+/g, ' ').toLowerCase();
}
