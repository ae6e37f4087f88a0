/**
 * The text of one block -> a flat list of tokens: text, code, links, images, and where emphasis opens and closes. Marks are
 * always balanced and nested, so callers walk the list once, without recursion, however deep a text nests them.
 * Linear in the length of the text: brackets and emphasis are resolved by stacks, and no look-ahead is unbounded.
 */
import { readRun, resolveEmphasis, type Mark, type Run } from './emphasis.ts';
import { readEntity } from './entities.ts';
import { readTarget, toLabel, type Target } from './link.ts';

/** `from` and `to` are offsets in the text that was read. */
export type Token = { from: number; to: number } & (
  | { type: 'text' | 'code'; value: string }
  | { type: 'open' | 'close'; mark: Mark }
  /** What stands up to the matching `endlink` is the label, or what is said of an image. Images may stand inside links. */
  | { type: 'link'; url: string; image: boolean }
  | { type: 'endlink' }
  /** An address that stands in the text as it is. */
  | { type: 'url'; value: string }
);

/** A token whose marks are not known before the end of the text. */
type Pending = Token | { type: 'run'; from: number; run: Run };

interface Bracket {
  image: boolean;
  /** Its place among the tokens, where its label starts in the text, and how many runs of marks came before it. */
  token: number;
  label: number;
  runs: number;
}

interface Reading {
  text: string;
  definitions: ReadonlyMap<string, string>;
  tokens: Pending[];
  runs: Run[];
  brackets: Bracket[];
  /** Brackets below this height stand before a link and can open none: links do not nest. */
  spent: number;
  ticks: Map<number, number[]> | null;
}

const special = /[\\`*_~[\]!<&]|https?:\/\//g;
const bareUrl = /https?:\/\/[^\s<>"`|[\]\u0000-\u001f\u3000-\u303f\uff00-\uffef]+/y;
const angleUrl = /<([a-zA-Z][a-zA-Z\d+.-]{1,31}:[^\s<>|]*|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8})>/y;
const lineBreakTag = /<br[ \t]{0,4}\/?>/iy;

export function readInline(text: string, definitions: ReadonlyMap<string, string>): Token[] {
  const reading: Reading = { text, definitions, tokens: [], runs: [], brackets: [], spent: 0, ticks: null };
  let at = 0;
  while (at < text.length) {
    special.lastIndex = at;
    const found = special.exec(text);
    const next = found === null ? text.length : found.index;
    if (next > at) pushText(reading, at, next);
    at = next;
    if (found !== null) at = readSpecial(reading, at, found[0]);
  }
  resolveEmphasis(reading.runs);
  const tokens: Token[] = [];
  for (const pending of reading.tokens) {
    if (pending.type === 'run') pushMarks(pending.run, tokens);
    else tokens.push(pending);
  }
  return tokens;
}

function readSpecial(reading: Reading, at: number, found: string): number {
  switch (found) {
    case '\\': return readEscape(reading, at);
    case '`': return readCode(reading, at);
    case '*': case '_': case '~': return pushRun(reading, at);
    case '<': return readAngle(reading, at);
    case '&': return readReference(reading, at);
    case '!': return reading.text[at + 1] === '[' ? openBracket(reading, at, true) : pushText(reading, at, at + 1);
    case '[': return openBracket(reading, at, false);
    case ']': return closeBracket(reading, at);
    default: return readBareUrl(reading, at);
  }
}

/** Text that stands in the source as it is joins what is before it: a text full of stray signs gives few tokens. */
function pushText(reading: Reading, from: number, to: number, value = reading.text.slice(from, to)): number {
  const last = reading.tokens.at(-1);
  const isBracket = reading.brackets.at(-1)?.token === reading.tokens.length - 1;
  if (last?.type === 'text' && !isBracket && last.value.length === last.to - last.from && value.length === to - from) {
    last.value += value;
    last.to = to;
  } else reading.tokens.push({ type: 'text', from, to, value });
  return to;
}

function pushRun(reading: Reading, at: number): number {
  const run = readRun(reading.text, at);
  if (!run.canOpen && !run.canClose) return pushText(reading, at, at + run.length);
  reading.runs.push(run);
  reading.tokens.push({ type: 'run', from: at, run });
  return at + run.length;
}

function readEscape(reading: Reading, at: number): number {
  const next = reading.text[at + 1] ?? '';
  if (next === '\n') return pushText(reading, at, at + 2, '\n');
  return /[!-/:-@[-`{-~]/.test(next) ? pushText(reading, at, at + 2, next) : pushText(reading, at, at + 1);
}

function readCode(reading: Reading, at: number): number {
  const { text } = reading;
  const start = runEnd(text, at);
  const closers = (reading.ticks ??= findTicks(text)).get(start - at) ?? [];
  // Lists are in ascending order and readings only go forward: what lies behind us is dropped for good.
  while ((closers.at(-1) ?? Infinity) < start) closers.pop();
  const end = closers.at(-1);
  if (end === undefined) return pushText(reading, at, start);
  const inner = text.slice(start, end).replaceAll('\n', ' ');
  const padded = inner.length > 2 && inner.startsWith(' ') && inner.endsWith(' ') && inner.trim() !== '';
  const to = end + (start - at);
  reading.tokens.push({ type: 'code', from: at, to, value: padded ? inner.slice(1, -1) : inner });
  return to;
}

/** Where runs of backticks start, by their length, last one first. */
function findTicks(text: string): Map<number, number[]> {
  const found = new Map<number, number[]>();
  for (let at = text.indexOf('`'); at !== -1; ) {
    const end = runEnd(text, at);
    const list = found.get(end - at);
    if (list) list.push(at);
    else found.set(end - at, [at]);
    at = text.indexOf('`', end);
  }
  for (const list of found.values()) list.reverse();
  return found;
}

function readAngle(reading: Reading, at: number): number {
  angleUrl.lastIndex = at;
  const url = angleUrl.exec(reading.text);
  if (url?.[1] !== undefined) {
    const to = at + url[0].length;
    const value = url[1].includes('@') && !url[1].includes(':') ? `mailto:${url[1]}` : url[1];
    reading.tokens.push({ type: 'link', from: at, to: at + 1, url: value, image: false }, { type: 'text', from: at + 1, to: to - 1, value: url[1] }, { type: 'endlink', from: to - 1, to });
    return to;
  }
  lineBreakTag.lastIndex = at;
  const tag = lineBreakTag.exec(reading.text);
  return tag === null ? pushText(reading, at, at + 1) : pushText(reading, at, at + tag[0].length, '\n');
}

function readReference(reading: Reading, at: number): number {
  const entity = readEntity(reading.text, at);
  return entity === null ? pushText(reading, at, at + 1) : pushText(reading, at, entity.to, entity.value);
}

/** An address ends before the punctuation of the sentence around it, and before a bracket that it did not open. */
function readBareUrl(reading: Reading, at: number): number {
  bareUrl.lastIndex = at;
  const match = bareUrl.exec(reading.text)?.[0];
  if (match === undefined) return pushText(reading, at, at + 4);
  let open = 0;
  for (const mark of match) open += mark === '(' ? 1 : mark === ')' ? -1 : 0;
  let length = match.length;
  for (; length > 0; length -= 1) {
    const last = match[length - 1] ?? '';
    if (last === ')' && open < 0) open += 1;
    else if (!/[.,;:!?'*_~]/.test(last)) break;
  }
  if (length <= match.indexOf('//') + 2) return pushText(reading, at, at + 4);
  reading.tokens.push({ type: 'url', from: at, to: at + length, value: match.slice(0, length) });
  return at + length;
}

function openBracket(reading: Reading, at: number, image: boolean): number {
  const label = at + (image ? 2 : 1);
  reading.brackets.push({ image, token: reading.tokens.length, label, runs: reading.runs.length });
  reading.tokens.push({ type: 'text', from: at, to: label, value: reading.text.slice(at, label) });
  return label;
}

function closeBracket(reading: Reading, at: number): number {
  const bracket = reading.brackets.pop();
  const usable = bracket !== undefined && (bracket.image || reading.brackets.length >= reading.spent);
  reading.spent = Math.min(reading.spent, reading.brackets.length);
  const target = usable ? findTarget(reading, bracket, at) : null;
  if (bracket === undefined || target === null) return pushText(reading, at, at + 1);
  // Emphasis does not cross the edge of a label: what is inside is settled now.
  resolveEmphasis(reading.runs.splice(bracket.runs));
  const from = bracket.label - (bracket.image ? 2 : 1);
  reading.tokens[bracket.token] = { type: 'link', from, to: bracket.label, url: target.url, image: bracket.image };
  reading.tokens.push({ type: 'endlink', from: at, to: target.to });
  if (!bracket.image) reading.spent = reading.brackets.length;
  return target.to;
}

/** The target behind a label or that of its definition. `[^note]` has none and stays as it is: both of its ends stay readable. */
function findTarget({ text, definitions }: Reading, bracket: Bracket, at: number): Target | null {
  const inline = readTarget(text, at + 1);
  if (inline !== null || definitions.size === 0 || at - bracket.label > 100) return inline;
  const own = text.slice(bracket.label, at);
  const explicit = text[at + 1] === '[' ? text.slice(at + 2, at + 103).indexOf(']') : -1;
  if (explicit !== -1) {
    const to = at + 2 + explicit;
    const url = definitions.get(toLabel(text.slice(at + 2, to) || own));
    if (url !== undefined) return { url, to: to + 1 };
  }
  // `[label]:` is the definition itself, which is shown as it is.
  const url = text[at + 1] === ':' ? undefined : definitions.get(toLabel(own));
  return url === undefined ? null : { url, to: at + 1 };
}

/** A run in its final form: marks that it closes, what is left of it as text, marks that it opens. */
function pushMarks(run: Run, tokens: Token[]): void {
  let at = run.from;
  const push = (type: 'open' | 'close', mark: Mark) => {
    const to = at + (mark === 'emphasis' ? 1 : 2);
    tokens.push({ type, mark, from: at, to });
    at = to;
  };
  for (const mark of run.closes) push('close', mark);
  if (run.left > 0) tokens.push({ type: 'text', from: at, to: at + run.left, value: run.mark.repeat(run.left) });
  at += run.left;
  for (const mark of run.opens.toReversed()) push('open', mark);
}

function runEnd(text: string, start: number): number {
  let end = start;
  while (text[end] === '`') end += 1;
  return end;
}
