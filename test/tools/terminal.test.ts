import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { waitFor } from '../support/wait-for.ts';
import { builtins } from './kit.ts';

interface Result {
  output: string;
  exit_code: number | null;
  error?: string;
  note?: string;
}

async function terminal() {
  const tools = await builtins();
  return { ...tools, run: async (command: string, more: Record<string, unknown> = {}) => (await tools.call('terminal', { command, ...more })) as unknown as Result };
}

const openFiles = () => readdirSync('/proc/self/fd').length;

function isAlive(pid: number): boolean {
  try {
    // A zombie is gone for our purposes; who reaps it is not ours to say.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** The pid that a command wrote into the file; killed at the end of the test in any case. */
async function pidIn(path: string): Promise<number> {
  const pid = await waitFor(`a pid in ${path}`, () => (existsSync(path) ? Number(readFileSync(path, 'utf8')) || null : null));
  onTestFinished(() => {
    if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  });
  return pid;
}

const gone = (pid: number) => waitFor(`the end of ${pid}`, () => !isAlive(pid));

describe('a command', () => {
  test('gives both outputs and its exit code', async () => {
    const { run } = await terminal();
    expect(await run('echo out; echo err >&2; exit 3')).toEqual({ output: 'out\nerr\n', exit_code: 3 });
    expect(await run('kill -TERM $$')).toMatchObject({ exit_code: null, signal: 'SIGTERM' });
  });

  test('runs in the workspace or below', async () => {
    const { run, workspace } = await terminal();
    mkdirSync(join(workspace, 'sub'));
    expect((await run('pwd')).output).toBe(`${workspace}\n`);
    expect((await run('pwd', { workdir: 'sub' })).output).toBe(`${workspace}/sub\n`);
    expect((await run('pwd', { workdir: 'none' })).error).toMatch(/does not exist/);
  });

  test('sees the allowed environment alone', async () => {
    const { call } = await builtins({ env: { PATH: process.env['PATH'], HOME: '/h', TZ: 'UTC', TELEGRAM_BOT_TOKEN: 'SECRET', OPENAI_API_KEY: 'SECRET', NODE_OPTIONS: 'x' } });
    const names = String((await call('terminal', { command: 'env' }))['output']).split('\n').map((line) => line.split('=')[0]);
    expect(names.filter((name) => !['', 'PWD', 'SHLVL', '_', 'OLDPWD'].includes(name ?? '')).sort()).toEqual(['GIT_TERMINAL_PROMPT', 'HOME', 'PATH', 'TZ']);
  });

  test.each(['cat', 'read x; echo "got:$x"', 'python3 -i -q 2>/dev/null; true', 'tty; true'])('that waits for a keyboard gets the end of its input: %s', async (command) => {
    const { run } = await terminal();
    expect((await run(command, { timeout: 20 })).error).toBeUndefined();
  });

  test('has limits against core dumps, fork bombs and full disks', async () => {
    const { run } = await terminal();
    const { output } = await run('ulimit -c; ulimit -u; ulimit -f');
    const [core, processes, size] = output.trim().split('\n');
    expect(core).toBe('0');
    expect(Number(processes)).toBeLessThanOrEqual(8192);
    expect(Number(size)).toBeLessThanOrEqual(8388608);
  });
});

describe('children that hold the pipes', () => {
  test.each([
    ['sleep 300 & echo $! > pid; echo hi', true],
    ['nohup sleep 300 & echo $! > pid; echo hi', true],
    ['(trap "" TERM; sleep 300) & echo $! > pid; echo hi', true],
    ['setsid sh -c \'echo $$ > pid; exec sleep 300\' & sleep 0.3; echo hi', false],
  ])('A19 opencode#47350 do not hold the call: %s', async (command, inGroup) => {
    const { run, workspace } = await terminal();
    await run('true');
    const before = openFiles();
    const { output, exit_code, note } = await run(command, { timeout: 30 });
    expect(output).toContain('hi');
    expect(exit_code).toBe(0);
    const pid = await pidIn(join(workspace, 'pid'));
    if (inGroup) {
      expect(note).toMatch(/were ended/);
      await gone(pid);
    }
    await waitFor('the pipes to be closed', () => openFiles() <= before);
    expect((await run('echo next')).output).toBe('next\n');
  });

  test('a fork bomb ends with its command', async () => {
    const { run, workspace } = await terminal();
    // Bounded, so that a defect costs little: each one starts two more, three levels deep.
    writeFileSync(join(workspace, 'bomb.sh'), '[ "$1" = 0 ] && exec sleep 300\nsh bomb.sh $(($1-1)) & sh bomb.sh $(($1-1)) & echo $$ >> pids\nwait\n');
    const { note } = await run('sh bomb.sh 3 & sleep 0.5');
    expect(note).toMatch(/were ended/);
    const pids = readFileSync(join(workspace, 'pids'), 'utf8').trim().split('\n').map(Number);
    for (const pid of pids) await gone(pid);
  });
});

describe('the end of a command', () => {
  test('a time limit ends it with what it has said so far', async () => {
    const { run, workspace } = await terminal();
    const result = await run('echo $$ > pid; echo begun; sleep 300', { timeout: 1 });
    expect(result).toEqual({ output: 'begun\n', exit_code: 124, error: 'The command was ended after 1 s.' });
    await gone(await pidIn(join(workspace, 'pid')));
  });

  test('one that ignores TERM is killed', async () => {
    const { run, workspace } = await terminal();
    const result = await run('trap "" TERM; echo $$ > pid; while true; do sleep 0.1; done', { timeout: 1 });
    expect(result.exit_code).toBe(124);
    await gone(await pidIn(join(workspace, 'pid')));
  });

  test('/stop ends the whole group', async () => {
    const { call, workspace } = await terminal();
    const stop = new AbortController();
    const running = call('terminal', { command: '(trap "" TERM; echo $BASHPID > pid; while true; do sleep 0.1; done) & sleep 300' }, { signal: stop.signal });
    const pid = await pidIn(join(workspace, 'pid'));
    stop.abort();
    expect((await running)['error']).toMatch(/aborted/);
    await gone(pid);
  });

  test('a flood is ended, and memory holds only the last of it', async () => {
    const { call } = await terminal();
    const result = await call('terminal', { command: 'yes 0123456789abcdef' });
    expect(result['tail']).toMatch(/more than 50 MB/);
    expect(Number(result['size'])).toBeLessThan(400_000);
  });

  test('the last 256 KiB are kept, and what is missing is said', async () => {
    const { call } = await terminal();
    const result = await call('terminal', { command: 'seq 1 100000' });
    expect(result['head']).toMatch(/the first \d+ bytes are left out/);
    expect(result['tail']).toMatch(/100000/);
  });
});

describe('background processes', () => {
  async function started(command: string) {
    const tools = await terminal();
    const { session_id } = (await tools.run(command, { background: true })) as unknown as { session_id: string };
    const process = (action: string, more: Record<string, unknown> = {}, context = {}) => tools.call('process', { action, session_id, ...more }, context);
    return { ...tools, session_id, process };
  }

  test('are written to, read, waited for and forgotten by nobody', async () => {
    const { process, session_id, call } = await started('echo ready; read line; echo "got $line"; exit 4');
    await waitFor('the first output', async () => String((await process('poll'))['output']).includes('ready'));
    expect(await process('poll')).toMatchObject({ status: 'running' });
    await process('write', { data: 'hello\n' });
    expect(await process('wait')).toMatchObject({ status: 'ended', exit_code: 4, output: 'ready\ngot hello\n' });
    expect(await process('log')).toMatchObject({ output: 'ready\ngot hello\n' });
    expect(await process('write', { data: 'x' })).toMatchObject({ error: expect.stringMatching(/has ended/) as string });
    expect(await call('process', { action: 'list' })).toMatchObject({ processes: [{ session_id, status: 'ended' }] });
  });

  test('outlive the turn, and waiting ends with the wait', async () => {
    const { process } = await started('sleep 300');
    expect(await process('wait', { timeout: 1 })).toMatchObject({ status: 'running' });
    expect(await process('kill')).toMatchObject({ status: 'ended', signal: 'SIGTERM' });
  });

  test('belong to the session that started them', async () => {
    const { process, call } = await started('sleep 300');
    for (const action of ['poll', 'log', 'kill', 'write']) expect(await process(action, { data: 'x' }, { task_id: 'other' })).toMatchObject({ error: expect.stringMatching(/No background process/) as string });
    expect(await call('process', { action: 'list' }, { task_id: 'other' })).toEqual({ processes: [] });
    expect(await process('poll')).toMatchObject({ status: 'running' });
  });

  test('are limited in number', async () => {
    const { run } = await terminal();
    const all = await Promise.all(Array.from({ length: 21 }, () => run('sleep 300', { background: true })));
    expect(all.filter(({ error }) => error?.includes('Too many'))).toHaveLength(1);
  });
});

test('in the terminal the danger list asks, elsewhere every command does', async () => {
  const { asks } = await terminal();
  expect(asks('terminal', { command: 'ls' })).toBeNull();
  expect(asks('terminal', { command: 'rm -r x' })).toMatch(/deletes folders/);
  for (const platform of ['telegram', 'http', 'cron', 'CLI', '']) {
    expect(asks('terminal', { command: 'ls' }, platform)).toMatch(/runs a command/);
    expect(asks('process', { action: 'write', data: 'ls\n' }, platform)).toMatch(/types into/);
    expect(asks('process', { action: 'list' }, platform)).toBeNull();
  }
  expect(asks('process', { action: 'write', data: 'ls\n' })).toBeNull();
  expect(asks('process', { action: 'write', data: 'rm -r x\n' })).toMatch(/deletes folders/);
});
