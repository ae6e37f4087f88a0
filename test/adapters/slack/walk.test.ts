/** Slack through the built daemon: what only shows when adapter, gateway, store and HTTP server work together. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { examples, startDaemon, type Daemon } from '../../support/daemon.ts';
import { lastUserText, startOpenAiApi, type OpenAiApi } from '../../support/openai-api.ts';
import { startSlackApi, type SlackApi } from '../../support/slack-api.ts';
import { toSignature } from '../../support/slack-api-delivery.ts';
import { tempHome } from '../../support/temp-home.ts';
import { waitFor } from '../../support/wait-for.ts';

const alice = 'U0ALICE';
const mallory = 'U0MALLORY';
const general = 'C0GENERAL';
const question = "What's 2 to the power of 16?";

interface World {
  model: OpenAiApi;
  slack: SlackApi;
  start(): Promise<Daemon>;
  fired(name: string): Record<string, unknown>[];
}

async function openWorld(settings: Record<string, unknown> = {}): Promise<World> {
  const [model, slack] = await Promise.all([startOpenAiApi(), startSlackApi()]);
  onTestFinished(async () => {
    await slack.close();
    await model.close();
  });
  slack.user(alice, { name: 'Alice' });
  slack.user(mallory, { name: 'Mallory' });
  slack.channel(general);
  model.answer((request) => {
    const last = request.body.messages.at(-1);
    if (last?.role === 'tool') return { text: `It is ${(JSON.parse(String(last.content)) as { result: number }).result}.` };
    if (lastUserText(request).includes(question)) return { toolCalls: [{ name: 'calculate', args: { expression: '2^16' } }] };
    return { text: `answer to ${lastUserText(request)}` };
  });
  const home = tempHome();
  const recorder = writeRecorder();
  const tokens = { bot_token: slack.botToken, app_token: slack.appToken, api_root: slack.url };
  return {
    model,
    slack,
    start: () =>
      startDaemon({
        home,
        plugins: [join(examples, 'calculator'), recorder.dir],
        config: {
          model: { provider: 'custom', base_url: model.url, name: 'scripted', api_key: 'key-for-the-scripted-model' },
          platforms: { slack: { ...tokens, allowed_users: [alice], unauthorized_dm: 'ignore', ...settings } },
        },
      }),
    fired: recorder.fired,
  };
}

/** A plugin that writes down the two hooks which every platform's turns must fire. */
function writeRecorder(): { dir: string; fired(name: string): Record<string, unknown>[] } {
  const dir = join(tempHome(), 'recorder');
  const file = join(dir, 'fired.jsonl');
  mkdirSync(dir, { recursive: true });
  writeFileSync(file, '');
  writeFileSync(join(dir, 'plugin.yaml'), 'name: recorder\nversion: 1.0.0\n');
  const note = `appendFileSync(${JSON.stringify(file)}, JSON.stringify({ name, payload }) + '\\n')`;
  writeFileSync(join(dir, 'index.js'), `const { appendFileSync } = require('node:fs');\nexports.register = (ctx) => { for (const name of ['on_session_start', 'pre_llm_call']) ctx.registerHook(name, (payload) => { ${note}; }); };`);
  const lines = () => readFileSync(file, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line) as { name: string; payload: Record<string, unknown> });
  return { dir, fired: (name) => lines().filter((line) => line.name === name).map(({ payload }) => payload) };
}

test('a direct message and a mention are answered once through a tool, although Slack delivers everything three times', async () => {
  const { model, slack, start, fired } = await openWorld();
  slack.deliver({ copies: 3 });
  const daemon = await start();
  const dm = slack.dm(alice);
  const channel = slack.channel(general).as(alice);
  dm.says(question);
  await dm.shouldSee('It is 65536.');
  const root = channel.says(`${slack.mention} ${question}`);
  const answer = await channel.shouldSee('It is 65536.');
  expect(answer.thread).toBe(root);
  channel.says('and what is next?', { thread: root });
  await channel.shouldSee('answer to Alice: and what is next?');
  dm.says('!new');
  await dm.shouldSee(/new|fresh/i);
  dm.commands('/hermes', 'status');
  await dm.shouldSee(/slack: up/);

  await waitFor('every acknowledgement', () => slack.unacked().length === 0);
  expect(slack.sent.filter(({ text }) => text === 'It is 65536.')).toHaveLength(2);
  expect(model.requests).toHaveLength(5);
  expect(model.violations).toEqual([]);
  expect(slack.violations).toEqual([]);
  const offered = model.requests[0]?.body.tools?.map((tool) => tool.function.name);
  expect(offered).toContain('calculate');
  expect(offered).not.toContain('terminal');
  // The thread is one session: the follow-up knew the first answer.
  expect(JSON.stringify(model.requests.at(-1)?.body.messages)).toContain('It is 65536.');
  expect(fired('on_session_start').map(({ platform }) => platform)).toEqual(['slack', 'slack']);
  expect(fired('pre_llm_call').map(({ platform, sender_id }) => [platform, sender_id])).toEqual([['slack', alice], ['slack', alice], ['slack', alice]]);
  expect(await daemon.stop()).toBe(0);
  await waitFor('nothing to be open', () => slack.sockets().open === 0);
  expect(daemon.output()).not.toMatch(/secretOf/);
});

test('a stranger is ignored on every path, and costs no call', async () => {
  const { model, slack, start } = await openWorld();
  await start();
  const dm = slack.dm(mallory);
  const channel = slack.channel(general).as(mallory);
  slack.channel(general).as(alice).says('hello all');
  const before = slack.calls.length;
  const ts = dm.says(question);
  dm.edits(ts, `${question}!`);
  dm.reacts(ts, 'eyes');
  dm.commands('/hermes', 'status');
  dm.says('', { extra: { subtype: 'file_share', files: [{ id: 'F1', name: 'x.png', mimetype: 'image/png', url_private: `${slack.url}files/x.png` }] } });
  const root = channel.says(`${slack.mention} ${question}`);
  channel.says('!stop', { thread: root });
  channel.commands('/hermes', question);
  channel.joins();
  const press = { user: { id: mallory }, team: { id: slack.team }, channel: { id: general }, message: { ts: root, thread_ts: root }, actions: [{ action_id: 'a', value: 'yes', action_ts: '1767100000.000001' }] };
  slack.pushPayload('interactive', { type: 'block_actions', ...press });
  await waitFor('every acknowledgement', () => slack.unacked().length === 0);
  expect(slack.calls.slice(before)).toEqual([]);
  slack.dm(alice).says('still there?');
  await slack.dm(alice).shouldSee('answer to still there?');
  expect(slack.sent).toHaveLength(1);
  expect(model.requests).toHaveLength(1);
});

test('A4 bolt-js#2487 the same event again and again while the model hangs, and after a kill: one turn, one reply', async () => {
  const { model, slack, start } = await openWorld();
  const daemon = await start();
  model.script({ hang: true });
  slack.deliver({ ackMs: 60_000 });
  slack.dm(alice).says('take your time');
  await model.waitForRequest(1);
  for (let round = 0; round < 3; round += 1) slack.redeliver();
  await waitFor('every acknowledgement', () => slack.unacked().length === 0);
  expect(model.requests).toHaveLength(1);
  await daemon.kill();
  slack.dm(alice).says('while you were away');
  await start();
  slack.redeliver();
  await slack.dm(alice).shouldSee('answer to while you were away');
  await waitFor('every acknowledgement', () => slack.unacked().length === 0);
  expect(slack.dm(alice).seen().map(({ text }) => text)).toEqual(['answer to take your time', 'answer to while you were away']);
});

test('over HTTP: signed events reach the same turns, nothing else does', async () => {
  const { model, slack, start } = await openWorld({ mode: 'http', app_token: null, signing_secret: '8f742231b10e8888abcd99yyyzzz85a5' });
  const daemon = await start();
  const url = `${daemon.url}/slack/events`;
  slack.postTo(url);
  slack.deliver({ copies: 3 });
  slack.dm(alice).says(question);
  await slack.dm(alice).shouldSee('It is 65536.');
  slack.dm(alice).commands('/hermes', 'hello there');
  await slack.dm(alice).shouldSee('answer to hello there');
  await waitFor('every acknowledgement', () => slack.unacked().length === 0);
  expect(slack.postStatuses.every((status) => status === 200)).toBe(true);
  expect(slack.sockets().total).toBe(0);

  const body = JSON.stringify({ type: 'event_callback', event: { type: 'message', channel: 'D0ALICE', channel_type: 'im', user: alice, text: 'forged', ts: '1767100000.000100' } });
  const at = Math.floor(Date.now() / 1000);
  for (const headers of [{}, toSignature('another secret', body, at), toSignature(slack.signingSecret, body, at - 400)])
    expect((await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body })).status).toBe(401);
  expect(model.requests).toHaveLength(3);
  expect(slack.sent).toHaveLength(2);
});
