/**
 * The scratch copy in which bugs are seeded: the files of this checkout as they are, with its packages. Tests run there as processes of
 * their own and are given up after a while; what they report is read from vitest's JSON.
 */
import { execFileSync, spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Edit } from './mutant.ts';

export interface TestRun {
  /** `broken`: nothing was tested, because a file could not even be loaded. `hung`: it did not end in time. */
  result: 'green' | 'red' | 'hung' | 'broken';
  /** The names of the tests that failed, or what else there is to say. */
  said: string[];
}

export interface Workshop {
  /** How often the edit's text occurs in its file. */
  occurrences(edit: Edit): number;
  /** Changes the files; returns the function that puts them back. */
  apply(edits: readonly Edit[]): () => void;
  /** Runs these tests, after a build where one of them runs the built program. */
  test(files: readonly string[], limitMs: number, called?: string): Promise<TestRun>;
  remove(): void;
}

interface Report {
  testResults: { name: string; message: string; assertionResults: { status: string; fullName: string }[] }[];
}

export function openWorkshop(root: string): Workshop {
  const dir = mkdtempSync(join(tmpdir(), 'hermes-seeded-'));
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], { cwd: root, encoding: 'utf8' });
  for (const file of listed.split('\0').filter((name) => name !== '' && existsSync(join(root, name)))) {
    mkdirSync(dirname(join(dir, file)), { recursive: true });
    copyFileSync(join(root, file), join(dir, file));
  }
  symlinkSync(realpathSync(join(root, 'node_modules')), join(dir, 'node_modules'));
  const read = (file: string) => readFileSync(join(dir, file), 'utf8');
  const runsProgram = (file: string) => /support\/(daemon|crash-rig)\.ts/.test(read(file));

  return {
    occurrences: ({ file, find }) => read(file).split(find).length - 1,
    apply(edits) {
      const before = new Map(edits.map(({ file }) => [file, read(file)]));
      for (const { file, find, replace } of edits) writeFileSync(join(dir, file), read(file).replace(find, () => replace));
      return () => before.forEach((text, file) => writeFileSync(join(dir, file), text));
    },
    async test(files, limitMs, called) {
      if (files.some(runsProgram)) execFileSync(process.execPath, ['scripts/build.mjs'], { cwd: dir, stdio: 'inherit' });
      const report = join(dir, 'seeded-report.json');
      rmSync(report, { force: true });
      const filter = called === undefined ? [] : ['-t', called.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')];
      const isOver = await runVitest(dir, [...files, ...filter, '--bail=1', '--maxWorkers=2', '--reporter=json', `--outputFile=${report}`], limitMs);
      if (!isOver) return { result: 'hung', said: [`not over after ${limitMs / 1000} s`] };
      return toRun(existsSync(report) ? (JSON.parse(readFileSync(report, 'utf8')) as Report) : { testResults: [] });
    },
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}

/** False when it had to be ended. It has a process group of its own, so that nothing of it stays behind. */
async function runVitest(dir: string, args: string[], limitMs: number): Promise<boolean> {
  const child = spawn(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...args], { cwd: dir, stdio: 'ignore', detached: true });
  let isOver = true;
  const end = () => {
    isOver = false;
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  };
  const timer = setTimeout(end, limitMs);
  process.once('exit', end);
  await new Promise((resolve) => child.once('close', resolve));
  process.off('exit', end);
  clearTimeout(timer);
  return isOver;
}

function toRun({ testResults }: Report): TestRun {
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  const failed = tests.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName);
  if (failed.length > 0) return { result: 'red', said: failed };
  const isTested = tests.some(({ status }) => status === 'passed');
  const faults = testResults.filter(({ message }) => message !== '').map(({ name, message }) => `${name}: ${message.split('\n')[0]}`);
  return isTested && faults.length === 0 ? { result: 'green', said: [] } : { result: 'broken', said: faults.length > 0 ? faults : ['no test was run'] };
}
