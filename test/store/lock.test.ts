/** One daemon per home: held against a second, freed by death, and said who holds it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { lockHome, lockToken, readHolder } from '../../src/store/lock.ts';
import { tempHome } from '../support/temp-home.ts';

const lock = (home: string, waitMs = 0, given: { onWait?: () => void; signal?: AbortSignal } = {}) => lockHome({ home, waitMs, onWait: () => {}, ...given });

/** Another process that takes the lock of this home by the same code and keeps it. */
async function otherDaemon(home: string) {
  const module = join(import.meta.dirname, '..', '..', 'src', 'store', 'lock.ts');
  const script = `import { createJiti } from 'jiti';
const { lockHome } = await createJiti(import.meta.url).import(${JSON.stringify(module)});
const lock = await lockHome({ home: ${JSON.stringify(home)}, waitMs: 0, onWait() {} });
lock.announce('http://127.0.0.1:1');
process.stdout.write('held');
setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { cwd: import.meta.dirname, stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return child;
}

test('a second one is refused with the holder named, and comes in once the first lets go', async () => {
  const home = tempHome();
  const first = await lock(home);
  await expect(lock(home)).rejects.toMatchObject({ code: 'HOME_LOCKED', message: expect.stringContaining(`process ${process.pid}`) as string });
  first.announce('http://127.0.0.1:8642');
  expect(readHolder(home)).toMatchObject({ pid: process.pid, url: 'http://127.0.0.1:8642' });
  first.release();
  expect(readHolder(home)).toBe(null);
  (await lock(home)).release();
});

test('kill -9 frees it at once, whatever the dead one left behind', async () => {
  const home = tempHome();
  const other = await otherDaemon(home);
  await expect(lock(home)).rejects.toMatchObject({ code: 'HOME_LOCKED', message: expect.stringContaining(`process ${other.pid}`) as string });
  let waits = 0;
  const waiting = lock(home, 20_000, { onWait: () => void (waits += 1) });
  other.kill('SIGKILL');
  const mine = await waiting;
  expect(waits).toBe(1);
  expect(readHolder(home)).toMatchObject({ pid: process.pid, url: null });
  mine.release();
});

test('a file that says somebody holds it holds nothing', async () => {
  const home = tempHome();
  writeFileSync(join(home, 'daemon.json'), JSON.stringify({ pid: 1, startedAt: 'long ago', url: null }));
  (await lock(home)).release();
  expect(existsSync(join(home, 'daemon.json'))).toBe(false);
});

test('waiting ends when the program is told to stop', async () => {
  const home = tempHome();
  const first = await lock(home);
  const stop = new AbortController();
  const waiting = lock(home, 60_000, { onWait: () => stop.abort(), signal: stop.signal });
  await expect(waiting).rejects.toMatchObject({ code: 'HOME_LOCKED' });
  first.release();
});

test('a token is held once on the machine, named by its holder, and free again when let go', () => {
  const shared = { folder: join(tempHome(), 'locks') };
  const release = lockToken('secret-token', { ...shared, home: '/home/one' });
  expect(() => lockToken('secret-token', { ...shared, home: '/home/two' })).toThrow(`process ${process.pid} with the home /home/one listens with the same token`);
  lockToken('another', { ...shared, home: '/home/two' })();
  release();
  lockToken('secret-token', { ...shared, home: '/home/two' })();
  const kept = readdirSync(shared.folder).map((name) => name + readFileSync(join(shared.folder, name), 'utf8'));
  expect(kept.join()).not.toContain('secret-token');
});

test('where no folder for locks can be made, a token is simply used', () => {
  const file = join(tempHome(), 'file');
  writeFileSync(file, '');
  for (const folder of [file, join(file, 'locks')]) lockToken('secret-token', { folder, home: '/home/one' })();
});
