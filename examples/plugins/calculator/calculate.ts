/**
 * Evaluates an expression with mathjs. Only what is listed here can be reached: the expression is parsed, every node of it is held
 * against the lists, and only then is it computed. Its length and the size of the arguments that cost time are bounded.
 */
import type { EvalFunction, MathNode } from 'mathjs';

/** What is used of the library. */
interface MathLibrary {
  parse(expression: string): MathNode;
  format(value: unknown, options: { precision: number }): string;
  combinations(n: number, k: number): number;
  permutations(n: number, k: number): number;
}

const maxLength = 500;
/** combinations and permutations multiply step by step. */
const maxSteps = 10_000;
/** Digits that a sum of decimal fractions gets right: 0.1 + 0.2 is 0.3. */
const digits = 14;

const constants = new Set(['pi', 'PI', 'e', 'E', 'tau', 'phi', 'Infinity', 'NaN', 'true', 'false']);
const functions = new Set(
  ('abs add cbrt ceil combinations cos cosh acos acosh cot csc divide exp expm1 factorial fix floor gamma gcd hypot lcm ln log log10 log1p log2 ' +
    'max mean median min mod multiply nthRoot permutations pow round sec sign sin sinh asin asinh sqrt square cube std subtract sum tan tanh atan atan2 atanh variance').split(' '),
);
const nodeTypes = new Set(['ConstantNode', 'ConditionalNode', 'FunctionNode', 'OperatorNode', 'ParenthesisNode', 'RelationalNode', 'SymbolNode']);
/** Operators on anything but plain numbers, and those that make a list, a unit or an assignment. */
const operators = new Set('+ - * / % ^ ! < <= > >= == != and or not xor'.split(' '));

type Calculated = { expression: string; result: number | boolean | string } | { error: string };

export async function calculate(expression: string): Promise<Calculated> {
  if (expression.length > maxLength) return { error: `the expression is longer than ${maxLength} characters` };
  const math = await loadMath();
  try {
    const node = math.parse(toPlainSyntax(expression));
    node.traverse(check);
    const code: EvalFunction = node.compile();
    return finish(expression, code.evaluate(createScope(math)), math);
  } catch (thrown) {
    return { error: thrown instanceof Error ? thrown.message : String(thrown) };
  }
}

/** Loaded at the first call: starting must not wait for it. The one-file build loads ten times faster than the modules. */
async function loadMath(): Promise<MathLibrary> {
  const bundle = (await import('mathjs/lib/browser/math.js' as string)) as { default: MathLibrary };
  return bundle.default;
}

/** People and models write powers as ** and signs as they are printed. */
function toPlainSyntax(expression: string): string {
  return expression.replaceAll('**', '^').replaceAll('×', '*').replaceAll('÷', '/').replaceAll('−', '-');
}

function check(node: MathNode): void {
  if (!nodeTypes.has(node.type)) throw new Error('only numbers, operators, parentheses and functions can be calculated');
  const { value, name, op } = node as unknown as { value?: unknown; name?: string; op?: string };
  if (node.type === 'ConstantNode' && typeof value !== 'number' && typeof value !== 'boolean') throw new Error('only numbers can be calculated');
  if (node.type === 'OperatorNode' && !operators.has(op ?? '')) throw new Error(`the operator ${op} cannot be used`);
  if (node.type === 'SymbolNode' && !constants.has(name ?? '') && !functions.has(name ?? '')) throw new Error(`"${name}" is no function or constant that can be used`);
}

function createScope(math: MathLibrary): Map<string, unknown> {
  const bounded = (count: (n: number, k: number) => number) => (n: number, k: number) => {
    if (!(Math.min(Math.abs(k), Math.abs(n - k)) <= maxSteps && Math.abs(n) <= Number.MAX_SAFE_INTEGER)) throw new Error(`numbers of this size are not counted; at most ${maxSteps} steps`);
    return count(n, k);
  };
  return new Map<string, unknown>([
    ['ln', Math.log],
    ['combinations', bounded(math.combinations)],
    ['permutations', bounded(math.permutations)],
  ]);
}

function finish(expression: string, value: unknown, math: MathLibrary): Calculated {
  if (typeof value === 'boolean') return { expression, result: value };
  if (typeof value === 'function') return { error: 'a function needs its arguments, for example sqrt(2)' };
  if (typeof value !== 'number') return { expression, result: math.format(value, { precision: digits }) };
  if (!Number.isFinite(value)) return { error: 'the result is not a finite number (division by zero, or too large)' };
  return { expression, result: Number.isInteger(value) ? value : Number(value.toPrecision(digits)) };
}
