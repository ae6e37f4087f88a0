/**
 * `npm run seeded-bugs`: breaks each promise on purpose in a scratch copy and sees a test fail. A seeded bug that no test sees is a hole in
 * the suite; one whose place in the source has gone says nothing any more. Both end the run with 1.
 *
 *   npm run seeded-bugs -- --list
 *   npm run seeded-bugs -- --only 3,7
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { mutants } from './seeded-bugs/list.ts';
import type { Edit, Mutant } from './seeded-bugs/mutant.ts';
import { openWorkshop, type Workshop } from './seeded-bugs/workshop.ts';

const { values } = parseArgs({ options: { list: { type: 'boolean', default: false }, only: { type: 'string' } } });
const wanted = values.only?.split(',').map(Number);
const chosen = mutants.map((mutant, index) => ({ mutant, number: index + 1 })).filter(({ number }) => wanted?.includes(number) ?? true);
/** A slow machine needs a minute for the slowest file; a bug that makes a test hang may take all of it. */
const limitMs = 180_000;

const say = (text: string) => void process.stdout.write(`${text}\n`);
const editsOf = ({ file, find, replace, also = [] }: Mutant): Edit[] => [{ file, find, replace }, ...also];

interface Verdict {
  number: number;
  name: string;
  outcome: string;
  isKilled: boolean;
}

async function judge(workshop: Workshop, mutant: Mutant): Promise<{ outcome: string; isKilled: boolean }> {
  const lost = editsOf(mutant).find((edit) => workshop.occurrences(edit) !== 1);
  if (lost) return { outcome: `LOST: its text does not occur exactly once in ${lost.file}`, isKilled: false };
  const restore = workshop.apply(editsOf(mutant));
  try {
    const { result, said } = await workshop.test([mutant.test], limitMs, mutant.called);
    if (result === 'red') return { outcome: `killed by: ${said[0]}`, isKilled: true };
    if (result === 'hung') return { outcome: `killed: the tests hang, ${said.join()}`, isKilled: true };
    return { outcome: result === 'green' ? 'SURVIVED' : `BROKEN, nothing was tested: ${said.join('; ')}`, isKilled: false };
  } finally {
    restore();
  }
}

async function run(): Promise<boolean> {
  const workshop = openWorkshop(join(import.meta.dirname, '..'));
  process.once('SIGINT', () => process.exit(130));
  process.once('exit', () => workshop.remove());
  const files = [...new Set(chosen.map(({ mutant }) => mutant.test))];
  say(`${chosen.length} seeded bugs; first ${files.length} test files without any`);
  const baseline = await workshop.test(files, 10 * limitMs);
  if (baseline.result !== 'green') {
    say(`the tests are ${baseline.result} before anything is broken:\n${baseline.said.join('\n')}`);
    return false;
  }
  const verdicts: Verdict[] = [];
  for (const { mutant, number } of chosen) {
    const begun = performance.now();
    const verdict = { number, name: mutant.name, ...(await judge(workshop, mutant)) };
    verdicts.push(verdict);
    say(`${number} ${mutant.name} (${mutant.test}, ${Math.round((performance.now() - begun) / 1000)} s)\n   ${verdict.outcome}`);
  }
  say(toTable(verdicts));
  return verdicts.every(({ isKilled }) => isKilled);
}

function toTable(verdicts: readonly Verdict[]): string {
  const rows = verdicts.map(({ number, name, outcome }) => `| ${number} | ${name} | ${outcome} |`);
  const killed = verdicts.filter(({ isKilled }) => isKilled).length;
  return ['', '| number | what is broken | outcome |', '|---|---|---|', ...rows, '', `${killed} of ${verdicts.length} killed`].join('\n');
}

if (values.list) for (const { mutant, number } of chosen) say(`${number}. ${mutant.name} (promise ${mutant.promise}; ${mutant.test}: ${mutant.called})`);
else process.exitCode = (await run()) ? 0 : 1;
