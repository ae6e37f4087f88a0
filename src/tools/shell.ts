/**
 * One shell command and all that it starts: its own process group, output in a ring, an end that always comes. It listens to
 * `exit` and not to `close`, since a grandchild that holds a pipe keeps it open as long as it likes; after a short drain the
 * pipes are destroyed and what is left of the group is ended.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';

export interface ShellEnd {
  exitCode: number | null;
  signal: string | null;
  /** The shell could not be started. */
  fault: string | null;
  /** It produced more than is allowed and was ended. */
  flooded: boolean;
  /** Children were still running when the shell had ended; they were ended too. */
  leftBehind: boolean;
}

export interface Shell {
  /** The last 256 KiB of what it wrote to both outputs, in the order of arrival. */
  text(): string;
  /** Resolves once; at most 5 s after `stop`. Never rejects. */
  readonly ended: Promise<ShellEnd>;
  /** Writes to its input. False when it has none or has ended. */
  write(data: string): boolean;
  /** TERM to the whole group, KILL after 3 s. */
  stop(): void;
}

export interface ShellOptions {
  command: string;
  cwd: string;
  env: Record<string, string>;
  /** False: end of file at once, so that nothing waits for a keyboard. */
  input: boolean;
}

const ringBytes = 256 * 1024;
const floodBytes = 50 * 1000 * 1000;
const drainMs = 1_000;
const killAfterMs = 3_000;
const giveUpMs = 4_000;
/** Against fork bombs and full disks; soft, so that a command that needs more can ask for it. */
const limits = 'ulimit -S -c 0; ulimit -S -u 8192; ulimit -S -f 8388608';

/** What a child may see of our environment: never a secret. */
export function toChildEnv(env: Record<string, string | undefined>): Record<string, string> {
  const names = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TERM', 'USER', 'SHELL'];
  const allowed = names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]] as const]));
  return { ...Object.fromEntries(allowed), GIT_TERMINAL_PROMPT: '0' };
}

export function startShell({ command, cwd, env, input }: ShellOptions): Shell {
  const program = existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh';
  const child = spawn(program, ['-c', `{ ${limits}; } 2>/dev/null; exec "$0" -c "$1"`, program, command], {
    cwd,
    env,
    detached: true,
    stdio: [input ? 'pipe' : 'ignore', 'pipe', 'pipe'],
  });
  const ring = createRing(ringBytes);
  let flooded = false;
  let over = false;
  /** Set by stop: the end is told when the children of a stopped shell are gone too. */
  let groupGone: Promise<void> | null = null;
  let resolveEnded: (end: ShellEnd) => void = () => {};
  const ended = new Promise<ShellEnd>((resolve) => (resolveEnded = resolve));

  const finish = (exitCode: number | null, signal: string | null, fault: string | null) => {
    if (over) return;
    over = true;
    child.stdout?.destroy();
    child.stderr?.destroy();
    child.stdin?.destroy();
    const leftBehind = groupGone === null && signalGroup(child, 0);
    if (leftBehind) void endGroup(child);
    resolveEnded({ exitCode, signal, fault, flooded, leftBehind });
  };
  const stop = () => {
    if (over || groupGone) return;
    groupGone = endGroup(child);
    setTimeout(() => finish(child.exitCode, child.signalCode, null), giveUpMs).unref();
  };
  const keep = (chunk: Buffer) => {
    ring.push(chunk);
    if (flooded || ring.produced() <= floodBytes) return;
    flooded = true;
    stop();
  };
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  child.stdin?.on('error', () => undefined);
  child.once('error', (error) => finish(null, null, error.message));
  child.once('exit', (code, signal) => {
    const tell = () => void (groupGone ?? Promise.resolve()).then(() => finish(code, signal, null));
    const drain = setTimeout(tell, drainMs);
    child.once('close', () => {
      clearTimeout(drain);
      tell();
    });
  });

  return {
    text: () => ring.text(),
    ended,
    write: (data) => !over && child.stdin?.writable === true && (child.stdin.write(data), true),
    stop,
  };
}

/** Resolves when the group is gone or has been killed. */
function endGroup(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (!signalGroup(child, 'SIGTERM')) return resolve();
    const start = performance.now();
    const watch = setInterval(() => {
      const gone = !signalGroup(child, 0);
      const late = performance.now() - start >= killAfterMs;
      if (late && !gone) signalGroup(child, 'SIGKILL');
      if (!gone && !late) return;
      clearInterval(watch);
      resolve();
    }, 50);
  });
}

/** False when nobody is left in the group. */
function signalGroup(child: ChildProcess, signal: NodeJS.Signals | 0): boolean {
  if (child.pid === undefined) return false;
  try {
    return process.kill(-child.pid, signal);
  } catch {
    return false;
  }
}

/** Keeps the last `capacity` bytes. */
function createRing(capacity: number) {
  const chunks: Buffer[] = [];
  let kept = 0;
  let produced = 0;
  return {
    produced: () => produced,
    push(chunk: Buffer) {
      produced += chunk.length;
      chunks.push(chunk);
      kept += chunk.length;
      for (let first = chunks[0]; first && kept - first.length >= capacity; first = chunks[0]) {
        kept -= first.length;
        chunks.shift();
      }
    },
    text() {
      const all = Buffer.concat(chunks);
      const last = all.subarray(Math.max(0, all.length - capacity));
      const note = produced > last.length ? `[the first ${produced - last.length} bytes are left out]\n` : '';
      return note + last.toString('utf8');
    },
  };
}
