/**
 * Which lines of a text match a pattern that the model wrote. Some patterns take for ever on some lines; inside a vm with a
 * time limit they can be ended, which nothing else in one thread can do.
 */
import { createContext, Script } from 'node:vm';
import { toMessage } from '../contract/errors.ts';

/** Milliseconds that all texts of one search may take together. */
const budgetMs = 1_000;

/** Resolves a pattern to a function that gives the numbers (from 0) of the matching lines. Throws an Error for the model. */
export function createLineMatcher(pattern: string): (lines: readonly string[]) => number[] {
  let regex: RegExp;
  try {
    regex = new RegExp(pattern, 'u');
  } catch {
    try {
      regex = new RegExp(pattern);
    } catch (thrown) {
      throw new Error(`The pattern is no regular expression: ${toMessage(thrown)}`, { cause: thrown });
    }
  }
  let current: readonly string[] = [];
  let found: number[] = [];
  const script = new Script('match()');
  const context = createContext({
    match() {
      found = current.flatMap((line, index) => (regex.test(line) ? [index] : []));
    },
  });
  let left = budgetMs;
  return (lines) => {
    if (left <= 0) throw tooSlow();
    current = lines;
    const start = performance.now();
    try {
      script.runInContext(context, { timeout: Math.max(1, Math.ceil(left)) });
    } catch {
      throw tooSlow();
    } finally {
      left -= performance.now() - start;
    }
    return found;
  };
}

function tooSlow(): Error {
  return new Error('The pattern takes too long; make it simpler, or search in fewer files with path and file_glob.');
}
