/** A program under measurement, as a process of its own; its CPU time and memory are read from /proc, so this needs Linux. */
import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';

export interface Program {
  /** Moment of its start, as of performance.now(). */
  startedAt: number;
  /** CPU of all its threads since its start, ms, in steps of 10. */
  cpuMs(): number;
  /** Resident memory, MB. */
  rssMb(): number;
  /** Resolves with the moment at which it has printed this. Rejects when it ends before. */
  printed(text: string): Promise<number>;
  /** The end of what it wrote to standard error. */
  complaints(): string;
  /** SIGTERM, after 10 s SIGKILL; resolves when it is gone. */
  stop(): Promise<void>;
}

/** Clock ticks of /proc per second; the kernel shows 100 to user space on every architecture that Node runs on. */
const ticksPerSecond = 100;
const stopMs = 10_000;

/** `args` are those of `node`. Standard error goes to `logFile`, as a service's would. */
export function startProgram(args: string[], { logFile, env = {} }: { logFile: string; env?: Record<string, string> }): Program {
  const log = openSync(logFile, 'a');
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, { env: { PATH: process.env['PATH'] ?? '', ...env }, stdio: ['ignore', 'pipe', log] });
  closeSync(log);
  const { pid } = child;
  if (pid === undefined) throw new Error(`node ${args.join(' ')} could not be started`);
  let out = '';
  let look = () => {};
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    out += text;
    look();
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const complaints = () => readFileSync(logFile, 'utf8').slice(-1000);
  return {
    startedAt,
    cpuMs() {
      // The second field is a name in brackets that may hold spaces; utime and stime are the 12th and 13th after it.
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
      return ((Number(fields[11]) + Number(fields[12])) * 1000) / ticksPerSecond;
    },
    rssMb: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024,
    printed: (text) =>
      new Promise((resolve, reject) => {
        look = () => out.includes(text) && resolve(performance.now());
        look();
        void ended.then(() => reject(new Error(`node ${args.join(' ')} has ended:\n${complaints()}`)));
      }),
    complaints,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const timer = setTimeout(() => child.kill('SIGKILL'), stopMs);
      child.kill('SIGTERM');
      await ended;
      clearTimeout(timer);
    },
  };
}
