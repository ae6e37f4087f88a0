/** What a monitor reads: Prometheus' text format, from a daemon that has answered. */
import { expect, onTestFinished, test } from 'vitest';
import { createMetrics } from '../../src/main/metrics.ts';
import { startDaemon } from '../support/daemon.ts';
import { startOpenAiApi } from '../support/openai-api.ts';
import { startTelegramApi } from '../support/telegram-api.ts';
import { tempHome } from '../support/temp-home.ts';
import { waitFor } from '../support/wait-for.ts';

/** Fails on a line that is no sample of a family declared above it. */
function read(text: string): Map<string, number> {
  const samples = new Map<string, number>();
  let family = '';
  for (const line of text.trimEnd().split('\n')) {
    const declared = /^# (HELP|TYPE) (\w+) \S/.exec(line);
    if (declared) family = declared[2] ?? '';
    else {
      const [, name = '', labels = '', value] = /^(\w+?)(\{(?:\w+="(?:[^"\\\n]|\\.)*",?)+\})? (-?[\d.e+]+)$/.exec(line) ?? [];
      expect(name.replace(/_(bucket|sum|count)$/, ''), line).toBe(family);
      samples.set(name + labels, Number(value));
    }
  }
  return samples;
}

test('turns, their time and tokens, what waits and which platforms are up; behind the key', async () => {
  const model = await startOpenAiApi();
  const telegram = await startTelegramApi();
  onTestFinished(async () => {
    await telegram.close();
    await model.close();
  });
  model.script({ text: 'hello', usage: { prompt_tokens: 10, completion_tokens: 5 } });
  const daemon = await startDaemon({
    home: tempHome(),
    config: { model: { provider: 'custom', base_url: model.url, name: 'scripted', api_key: 'k' }, platforms: { telegram: { token: telegram.token, api_root: telegram.url, allowed_users: [1] } } },
  });
  telegram.dm(1).says('hi');
  await telegram.dm(1).shouldSee('hello');
  const scrape = async () => read(await (await daemon.api('/metrics')).text());
  await waitFor('the part to be sent', async () => (await scrape()).get('hermes_outbox_parts{state="attempting"}') === 0);
  const samples = await scrape();
  expect(samples.get('hermes_turns_total{platform="telegram",status="answered"}')).toBe(1);
  expect(samples.get('hermes_turns_running')).toBe(0);
  expect(samples.get('hermes_turn_duration_seconds_count')).toBe(1);
  expect(samples.get('hermes_turn_duration_seconds_bucket{le="+Inf"}')).toBe(1);
  expect(samples.get('hermes_model_tokens_total{kind="input"}')).toBe(10);
  expect(samples.get('hermes_outbox_parts{state="dead"}')).toBe(0);
  expect(samples.get('hermes_adapter_up{platform="telegram"}')).toBe(1);
  expect(samples.get('process_resident_memory_bytes')).toBeGreaterThan(1e6);
  expect((await fetch(`${daemon.url}/metrics`)).status).toBe(401);
  expect((await daemon.api('/metrics')).headers.get('content-type')).toContain('text/plain; version=0.0.4');
});

test('buckets add up, and a label may hold anything', () => {
  const metrics = createMetrics(0);
  const usage = { input: 0, output: 0, cached: 0, requests: 1 };
  for (const seconds of [0.1, 3, 700]) metrics.turn({ platform: 'a"b\\c\nd', status: 'failed', seconds, usage });
  const samples = read(metrics.text({ runningTurns: 2, outbox: {}, adapters: {} }));
  expect(['0.5', '2', '5', '600', '+Inf'].map((le) => samples.get(`hermes_turn_duration_seconds_bucket{le="${le}"}`))).toEqual([1, 1, 2, 2, 3]);
  expect(samples.get('hermes_turns_total{platform="a\\"b\\\\c\\nd",status="failed"}')).toBe(3);
  expect(samples.get('hermes_turn_duration_seconds_sum')).toBeCloseTo(703.1);
});
