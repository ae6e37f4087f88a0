/**
 * Runs the schemas over the values of the file. Nothing is coerced, save that the text of a `${VAR}` is read strictly where a
 * number or true/false is due, and that `null` for a whole section or list means that it is not there.
 */
import type { ZodType, z } from 'zod';
import type { SourcedTree } from './environment.ts';
import { isMapping } from './environment.ts';
import type { KeyNode } from './keys.ts';
import type { Place, Problem } from './problems.ts';
import { toProblems } from './reasons.ts';
import type { Path } from './read-yaml.ts';

type Issue = z.core.$ZodIssue;

/** Undefined when there are problems; they are added to `problems`. Changes `tree.root`. */
export function parseTree(
  schema: ZodType,
  tree: SourcedTree,
  keys: KeyNode,
  placeOfVariable: (name: string) => Place,
  problems: Problem[],
): Record<string, unknown> | undefined {
  let result = schema.safeParse(tree.root);
  // Every round takes away at least one issue: a mended value has the type that was asked for.
  while (!result.success && result.error.issues.map((issue) => mend(issue, tree)).includes(true)) result = schema.safeParse(tree.root);
  if (!result.success) {
    for (const problem of result.error.issues.flatMap((issue) => toProblems(issue, tree, keys))) {
      const variable = tree.sourceOf(problem.key.split('.'));
      problems.push(variable ? { ...problem, ...placeOfVariable(variable), key: variable } : problem);
    }
    return undefined;
  }
  const found = problems.length;
  findChangedNumbers(tree.root, result.data, [], tree, problems);
  return problems.length > found ? undefined : (result.data as Record<string, unknown>);
}

function mend(issue: Issue, tree: SourcedTree): boolean {
  const path = issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step));
  const name = path.at(-1);
  const parent = valueAt(tree.root, path.slice(0, -1));
  if (name === undefined || typeof parent !== 'object' || parent === null) return false;
  const holder = parent as Record<string, unknown>;
  const value = holder[name];
  const expected = new Set(toExpected(issue));
  if (value === null && ['object', 'record', 'array'].some((kind) => expected.has(kind)) && isMapping(parent)) {
    delete holder[name];
    return true;
  }
  if (typeof value !== 'string' || (tree.variablesAt(path).length === 0 && !tree.sourceOf(path))) return false;
  if ((expected.has('number') || expected.has('int')) && /^-?\d+(\.\d+)?$/.test(value.trim())) holder[name] = Number(value);
  else if (expected.has('boolean') && /^(true|false)$/.test(value.trim())) holder[name] = value.trim() === 'true';
  return typeof holder[name] !== 'string';
}

export function valueAt(root: unknown, path: Path): unknown {
  return path.reduce((value, step) => (typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[step] : undefined), root);
}

function toExpected(issue: Issue): string[] {
  if (issue.code === 'invalid_type') return [issue.expected];
  if (issue.code !== 'invalid_union') return [];
  return issue.errors.flat().flatMap((inner) => (inner.path.length === 0 ? toExpected(inner) : []));
}

/** Where a number became text it is an id, and an id must be written as the platform shows it: 1e3 and 007 are none. */
function findChangedNumbers(before: unknown, after: unknown, path: Path, tree: SourcedTree, problems: Problem[]): void {
  if (typeof after === 'string' && tree.oddNumberAt(path) !== undefined)
    problems.push({ ...tree.placeOf(path), key: path.join('.'), reason: 'is not an id as the platform shows it; write it out, in quotes' });
  if (Array.isArray(before) && Array.isArray(after))
    for (const [index, item] of before.entries()) findChangedNumbers(item, after[index], [...path, index], tree, problems);
  else if (isMapping(before) && isMapping(after))
    for (const [name, item] of Object.entries(before)) findChangedNumbers(item, after[name], [...path, name], tree, problems);
}
