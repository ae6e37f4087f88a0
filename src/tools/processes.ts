/**
 * Background processes of all sessions. They outlive the turn that started them and end with the program. A session sees
 * only its own: the id alone gives no right to another one's output or input.
 */
import { randomBytes } from 'node:crypto';
import { startShell, type Shell, type ShellEnd, type ShellOptions } from './shell.ts';

export interface BackgroundProcess {
  id: string;
  command: string;
  /** ms since the epoch */
  startedAt: number;
  shell: Shell;
  /** Null while it runs. */
  end: ShellEnd | null;
}

export interface Processes {
  /** Null when too many run already. `owner` is the task_id of the call. */
  start(owner: string, options: Omit<ShellOptions, 'input'>): BackgroundProcess | null;
  /** Oldest first. */
  list(owner: string): BackgroundProcess[];
  get(owner: string, id: string): BackgroundProcess | undefined;
  /** Ends every process and resolves once all are gone; at most 5 s. */
  stop(): Promise<void>;
}

const mostRunning = 20;
const mostEnded = 20;

export function createProcesses(): Processes {
  const all = new Map<string, BackgroundProcess & { owner: string }>();
  const running = () => [...all.values()].filter(({ end }) => end === null);

  function forgetOldest(): void {
    const ended = [...all.values()].filter(({ end }) => end !== null);
    for (const { id } of ended.slice(0, Math.max(0, ended.length - mostEnded))) all.delete(id);
  }

  return {
    start(owner, options) {
      if (running().length >= mostRunning) return null;
      const shell = startShell({ ...options, input: true });
      const started = { id: `proc_${randomBytes(6).toString('hex')}`, owner, command: options.command, startedAt: Date.now(), shell, end: null as ShellEnd | null };
      all.set(started.id, started);
      void shell.ended.then((end) => {
        started.end = end;
        forgetOldest();
      });
      return started;
    },
    list: (owner) => [...all.values()].filter((process) => process.owner === owner),
    get(owner, id) {
      const found = all.get(id);
      return found?.owner === owner ? found : undefined;
    },
    async stop() {
      const left = running();
      for (const { shell } of left) shell.stop();
      await Promise.all(left.map(({ shell }) => shell.ended));
    },
  };
}
