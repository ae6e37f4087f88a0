/** One run of a handler, raced against its time-out and the turn's abort. A result that comes after that has no reader. */
import type { Tool, ToolArgs, ToolContext } from '../contract/tool.ts';

export type HandlerEnd =
  | { kind: 'returned'; value: unknown }
  | { kind: 'threw'; thrown: unknown }
  | { kind: 'timed_out'; limitMs: number }
  | { kind: 'aborted' };

export interface HandlerObserver {
  /** The handler ended after its time-out or the abort; what it gave is discarded. */
  onLate(end: HandlerEnd): void;
  /** The handler held up the whole process for so long before it returned its promise. */
  onBlocked(ms: number): void;
}

const defaultLimitMs = 30_000;
const longestLimitMs = 600_000;
const blockingMs = 1_000;

/** Never rejects. The handler's own signal is aborted as soon as nobody waits for it any more. */
export async function runHandler(tool: Tool, args: ToolArgs, context: ToolContext, observer: HandlerObserver): Promise<HandlerEnd> {
  if (context.signal.aborted) return { kind: 'aborted' };
  const limitMs = Math.min(tool.timeoutMs ?? defaultLimitMs, longestLimitMs);
  const controller = new AbortController();
  let decide: (end: HandlerEnd) => void = () => {};
  const decided = new Promise<HandlerEnd>((resolve) => (decide = resolve));
  const onAbort = () => decide({ kind: 'aborted' });
  const timer = setTimeout(() => decide({ kind: 'timed_out', limitMs }), limitMs);
  context.signal.addEventListener('abort', onAbort, { once: true });

  let waiting = true;
  void call(tool, args, { ...context, signal: controller.signal }, observer).then((end) => (waiting ? decide(end) : observer.onLate(end)));
  const end = await decided;
  waiting = false;
  clearTimeout(timer);
  context.signal.removeEventListener('abort', onAbort);
  if (end.kind === 'aborted') controller.abort(context.signal.reason);
  if (end.kind === 'timed_out') controller.abort(new Error('the time limit of the tool is over'));
  return end;
}

async function call(tool: Tool, args: ToolArgs, context: ToolContext, observer: HandlerObserver): Promise<HandlerEnd> {
  try {
    const start = performance.now();
    const returned = tool.handler(args, context);
    const blocked = performance.now() - start;
    if (blocked > blockingMs) observer.onBlocked(Math.round(blocked));
    return { kind: 'returned', value: await returned };
  } catch (thrown) {
    return { kind: 'threw', thrown };
  }
}
