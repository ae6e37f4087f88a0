/** The platform that a plugin brings: against the contract of every adapter, then through the built program. */
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { createWebhookAdapter, path } from '../../examples/plugins/webhook-platform/index.ts';
import { splitText } from '../../examples/plugins/webhook-platform/outbound.ts';
import { inspectPlugin } from '../../src/plugins/doctor.ts';
import { adapterContract, type ContractDriver } from '../support/adapter-contract.ts';
import { createTestContext, type TestContext } from '../support/adapter-contract-context.ts';
import { examples, launchDaemon, startDaemon, type Daemon } from '../support/daemon.ts';
import { startOpenAiApi } from '../support/openai-api.ts';
import { projectRoot, writeFiles } from '../plugins/plugin-home.ts';
import { tempHome } from '../support/temp-home.ts';
import { waitFor } from '../support/wait-for.ts';
import { secret, startReceiver, toHeaders } from './webhook-receiver.ts';

const plugin = join(examples, 'webhook-platform');
let events = 0;
const nextId = () => `e${(events += 1)}`;

adapterContract('the webhook plugin', async (): Promise<ContractDriver> => {
  const receiver = await startReceiver();
  let context: TestContext | undefined;
  let waiting = 0;
  let newest = '';
  /** Posts until it is told that the event was kept, as the other program would. */
  const deliver = async (event: object) => {
    newest = JSON.stringify(event);
    waiting += 1;
    const body = newest;
    for (let tries = 0; tries < 20; tries += 1) {
      const { status } = (await context?.request('POST', path, { headers: toHeaders(body), body })) ?? { status: 404 };
      if (status === 200) break;
    }
    waiting -= 1;
  };
  const people = { person: { id: 'ann', name: 'Ann' }, self: { id: 'hermes', bot: true }, bot: { id: 'robot', bot: true } };
  const rooms = { dm: { id: 'd1' }, group: { id: 'g1', type: 'group' } };
  return {
    create(given) {
      context = given;
      return createWebhookAdapter({ secret, url: receiver.url, edits: true, files: `${receiver.url}/files` }, given);
    },
    secrets: [secret],
    mention: '@hermes',
    dm: { platform: 'webhook', account: 'hermes', chat: 'd1' },
    group: { platform: 'webhook', account: 'hermes', chat: 'g1' },
    post({ by, in: where, text, repliesToBot }) {
      const last = receiver.seen(rooms[where].id).at(-1);
      void deliver({ id: nextId(), chat: rooms[where], sender: people[by], text, ...(repliesToBot && last ? { reply_to: { message_id: last.messageId, text: last.text, own: true } } : {}) });
    },
    redeliver: () => deliver(JSON.parse(newest) as object),
    async everyOtherKind() {
      await deliver({ type: 'edit', id: nextId(), chat: rooms.dm, sender: people.person, text: 'a better offer', message_id: 'm1' });
      await deliver({ type: 'button', id: nextId(), chat: rooms.dm, sender: people.person, button: 'yes' });
      await deliver({ id: nextId(), chat: rooms.dm, sender: people.person, attachments: [{ url: receiver.serves(new Uint8Array(3)), name: 'a.png', mime: 'image/png' }] });
      return 3;
    },
    seen: ({ chat }) => receiver.seen(chat).map((message) => ({ ...message })),
    deletes: ({ chat }, messageId) => receiver.deletes(chat, messageId),
    strikes: (fault) => receiver.strikes(fault),
    unconfirmed: () => waiting,
    noticeableCalls: () => receiver.posts.length,
    // It keeps no connection; what is open while it runs is its path.
    connections: () => (context?.routes.length ?? 0) + receiver.connections(),
    file: (bytes, declared) => ({ kind: 'file', ref: receiver.serves(bytes), name: 'doc', mime: 'application/octet-stream', size: declared }),
    close: () => receiver.close(),
  };
});

test('a text is split without a loss, and no part is longer than it may be', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'bc', ' ', '\n', '\n\n', '🙂', 'é'), maxLength: 900 });
  fc.assert(
    fc.property(text, fc.integer({ min: 200, max: 300 }), (whole, limit) => {
      const parts = splitText(whole, limit);
      expect(parts.join('').replace(/\s/g, '')).toBe(whole.replace(/\s/g, ''));
      for (const part of parts) {
        expect(part.length).toBeLessThanOrEqual(limit);
        expect(part.isWellFormed()).toBe(true);
      }
    }),
  );
});

test('nothing gets in without a good and fresh signature', async () => {
  const context = createTestContext();
  const noon = Date.UTC(2026, 0, 1, 12);
  const adapter = createWebhookAdapter({ secret, url: 'http://127.0.0.1:1/' }, context, () => noon);
  const received: string[] = [];
  await adapter.start(async ({ text }) => {
    received.push(text);
    return { status: 'accepted', id: 1 };
  });
  const body = JSON.stringify({ id: 'e1', chat: { id: 'd1' }, sender: { id: 'ann' }, text: 'in' });
  const good = toHeaders(body, { at: noon });
  const status = async (headers: Record<string, string>, sent = body) => (await context.request('POST', path, { headers, body: sent })).status;

  expect(await status({})).toBe(401);
  expect(await status({ ...good, 'x-hermes-signature': '' })).toBe(401);
  expect(await status({ ...good, 'x-hermes-signature': `${good['x-hermes-signature']}0` })).toBe(401);
  expect(await status(toHeaders(body, { at: noon, key: `${secret}x` }))).toBe(401);
  expect(await status(good, `${body} `)).toBe(401);
  expect(await status({ ...good, 'x-hermes-timestamp': String(noon / 1000 + 1) })).toBe(401);
  expect(await status(toHeaders(body, { at: noon - 301_000 }))).toBe(401);
  expect(await status(toHeaders(body, { at: noon + 301_000 }))).toBe(401);
  expect(received).toEqual([]);
  expect(await status(toHeaders(body, { at: noon - 299_000 }))).toBe(200);
  expect(received).toEqual(['in']);

  const wrong = JSON.stringify({ id: 'a:b', chat: {}, text: 1 });
  const answer = await context.request('POST', path, { headers: toHeaders(wrong, { at: noon }), body: wrong });
  expect(answer).toMatchObject({ status: 400, body: { error: expect.stringMatching(/id: .*chat\.id: .*sender: /) as string } });
  // What it posts itself lacks a sender, so it cannot be sent back to it.
  const own = JSON.stringify({ type: 'message', id: 'hg1', chat: { id: 'd1' }, text: 'hi', format: 'markdown' });
  expect(await status(toHeaders(own, { at: noon }), own)).toBe(400);
});

test.each([
  [{}, 'platforms.webhook.secret must have 32 characters or more; make one with: openssl rand -hex 32'],
  [{ secret: 'short', url: 'http://127.0.0.1/' }, 'platforms.webhook.secret must have 32 characters or more; make one with: openssl rand -hex 32'],
  [{ secret }, 'platforms.webhook.url is not set: give the address that answers are posted to'],
])('with %j it is off, has no path, and says why', async (settings, reason) => {
  const context = createTestContext();
  await createWebhookAdapter(settings, context).start(async () => ({ status: 'accepted', id: 1 }));
  expect(context.reports).toEqual([{ state: 'off', reason }]);
  expect((await context.request('POST', path)).status).toBe(404);
});

test('settings that cannot be used are named', () => {
  expect(() => createWebhookAdapter({ secret, url: 'ftp://x', max_chars: 'many' }, createTestContext())).toThrow(/platforms\.webhook\.url must be an address.*; platforms\.webhook\.max_chars/);
});

test('files go out in the post, come in from one place alone, and posts carry their buttons', async () => {
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  const adapter = createWebhookAdapter({ secret, url: receiver.url, files: `${receiver.url}/files/` }, createTestContext());
  const address = { platform: 'webhook', account: 'hermes', chat: 'd1', thread: 't1' };
  const { signal } = new AbortController();
  const file = { path: join(plugin, 'plugin.yaml'), name: 'a.yaml', mime: 'text/yaml', kind: 'file' } as const;
  const buttons = [[{ label: 'Yes', value: 'y' }]];
  await adapter.send?.({ address, text: 'look', format: 'plain', idempotencyKey: 'hg1', media: file, buttons }, signal);
  await adapter.send?.({ address, text: 'look', format: 'plain', idempotencyKey: 'hg2', media: { ...file, path: '/nowhere' } }, signal);
  expect(receiver.posts[0]).toMatchObject({ id: 'hg1', chat: { id: 'd1', thread: 't1' }, text: 'look', buttons, file: { name: 'a.yaml' } });
  expect(Buffer.from(receiver.posts[0]?.file?.base64 ?? '', 'base64').toString()).toContain('name: webhook-platform');
  expect(receiver.posts[1]?.text).toBe('look\n\nThe file a.yaml could not be sent: it is gone, empty or larger than 10 MB.');

  for (const ref of [`${receiver.url}/other`, `${receiver.url}/files/../other`, 'http://169.254.169.254/files/', 'file:///etc/passwd'])
    await expect(adapter.download?.({ kind: 'file', ref, name: 'x', mime: 'x/y', size: 1 }, 9, signal)).rejects.toThrow('not below platforms.webhook.files');
});

test('the doctor has nothing to complain about', async () => {
  expect((await inspectPlugin(plugin, { gatewayRoot: projectRoot, env: {} })).findings).toEqual([]);
});

const say = async (daemon: Daemon, event: object, headers?: Record<string, string>) => {
  const body = JSON.stringify({ id: nextId(), chat: { id: 'd1' }, sender: { id: 'ann', name: 'Ann' }, ...event });
  const response = await fetch(daemon.url + path, { method: 'POST', headers: headers ?? toHeaders(body), body });
  return { code: response.status, ...((await response.json()) as { status?: string; error?: unknown }) };
};

test('through the built program: an allowed person is answered once, in private and where addressed; nobody else is', async () => {
  await using model = await startOpenAiApi();
  model.answer(() => ({ text: 'Here I am.' }));
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  const webhook = { secret: '${WEBHOOK_SECRET}', url: receiver.url, allowed_users: ['ann'] };
  const config = { model: { provider: 'custom', base_url: model.url, name: 'scripted', api_key: 'key-for-the-scripted-model' }, platforms: { webhook } };
  const daemon = await startDaemon({ home: tempHome(), plugins: [plugin], config, env: { WEBHOOK_SECRET: secret } });
  expect(await (await daemon.api('/readyz')).json()).toMatchObject({ ready: true, adapters: { webhook: { state: 'up', account: 'hermes' } } });

  const hello = { id: nextId(), text: 'Are you there?' };
  expect(await say(daemon, hello)).toEqual({ code: 200, status: 'accepted' });
  expect(await say(daemon, hello)).toEqual({ code: 200, status: 'duplicate' });
  await waitFor('the answer', () => receiver.seen('d1').length > 0);
  expect(receiver.posts).toMatchObject([{ type: 'message', text: 'Here I am.', format: 'markdown' }]);
  expect(model.requests).toHaveLength(1);
  expect(model.requests[0]?.raw).toContain('posted to another program');

  const group = { id: 'g1', type: 'group' };
  expect(await say(daemon, { chat: group, text: 'among ourselves' })).toEqual({ code: 200, status: 'refused' });
  expect(await say(daemon, { chat: group, text: '@hermes and you?' })).toEqual({ code: 200, status: 'accepted' });
  await waitFor('the answer in the group', () => receiver.seen('g1').length > 0);

  expect(await say(daemon, { text: 'forged' }, {})).toMatchObject({ code: 401 });
  expect(await say(daemon, { chat: { id: 'd2' }, sender: { id: 'bob' }, text: 'let me in' })).toEqual({ code: 200, status: 'refused' });
  await waitFor('the pairing code', () => receiver.seen('d2').some(({ text }) => /hermes pairing approve webhook [A-Z2-9]{8}/.test(text)));
  expect(model.requests).toHaveLength(2);
  expect(await daemon.stop()).toBe(0);
  expect(daemon.output()).not.toContain(secret);
});

/** Code of a plugin whose platforms are `name: what createAdapter(config, context) gives`. */
const platforms = (named: Record<string, string>) =>
  `exports.register = (ctx) => { ${Object.entries(named).map(([name, adapter]) => `ctx.registerPlatform({ name: '${name}', label: 'x', createAdapter: (config, context) => (${adapter}) });`).join(' ')} };`;
const quiet = "{ platform: 'quiet', hint: '', start: async () => context.report({ state: 'up', account: 'q' }), stop: async () => {} }";

test('a platform that cannot be built, lies about its name or takes ours stops nothing else', async () => {
  const folder = writeFiles(tempHome(), {
    'broken/plugin.yaml': 'name: broken',
    'broken/index.js': platforms({ thrower: '(() => { throw new Error("no url") })()', liar: quiet, telegram: quiet, switched: quiet }),
    'keyless/plugin.yaml': 'name: keyless\nrequires_env: [NO_SUCH_KEY]',
    'keyless/index.js': platforms({ matrix: quiet }),
    'works/plugin.yaml': 'name: works',
    'works/index.js': platforms({ quiet }),
  });
  const config = { platforms: { matrix: { server: 'x' }, switched: { enabled: false } } };
  const daemon = await startDaemon({ home: tempHome(), plugins: [folder], config });
  const { adapters } = (await (await daemon.api('/readyz')).json()) as { adapters: Record<string, unknown> };
  expect(adapters).toMatchObject({
    thrower: { state: 'off', reason: 'plugin broken: no url' },
    liar: { state: 'off', reason: 'plugin broken: it registers the platform liar, but its adapter says that it is quiet' },
    telegram: { state: 'off', reason: expect.stringContaining('TELEGRAM_BOT_TOKEN') as string },
    matrix: { state: 'off', reason: 'no plugin that is loaded brings the platform matrix; hermes plugins list shows which are off' },
    switched: { state: 'off', reason: 'switched is switched off by platforms.switched.enabled' },
    quiet: { state: 'up', account: 'q' },
    http: { state: 'up' },
  });
  expect(daemon.output()).toContain('Plugin broken: the platform name telegram is taken by the gateway itself');
});

test('a platform that nobody brings is refused by name while every plugin is there to be asked', async () => {
  const daemon = launchDaemon({ home: tempHome(), plugins: [plugin], config: { platforms: { webhok: { url: 'x' } } } });
  expect(await daemon.ended).toBe(78);
  expect(daemon.output()).toMatch(/config\.yaml:\d+:\d+ platforms\.webhok is unknown; did you mean webhook\?/);
});
