/** The gateway socket: what ends it, what only interrupts it, and how seldom the bot identifies itself. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toNextMoment, toPauseMs } from '../../../adapters/discord/budget.ts';
import { refusedToken } from '../../../adapters/discord/gateway.ts';
import { waitFor } from '../../support/wait-for.ts';
import { openScene } from './scene.ts';

describe('refusals that no retry can cure', () => {
  test('a token that is missing or refused switches Discord off and says where to get another', async () => {
    const missing = await openScene({ settings: { token: '' } });
    await missing.start();
    expect(missing.context.reports.at(-1)).toMatchObject({ state: 'off', reason: expect.stringContaining('DISCORD_BOT_TOKEN') });
    expect(missing.api.calls).toEqual([]);

    const wrong = await openScene({ settings: { token: 'not-the-token-of-this-bot' } });
    await wrong.start();
    expect(wrong.context.reports.at(-1)).toEqual({ state: 'off', reason: refusedToken });
    expect(wrong.api.gateway.identifies).toEqual([]);
    expect(JSON.stringify([wrong.context.lines, wrong.context.reports])).not.toContain('not-the-token');
  });

  test('without Message Content the reason names the switch', async () => {
    const { api, start, context } = await openScene({ api: { allowsMessageContent: false } });
    await start();
    expect(context.reports.at(-1)).toMatchObject({ state: 'off', reason: expect.stringMatching(/Bot.*Message Content Intent/) });
    await waitFor('the socket to be gone', () => api.gateway.sockets() === 0);
    expect(api.gateway.identifies).toHaveLength(1);
  });

  test.each([4004, 4010, 4011, 4012, 4013, 4014])('close code %i, at once or later, ends it for good', async (code) => {
    const first = await openScene();
    first.api.gateway.refuseIdentify({ code });
    await first.start();
    expect(first.context.reports.map(({ state }) => state)).toEqual(['starting', 'off']);

    const later = await openScene();
    await later.start();
    later.api.gateway.close(code);
    await waitFor('the end', () => later.context.reports.at(-1)?.state === 'off');
    expect(later.context.reports.map(({ state }) => state)).toEqual(['starting', 'up', 'off']);
    await waitFor('the connections to be closed', () => later.api.connections() === 0);
    expect(later.api.gateway.identifies).toHaveLength(1);
    expect(later.api.gateway.resumes).toEqual([]);
  });
});

describe('interruptions', () => {
  test('a cut connection is resumed, and what was said meanwhile is heard once', async () => {
    const { api, start, hears, texts, context, alice } = await openScene();
    await start();
    alice.says('one');
    await hears('one');
    api.gateway.cut();
    alice.says('two');
    await hears('two');
    expect(texts()).toEqual(['one', 'two']);
    expect(api.gateway.resumes).toMatchObject([{ isAccepted: true }]);
    expect(api.gateway.identifies).toHaveLength(1);
    expect(context.reports.map(({ state }) => state)).toEqual(['starting', 'up', 'degraded', 'up']);
    expect(api.callsOf('history')).toEqual([]);
  });

  test('being asked to reconnect is everyday life', async () => {
    const { api, start, hears, alice, context } = await openScene();
    await start();
    api.gateway.askToReconnect();
    await waitFor('the resume', () => api.gateway.resumes.length === 1);
    alice.says('still here');
    await hears('still here');
    expect(context.reports.map(({ state }) => state)).not.toContain('degraded');
  });

  test('a session that Discord has forgotten is begun anew, and the channels are caught up with', async () => {
    const { api, start, hears, texts, alice, dm } = await openScene();
    await start();
    alice.says('before');
    dm.says('before, in private');
    await hears('before');
    await hears('before, in private');
    api.gateway.invalidate(false);
    alice.says('in between');
    dm.says('in between, in private');
    await hears('in between');
    await hears('in between, in private');
    alice.says('after');
    await hears('after');
    expect(texts()).toHaveLength(5);
    expect(api.gateway.identifies).toHaveLength(2);
  });

  test('a socket that has fallen silent is left for another one', async () => {
    const { api, start, hears, alice } = await openScene({ api: { heartbeatMs: 80 } });
    await start();
    api.gateway.mute();
    alice.says('anybody?');
    await hears('anybody?');
    expect(api.gateway.resumes).toMatchObject([{ isAccepted: true }]);
  });

  test('a Discord that is away for a while is found again', async () => {
    const { api, start, hears, alice } = await openScene();
    await start();
    await api.shut();
    await api.reopen();
    alice.says('back');
    await hears('back');
  });

  test('a Discord that is down at start is left to the supervisor, and a second start works', async () => {
    const { api, start, hears, alice } = await openScene();
    api.fail('gateway', { status: 502, body: '<html>' });
    await expect(start()).rejects.toMatchObject({ code: 'ADAPTER_OFF', message: expect.stringContaining('502') });
    api.fail('gateway', { retryAfter: 20, scope: 'global' });
    await expect(start()).rejects.toMatchObject({ code: 'ADAPTER_OFF' });
    api.gateway.refuseIdentify({ code: 4000 });
    await expect(start()).rejects.toMatchObject({ code: 'ADAPTER_OFF', message: expect.stringContaining('4000') });
    // "Invalid session" to an IDENTIFY: it came too early, and is sent again.
    api.gateway.refuseIdentify({ invalid: true });
    await start();
    expect(api.gateway.identifies).toHaveLength(3);
    alice.says('hello');
    await hears('hello');
  });

  test('the address of the API may be given with its version', async () => {
    const { api } = await openScene();
    const scene = await openScene({ settings: { api_root: `${api.url}/v10/`, token: api.token } });
    await scene.start();
    expect(api.gateway.identifies).toHaveLength(1);
  });

  test('stop ends a connection at any moment, and nothing connects afterwards', async () => {
    for (const moment of [0, 1, 2, 3, 5, 8, 12]) {
      const { api, adapter, start } = await openScene();
      const starting = start().catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, moment));
      await adapter.stop();
      await starting;
      const before = api.gateway.identifies.length;
      // The SDK reconnects after half a second; by then it must have been stopped.
      await new Promise((resolve) => setTimeout(resolve, moment === 3 ? 700 : 0));
      await waitFor('the connections to be closed', () => api.connections() === 0);
      expect(api.gateway.identifies).toHaveLength(before);
    }
  });

  test('stop while it waits to reconnect ends the waiting', async () => {
    const { api, adapter, start } = await openScene();
    await start();
    await api.shut();
    await adapter.stop();
    await api.reopen();
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(api.connections()).toBe(0);
  });
});

describe('the IDENTIFY budget', () => {
  const identify = { spacingMs: 0, perFiveMinutes: 2, perDay: 50 };

  test('is kept over restarts; when it is spent the adapter says until when it waits, and stop ends the waiting', async () => {
    const scene = await openScene({ timing: { identify } });
    const { api, context } = scene;
    await scene.start();
    await scene.restart();
    expect(api.gateway.identifies).toHaveLength(2);
    const third = scene.restart().catch(() => 'ended');
    await waitFor('the third to wait', () => context.reports.at(-1)?.state === 'degraded');
    const report = context.reports.at(-1);
    const until = Date.parse(/\d{4}-\d\d-\d\dT[\d:.]+Z/.exec(report?.state === 'degraded' ? report.reason : '')?.[0] ?? '');
    expect(until - Date.now()).toBeGreaterThan(280_000);
    expect(until - Date.now()).toBeLessThanOrEqual(300_000);
    expect(api.gateway.identifies).toHaveLength(2);
    await scene.adapter.stop();
    expect(await third).toBe('ended');
  });

  test('a connection that dies again and again is resumed, and a session that dies again and again is not begun again and again', async () => {
    const { api, start, context } = await openScene({ timing: { identify: { ...identify, perFiveMinutes: 3 } } });
    await start();
    for (let count = 2; count <= 3; count += 1) {
      api.gateway.invalidate(false);
      await waitFor('the next session', () => api.gateway.identifies.length === count);
      await waitFor('it to be up', () => context.reports.at(-1)?.state === 'up');
    }
    api.gateway.invalidate(false);
    await waitFor('the budget to be spent', () => context.reports.at(-1)?.state === 'degraded' && JSON.stringify(context.reports.at(-1)).includes('too often'));
    expect(api.gateway.identifies).toHaveLength(3);
  });

  test('the last fifth of what Discord allows in a day is left to the operator', async () => {
    const { api, adapter, start, context } = await openScene({ api: { sessionStarts: { total: 1000, remaining: 200, reset_after: 3_600_000 } } });
    const starting = start().catch(() => 'ended');
    await waitFor('the wait', () => context.reports.at(-1)?.state === 'degraded');
    expect(api.gateway.identifies).toEqual([]);
    await adapter.stop();
    expect(await starting).toBe('ended');
    expect(toPauseMs({ total: 1000, remaining: 201, reset_after: 5 })).toBe(0);
    expect(toPauseMs({ total: 1, remaining: 1, reset_after: 0 })).toBe(0);
  });

  test('whatever happens, no five minutes hold more than five and no day more than fifty', () => {
    const limits = { spacingMs: 5000, perFiveMinutes: 5, perDay: 50 };
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 20_000_000 }), { minLength: 60, maxLength: 120 }), (gaps) => {
        const times: number[] = [];
        let now = 0;
        for (const gap of gaps) {
          now = Math.max(now + gap, toNextMoment(times, limits));
          times.push(now);
        }
        const most = (ms: number) => Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + ms).length));
        expect([most(5000), most(300_000) <= 5, most(86_400_000) <= 50]).toEqual([1, true, true]);
      }),
      { numRuns: 100 },
    );
  });
});
