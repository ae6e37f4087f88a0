/** Adapters that fail, stay away, or come back: started again by themselves, and never anybody else's trouble. */
import { expect, test } from 'vitest';
import type { Adapter, AdapterStatus } from '../../src/contract/adapter.ts';
import { createSupervisor, type Supervisor } from '../../src/gateway/supervise-adapters.ts';
import { silentLog } from '../../src/lib/log.ts';
import { createHooks } from '../../src/plugins/hooks.ts';
import { stopClock, type Clock } from './clock.ts';

interface Scene {
  clock: Clock;
  supervisor: Supervisor;
  /** An adapter whose start is `start`; `log` says what was done to it and when, in seconds. */
  add(platform: string, start: (report: (status: AdapterStatus) => void, attempt: number) => Promise<void> | void, stop?: () => Promise<void>): string[];
}

function open(): Scene {
  const clock = stopClock();
  const begin = clock.now();
  const hooks = createHooks({ log: silentLog, limits: { preMs: 1000, postMs: 1000 } });
  const supervisor = createSupervisor({ receive: async () => ({ status: 'accepted', id: 1 }), hooks, log: silentLog });
  return {
    clock,
    supervisor,
    add(platform, start, stop = async () => {}) {
      const done: string[] = [];
      const note = (what: string) => void done.push(`${what} ${Math.round((clock.now() - begin) / 1000)}`);
      let attempt = 0;
      const adapter: Adapter = {
        platform,
        hint: '',
        async start() {
          note('start');
          attempt += 1;
          await start((status) => supervisor.report(platform, status), attempt);
        },
        async stop() {
          note('stop');
          await stop();
        },
      };
      supervisor.run(adapter);
      return done;
    },
  };
}

const up: AdapterStatus = { state: 'up', account: 'bot' };
const starts = (log: string[]) => log.filter((line) => line.startsWith('start')).map((line) => Number(line.split(' ')[1]));

test('one whose platform is down at the start is tried again with growing pauses until it is there; the other is up at once', async () => {
  const { clock, supervisor, add } = open();
  const down = add('down', (report, attempt) => {
    if (attempt < 5) throw new Error('ECONNREFUSED');
    report(up);
  });
  const well = add('well', (report) => report(up));
  await clock.advance(0);
  expect(supervisor.statuses()).toMatchObject({ down: { state: 'degraded', reason: 'ECONNREFUSED' }, well: { state: 'up' } });
  expect(supervisor.isReady()).toBe(true);
  await clock.advance(30_000);
  expect(supervisor.statuses()['down']).toEqual(up);
  const [first = 0, ...later] = starts(down);
  expect([first, ...later]).toHaveLength(5);
  expect(later.map((at, i) => at - (starts(down)[i] ?? 0)).every((gap, i, gaps) => i === 0 || gap >= (gaps[i - 1] ?? 0))).toBe(true);
  expect(well).toEqual(['start 0']);
});

test('one that came back by itself is left alone, also long after its failures', async () => {
  const { clock, add } = open();
  const log = add('flaky', (report, attempt) => {
    if (attempt < 3) throw new Error('ECONNRESET');
    report(up);
  });
  await clock.advance(20_000);
  expect(starts(log)).toHaveLength(3);
  await clock.advance(600_000, 5000);
  expect(starts(log)).toHaveLength(3);
});

test('one that stays degraded for two minutes is stopped and started again', async () => {
  const { clock, supervisor, add } = open();
  const log = add('deaf', (report) => report(up));
  await clock.advance(0);
  supervisor.report('deaf', { state: 'degraded', reason: 'no answer' });
  await clock.advance(60_000, 1000);
  supervisor.report('deaf', { state: 'degraded', reason: 'still none' });
  await clock.advance(59_000, 1000);
  expect(log).toEqual(['start 0']);
  await clock.advance(5000, 1000);
  expect(log.slice(0, 2)).toEqual(['start 0', 'stop 120']);
  expect([121, 122]).toContain(starts(log)[1]);
});

test('a trouble that passes restarts nothing', async () => {
  const { clock, supervisor, add } = open();
  const log = add('well', (report) => report(up));
  await clock.advance(0);
  for (let i = 0; i < 5; i++) {
    supervisor.report('well', { state: 'degraded', reason: 'one failed poll' });
    await clock.advance(60_000, 1000);
    supervisor.report('well', up);
    await clock.advance(60_000, 1000);
  }
  expect(log).toEqual(['start 0']);
});

test('one that switched itself off stays off', async () => {
  const { clock, supervisor, add } = open();
  const log = add('refused', (report) => report({ state: 'off', reason: 'the token is wrong' }));
  await clock.advance(600_000, 5000);
  expect(log).toEqual(['start 0']);
  expect(supervisor.statuses()['refused']).toMatchObject({ state: 'off' });
});

test('stopping stops each of them, whatever one of them throws', async () => {
  const { clock, supervisor, add } = open();
  const bad = add('bad', (report) => report(up), () => Promise.reject(new Error('a defect')));
  const failing = add('failing', () => Promise.reject(new Error('down')), () => Promise.reject(new Error('a defect')));
  const good = add('good', (report) => report(up));
  await clock.advance(10_000, 1000);
  expect(starts(failing).length).toBeGreaterThan(2);
  await supervisor.stop();
  for (const log of [bad, good]) expect(log.at(-1)).toBe('stop 10');
  const attempts = starts(failing).length;
  await clock.advance(120_000, 1000);
  expect(starts(failing)).toHaveLength(attempts);
});

test('readiness waits for the first start of each, not for a platform', async () => {
  const { clock, supervisor, add } = open();
  let arrive = () => {};
  add('slow', (report) => new Promise((resolve) => (arrive = () => (report(up), resolve()))));
  supervisor.off('none', 'no token');
  await clock.advance(1000);
  expect(supervisor.isReady()).toBe(false);
  arrive();
  await clock.advance(0);
  expect(supervisor.isReady()).toBe(true);
});
