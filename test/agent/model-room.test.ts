import { expect, it } from 'vitest';
import { createModel } from '../../src/model/create-model.ts';
import { silentLog } from '../../src/lib/log.ts';
import { sleep } from '../../src/lib/retry.ts';
import { startOpenAiApi } from '../support/openai-api.ts';
import { says, startTalk, tool } from './support.ts';

it('a walk over the wire: a tool, an answer, a broken turn, and a history that a strict provider still takes', async () => {
  await using api = await startOpenAiApi();
  const config = { provider: 'custom', name: 'test-model', base_url: api.url, api_key: 'sk-test', context_window: 128_000, fallbacks: [] };
  const model = createModel(config, { log: silentLog, env: {}, sleep, now: () => performance.now(), random: () => 0.5 });
  const calculate = tool('calculate', () => '{"result":65536}');
  const talk = startTalk({ tools: [calculate], script: [says('unused')] });

  api.script({ text: 'One moment.', toolCalls: [{ name: 'calculate', args: { n: 16 } }] }, { text: 'It is 65536.' });
  expect(await talk.says('2 to the power of 16?', { model })).toMatchObject({ status: 'answered', text: 'It is 65536.', steps: 2 });
  expect(talk.events).toContainEqual({ type: 'segment', text: 'One moment.' });

  api.script({ toolCalls: [{ name: 'calculate', args: '[1' }, { name: 'no such tool', args: {} }] }, { status: 401 });
  expect(await talk.says('again', { model })).toMatchObject({ status: 'failed', code: 'MODEL_AUTH' });

  api.script({ text: 'Still here.' });
  expect((await talk.says('hello?', { model })).text).toBe('Still here.');
  expect(api.violations).toEqual([]);
  expect(api.requests).toHaveLength(5);
});
