/**
 * Runs of `*`, `_` and `~`: which of them open and close emphasis. CommonMark's rules with a stack of openers, with three differences for
 * the sake of chats: letters of Chinese, Japanese and Korean count as a boundary (`**注意：**请` works), a run between digits is
 * arithmetic (`2**16`, `2*3*4`), and strike-through takes two tildes (`~5` is "about five").
 */

export type Mark = 'strong' | 'emphasis' | 'strike';

export interface Run {
  mark: string;
  from: number;
  /** Characters in the source, and those that are not used up yet. */
  length: number;
  left: number;
  canOpen: boolean;
  canClose: boolean;
  /** In the order in which they were matched. */
  opens: Mark[];
  closes: Mark[];
}

const sign = /^[\p{P}\p{S}]$/u;
const asciiWord = /^[A-Za-z\d]$/;
const wideScript = /^[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\u{20000}-\u{3fffd}]$/u;

/** The run that starts at `at`. */
export function readRun(text: string, at: number): Run {
  const mark = text[at] ?? '';
  let to = at;
  while (text[to] === mark) to += 1;
  const before = characterBefore(text, at);
  const after = String.fromCodePoint(text.codePointAt(to) ?? 32);
  const length = to - at;
  const run: Run = { mark, from: at, length, left: length, canOpen: false, canClose: false, opens: [], closes: [] };
  if ((mark === '~' && length !== 2) || (mark === '*' && isArithmetic(before, after, length))) return run;
  const left = kindOf(before);
  const right = kindOf(after);
  const opens = right !== 'edge' && (right !== 'sign' || left !== 'word' || wideScript.test(before));
  const closes = left !== 'edge' && (left !== 'sign' || right !== 'word' || wideScript.test(after));
  run.canOpen = opens && (mark !== '_' || !closes || left === 'sign');
  run.canClose = closes && (mark !== '_' || !opens || right === 'sign');
  return run;
}

/** White space is an edge; the expressions are only asked about what is not ASCII. */
function kindOf(character: string): 'edge' | 'sign' | 'word' {
  if (character <= ' ') return 'edge';
  if (character <= '~') return asciiWord.test(character) ? 'word' : 'sign';
  if (/\s/.test(character)) return 'edge';
  return sign.test(character) ? 'sign' : 'word';
}

function characterBefore(text: string, at: number): string {
  const last = text.charCodeAt(at - 1);
  const isLowHalf = last >= 0xdc00 && last <= 0xdfff;
  return at === 0 ? ' ' : text.slice(isLowHalf ? at - 2 : at - 1, at);
}

function isArithmetic(before: string, after: string, length: number): boolean {
  return asciiWord.test(before) && asciiWord.test(after) && (length === 1 || /\d/.test(before + after));
}

/**
 * Pairs openers with closers and writes the marks into the runs. For each kind of closer it remembers below which height of
 * the stack no opener fits, so that a text of nothing but marks takes linear time.
 */
export function resolveEmphasis(runs: Run[]): void {
  const openers: Run[] = [];
  const fruitless = new Map<string, number>();
  for (const run of runs) {
    while (run.canClose && run.left > 0) {
      const kind = `${run.mark}${run.canOpen}${run.length % 3}`;
      const height = findOpener(openers, run, fruitless.get(kind) ?? 0);
      if (height === -1) {
        fruitless.set(kind, openers.length);
        break;
      }
      match(openers, height, run);
      for (const [key, least] of fruitless) if (least > openers.length) fruitless.set(key, openers.length);
    }
    if (run.canOpen && run.left > 0) openers.push(run);
  }
}

function findOpener(openers: Run[], closer: Run, least: number): number {
  for (let height = openers.length - 1; height >= least; height -= 1) {
    const opener = openers[height];
    if (opener?.mark === closer.mark && fits(opener, closer)) return height;
  }
  return -1;
}

/** CommonMark's rule of three: `**a*b**` is not `*` closed by half of `**`. */
function fits(opener: Run, closer: Run): boolean {
  if (!opener.canClose && !closer.canOpen) return true;
  return (opener.length + closer.length) % 3 !== 0 || (opener.length % 3 === 0 && closer.length % 3 === 0);
}

function match(openers: Run[], height: number, closer: Run): void {
  const opener = openers[height];
  if (opener === undefined) return;
  openers.length = height + 1;
  const mark: Mark = closer.mark === '~' ? 'strike' : opener.left >= 2 && closer.left >= 2 ? 'strong' : 'emphasis';
  const used = mark === 'emphasis' ? 1 : 2;
  opener.opens.push(mark);
  closer.closes.push(mark);
  opener.left -= used;
  closer.left -= used;
  if (opener.left === 0) openers.pop();
}
