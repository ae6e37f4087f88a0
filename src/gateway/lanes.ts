/**
 * One turn at a time per session key. The inbox is the queue; a lane only knows that its key is running, and asks for the next
 * claim when the last one has ended. Live traffic, recovery, retries and scheduled work all come in by wake().
 */
import { toMessage } from '../contract/errors.ts';
import type { Log } from '../contract/log.ts';
import { createKeyedLoop, type KeyedLoop, type Step } from '../lib/keyed-loop.ts';
import { isSuspect, type Claim, type InboxRow } from '../store/inbox.ts';
import { isControlLane } from './control-lane.ts';

export type Claimed = [InboxRow, ...InboxRow[]];

export interface LanesOptions {
  claim(lane: string): Promise<Claim>;
  /** Runs the rows to their end. A rejection is logged; the rows are the callee's to end. */
  run(rows: Claimed): Promise<void>;
  /** Rows that are suspect begin to run, alone; committed before they do. */
  markAlone(rows: Claimed): Promise<void>;
  /** Lanes running at once. */
  maxRunning: number;
  log: Log;
  now(): number;
}

export function createLanes({ claim, run, markAlone, maxRunning, log, now }: LanesOptions): KeyedLoop {
  const gate = createGate();

  // The gate stands before the claim: a row that only waits for its turn must not look as if it had run when the process dies.
  const step = async (lane: string): Promise<Step> => {
    // A control command is often about the very turn that runs alone or fills the house: it waits for neither.
    const leave = await (isControlLane(lane) ? noGate : gate.shared());
    let claimed: Claim;
    try {
      claimed = await claim(lane);
      if (claimed.rows && !isSuspect(claimed.rows)) await runLogged(claimed.rows);
    } finally {
      leave();
    }
    if (!claimed.rows) return claimed.at === null ? 'idle' : { at: claimed.at };
    if (isSuspect(claimed.rows)) await runAlone(claimed.rows);
    return 'again';
  };

  const runAlone = async (rows: Claimed) => {
    const leave = await gate.alone();
    try {
      await markAlone(rows);
      await runLogged(rows);
    } finally {
      leave();
    }
  };

  const runLogged = async (rows: Claimed) => {
    try {
      await run(rows);
    } catch (thrown) {
      log.error('a message ended by a fault inside the program', { lane: rows[0].lane, error: toMessage(thrown) });
    }
  };

  return besides(createKeyedLoop({ step, maxRunning, log, now }), createKeyedLoop({ step, maxRunning, log, now }));
}

/** Control lanes run in a loop of their own, so that turns never take all the places. */
function besides(turns: KeyedLoop, control: KeyedLoop): KeyedLoop {
  const loopOf = (lane: string) => (isControlLane(lane) ? control : turns);
  return {
    wake: (lane) => loopOf(lane).wake(lane),
    open() {
      turns.open();
      control.open();
    },
    close: async () => void (await Promise.all([turns.close(), control.close()])),
    isRunning: (lane) => loopOf(lane).isRunning(lane),
    running: () => turns.running() + control.running(),
  };
}

const noGate = () => {};

/** Many may be inside together, or one alone. Who waits to be alone is let in before later comers. */
function createGate() {
  let inside = 0;
  let isAlone = false;
  const queue: { wantsAlone: boolean; enter: () => void }[] = [];
  const admit = () => {
    for (let next = queue[0]; next; next = queue[0]) {
      if (isAlone || (next.wantsAlone && inside > 0)) return;
      queue.shift();
      inside += 1;
      isAlone = next.wantsAlone;
      next.enter();
    }
  };
  const leave = () => {
    inside -= 1;
    isAlone = false;
    admit();
  };
  const enter = (wantsAlone: boolean) =>
    new Promise<() => void>((resolve) => {
      queue.push({ wantsAlone, enter: () => resolve(leave) });
      admit();
    });
  return { shared: () => enter(false), alone: () => enter(true) };
}
