/**
 * The built program as a process of its own: started, talked to, killed and started again over one home folder. Tests that use it
 * see what a user sees; `npm test` builds before it runs them.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { waitFor } from './wait-for.ts';

export const program = join(import.meta.dirname, '..', '..', 'dist', 'hermes.js');
export const examples = join(import.meta.dirname, '..', '..', 'examples', 'plugins');

export interface DaemonOptions {
  home: string;
  config: Record<string, unknown>;
  /** `--plugin` folders. */
  plugins?: string[];
  env?: Record<string, string>;
}

export interface Daemon {
  readonly key: string;
  readonly url: string;
  /** Everything that was printed, both streams. */
  output(): string;
  stdout(): string;
  isRunning(): boolean;
  /** `kill -9`; resolves when the process is gone. */
  kill(): Promise<void>;
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
  /** Resolves when it ends by itself. */
  ended: Promise<number | null>;
  /** A call to its HTTP API with the key. */
  api(path: string, init?: RequestInit): Promise<Response>;
}

const key = 'test-key-of-the-http-api-0123456789';

/** Starts the daemon and resolves when it is ready. The test's end kills it. */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const daemon = launchDaemon(options);
  await waitFor('the daemon to be ready', async () => {
    if (!daemon.isRunning()) throw new Error(`the daemon ended:\n${daemon.output()}`);
    return daemon.url !== '' && (await daemon.api('/readyz').catch(() => null))?.ok;
  }, 20_000);
  return daemon;
}

/** Starts the daemon without waiting for anything. */
export function launchDaemon({ home, config, plugins = [], env = {} }: DaemonOptions): Daemon {
  mkdirSync(home, { recursive: true });
  const platforms = { ...(config['platforms'] as Record<string, unknown> | undefined), http: { port: 0, api_key: key } };
  writeFileSync(join(home, 'config.yaml'), stringify({ ...config, platforms }));
  const child = spawn(process.execPath, [program, 'gateway', 'run', ...plugins.flatMap((dir) => ['--plugin', dir])], {
    env: { PATH: process.env['PATH'] ?? '', HOME: home, HERMES_HOME: home, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return follow(child);
}

function follow(child: ChildProcess): Daemon {
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const isRunning = () => child.exitCode === null && child.signalCode === null;
  const ended = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  const end = async (signal: NodeJS.Signals) => {
    if (isRunning()) child.kill(signal);
    return ended;
  };
  onTestFinished(async () => void (await end('SIGKILL')));
  const url = () => /Page: (http:\/\/[^/]+)\//.exec(stdout)?.[1] ?? '';
  return {
    key,
    get url() {
      return url();
    },
    output: () => stdout + stderr,
    stdout: () => stdout,
    isRunning,
    kill: async () => void (await end('SIGKILL')),
    stop: () => end('SIGTERM'),
    ended,
    api: (path, init = {}) => fetch(url() + path, { ...init, headers: { authorization: `Bearer ${key}`, ...init.headers } }),
  };
}

export interface Run {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs the program with these arguments to its end. */
export async function runProgram(args: string[], { home, env = {}, input = '' }: { home: string; env?: Record<string, string>; input?: string }): Promise<Run> {
  const child = spawn(process.execPath, [program, ...args], { env: { PATH: process.env['PATH'] ?? '', HOME: home, HERMES_HOME: home, ...env }, stdio: ['pipe', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  child.stdin.end(input);
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, stdout, stderr };
}
