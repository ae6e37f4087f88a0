/** Where `reactions` is on: the question gets a sign when its turn begins and another when it has ended. Failures cost nothing. */
import type { Adapter } from '../contract/adapter.ts';
import type { InboundMessage } from '../contract/message.ts';
import type { TurnOutcome } from '../contract/turn.ts';

const working = '👀';
const signs: Partial<Record<TurnOutcome['status'], string>> = { answered: '👍', failed: '👎' };

export interface ProgressReactions {
  begin(): void;
  end(status: TurnOutcome['status']): void;
}

export function createProgressReactions(adapter: Adapter | undefined, { address, messageId }: InboundMessage, isOn: boolean): ProgressReactions {
  // In order: the second must not be overtaken by the first.
  let last: Promise<void> = Promise.resolve();
  const react = (emoji: string) => {
    if (!isOn || !adapter?.react) return;
    last = last.then(() => adapter.react?.(address, messageId, emoji, AbortSignal.timeout(10_000))).catch(() => {});
  };
  return { begin: () => react(working), end: (status) => react(signs[status] ?? '') };
}
