/**
 * One message in, through a plugin's tool, one reply out: on each adapter, with the built program, real SDKs and loopback
 * simulators of the platforms and the model.
 */
import { writeFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import OpenAI from 'openai';
import { examples, runProgram, startDaemon } from './support/daemon.ts';
import { lastUserText, startOpenAiApi, type OpenAiApi } from './support/openai-api.ts';
import { startTelegramApi } from './support/telegram-api.ts';
import { tempHome } from './support/temp-home.ts';
import { waitFor } from './support/wait-for.ts';

const calculator = join(examples, 'calculator');
const question = "What's 2 to the power of 16?";

/** A model that calculates with the tool and answers from its result. */
function answerByTool(api: OpenAiApi): void {
  api.answer(({ body }) => {
    const last = body.messages.at(-1);
    if (last?.role === 'tool') return { text: `It is ${(JSON.parse(String(last.content)) as { result: number }).result}.` };
    return { toolCalls: [{ name: 'calculate', args: { expression: '2^16' } }] };
  });
}

const offered = (api: OpenAiApi) => api.requests[0]?.body.tools?.map((tool) => tool.function.name) ?? [];
const modelAt = (api: OpenAiApi) => ({ provider: 'custom', base_url: api.url, name: 'scripted', api_key: 'key-for-the-scripted-model' });

test('a Telegram chat gets an answer made from a plugin tool; a stranger gets nothing', async () => {
  await using model = await startOpenAiApi();
  answerByTool(model);
  const telegram = await startTelegramApi();
  const daemon = await startDaemon({
    home: tempHome(),
    plugins: [calculator],
    config: { model: modelAt(model), platforms: { telegram: { token: telegram.token, api_root: telegram.url, allowed_users: [42], unauthorized_dm: 'ignore' } } },
  });

  telegram.dm(42).says(question);
  await telegram.dm(42).shouldSee(/65536/);
  expect(model.requests).toHaveLength(2);
  expect(model.violations).toEqual([]);
  expect(offered(model)).toContain('calculate');
  expect(offered(model)).not.toContain('terminal');

  telegram.dm(42).says('/plugins');
  await telegram.dm(42).shouldSee(/✓ calculator v1\.0\.0 \(2 tools, 1 hooks\)/);
  expect(telegram.sent.at(-1)?.text).toBe('Plugins (1):\n  ✓ calculator v1.0.0 (2 tools, 1 hooks)');

  const calls = telegram.calls.filter(({ method }) => method !== 'getUpdates').length;
  telegram.dm(666).says(question);
  telegram.dm(42).says('still there?');
  await waitFor('the allowed user\'s next turn', () => model.requests.length > 2);
  expect(model.requests.some((request) => request.raw.includes('666'))).toBe(false);
  expect(telegram.sent.filter(({ chat }) => chat === 666)).toEqual([]);
  expect(telegram.calls.filter(({ method, params }) => method !== 'getUpdates' && String(params['chat_id']) === '666')).toHaveLength(0);
  expect(calls).toBeGreaterThan(0);
  expect(await daemon.stop()).toBe(0);
  await telegram.close();
});

test('the HTTP API answers an OpenAI client, streamed and whole', async () => {
  await using model = await startOpenAiApi();
  answerByTool(model);
  const daemon = await startDaemon({ home: tempHome(), plugins: [calculator], config: { model: modelAt(model) } });
  const client = new OpenAI({ baseURL: `${daemon.url}/v1`, apiKey: daemon.key, maxRetries: 0 });

  const whole = await client.chat.completions.create({ model: 'default', messages: [{ role: 'user', content: question }] });
  expect(whole.choices[0]?.message.content).toBe('It is 65536.');

  let streamed = '';
  const stream = await client.chat.completions.create({ model: 'default', stream: true, messages: [{ role: 'user', content: question }] });
  for await (const chunk of stream) streamed += chunk.choices[0]?.delta.content ?? '';
  expect(streamed).toBe('It is 65536.');
  expect(offered(model)).not.toContain('terminal');
});

test('hermes chat -q prints the answer alone and has the terminal too', async () => {
  await using model = await startOpenAiApi();
  answerByTool(model);
  const home = tempHome();
  writeFileSync(join(home, 'config.yaml'), JSON.stringify({ model: modelAt(model) }));
  const run = await runProgram(['chat', '-q', question, '--plugin', calculator], { home });
  expect(run).toMatchObject({ code: 0, stdout: 'It is 65536.\n' });
  expect(offered(model)).toEqual(expect.arrayContaining(['calculate', 'terminal']));

  model.answer(() => ({ status: 401 }));
  const refused = await runProgram(['chat', '-q', question], { home });
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).not.toContain('key-for-the-scripted-model');
});

test('without a provider the offline model calls the tool that the message names', async () => {
  const home = tempHome();
  mkdirSync(join(home, 'plugins'), { recursive: true });
  const run = await runProgram(['chat', '-q', 'calculate 2**16', '--plugin', calculator], { home });
  expect(run.code).toBe(0);
  expect(run.stdout).toMatch(/stand-in/);
  expect(run.stdout).toMatch(/65536/);
});

test('the bytes before the newest user message stay the same from turn to turn and over a restart', async () => {
  await using model = await startOpenAiApi();
  model.answer((request) => ({ text: `Heard: ${lastUserText(request).length}` }));
  const telegram = await startTelegramApi();
  const options = {
    home: tempHome(),
    plugins: [join(examples, 'memory-recall'), calculator],
    config: { model: modelAt(model), platforms: { telegram: { token: telegram.token, api_root: telegram.url, allowed_users: [42] } } },
  };
  const first = await startDaemon(options);
  telegram.dm(42).says('one');
  await waitFor('the first answer', () => telegram.sent.length === 1);
  telegram.dm(42).says('two');
  await waitFor('the second answer', () => telegram.sent.length === 2);
  await first.stop();
  await startDaemon(options);
  telegram.dm(42).says('three');
  await waitFor('the third answer', () => telegram.sent.length === 3);

  const [one, two, three] = model.requests.map(({ body }) => body.messages);
  expect(one?.at(-1)?.content).toBe('one');
  expect(two?.slice(0, (one?.length ?? 0) - 1)).toEqual(one?.slice(0, -1));
  expect(three?.slice(0, (two?.length ?? 0) - 1)).toEqual(two?.slice(0, -1));
  expect(JSON.stringify(model.requests.map(({ body }) => body.tools))).toBe(JSON.stringify([1, 2, 3].map(() => model.requests[0]?.body.tools)));
  await telegram.close();
});
