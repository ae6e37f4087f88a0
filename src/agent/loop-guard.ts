/** Notices a model that runs in a circle: the same call that keeps giving the same result. */
import { createHash } from 'node:crypto';
import type { ToolCall } from '../contract/model.ts';

const remembered = 10;
const warnAt = 3;
const stopAt = 5;

export interface LoopGuard {
  /** Counts a result; gives a line to add to it, or an empty string. */
  note(call: ToolCall, result: string): string;
  readonly stopped: boolean;
}

export function createLoopGuard(): LoopGuard {
  const recent: string[] = [];
  let stopped = false;
  return {
    note(call, result) {
      const hash = createHash('sha1').update(JSON.stringify([call.name, call.args, result])).digest('base64');
      recent.push(hash);
      if (recent.length > remembered) recent.shift();
      const times = recent.filter((other) => other === hash).length;
      if (times >= stopAt) stopped = true;
      return times < warnAt ? '' : `\n\n[This call has now given the same result ${times} times. Do something else, or answer with what you have.]`;
    },
    get stopped() {
      return stopped;
    },
  };
}
