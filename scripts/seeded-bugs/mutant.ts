/** What a seeded bug is: one small change to the source, as a careless colleague would make it, and the tests that must go red by it. */

export interface Edit {
  file: string;
  /** Occurs exactly once in the file. */
  find: string;
  replace: string;
}

export interface Mutant extends Edit {
  /** One sentence: what is broken. */
  name: string;
  /** The number of the promise that it breaks, in README.md. */
  promise: 1 | 2 | 3 | 4 | 5 | 6 | 7;
  /** Where the first edit alone would be caught by a check beside it. */
  also?: Edit[];
  /** The test file that must go red. */
  test: string;
  /** Which of its tests: a part of their names. */
  called: string;
}
