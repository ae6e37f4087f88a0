/** The webhook: no secret no route, a wrong secret no message, and 200 only for what is kept. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { planWebhook } from '../../../adapters/telegram/webhook.ts';
import { HermesError } from '../../../src/contract/errors.ts';
import type { TestContext } from '../../support/adapter-contract-context.ts';
import { waitFor } from '../../support/wait-for.ts';
import { alice, openScene } from './scene.ts';

const secret = 'a-secret_that-is-long-enough-0123456789';
const header = 'x-telegram-bot-api-secret-token';
const url = 'https://bot.example.org';

/** The HTTP server that main would mount the route on. */
async function serve(): Promise<{ url: string; attach(context: TestContext): void }> {
  let context: TestContext | undefined;
  const server = createServer((request, response) => {
    const chunks: Uint8Array[] = [];
    request.on('data', (chunk: Uint8Array) => chunks.push(chunk));
    request.on('end', () => {
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
      void context?.request('POST', request.url ?? '', { headers, body: Buffer.concat(chunks) }).then(({ status }) => response.writeHead(status).end());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/telegram/in`, attach: (given) => void (context = given) };
}

describe('the webhook', () => {
  test('takes over from polling, receives, and leaves with the adapter', async () => {
    const server = await serve();
    const { api, adapter, start, hears, context } = await openScene({ mode: 'webhook', webhook: { url: server.url, secret } });
    server.attach(context);
    api.dm(alice).says('was waiting');
    await start();
    expect(api.webhook).toMatchObject({ url: server.url, secret, maxConnections: 40, allowed: expect.arrayContaining(['message', 'callback_query']) });
    expect((await hears('was waiting')).address.chat).toBe(String(alice));
    await waitFor('the confirmation', () => api.unconfirmed.length === 0);
    expect(context.reports.at(-1)).toMatchObject({ state: 'up', account: String(api.me.id) });
    expect(api.callsOf('getUpdates')).toEqual([]);
    await adapter.stop();
    expect(context.routes).toEqual([]);
    expect(api.webhook.url).toBe(server.url);
  });

  test('answers 503 while the store is down, so Telegram posts again until it is kept', async () => {
    const server = await serve();
    const { api, start, received, context } = await openScene({ mode: 'webhook', webhook: { url: server.url, secret } });
    server.attach(context);
    await start(async () => {
      if (received.length < 3) throw new HermesError('STORE_UNAVAILABLE', 'The disk is full; free some space.');
      return { status: 'accepted', id: 1 };
    });
    api.dm(alice).says('persist');
    await waitFor('the confirmation', () => api.unconfirmed.length === 0);
    expect(received.map(({ key }) => key)).toEqual([received[0]?.key, received[0]?.key, received[0]?.key]);
    expect(api.webhook.failures).toBe(2);
  });

  test('A24 corsair#628 a call without the right secret is turned away before it is read', async () => {
    const { api, start, received, context } = await openScene({ mode: 'webhook', webhook: { url, secret } });
    await start();
    const path = context.routes[0]?.path ?? '';
    expect(path).toBe(`/webhooks/telegram/${api.me.id}`);
    expect(context.routes[0]?.auth).toBe('self');
    const body = JSON.stringify({ update_id: 1, message: { message_id: 1, date: 1, chat: { id: alice, type: 'private' }, from: { id: alice, is_bot: false, first_name: 'A' }, text: 'hi' } });
    for (let length = 0; length <= 128; length += 1) {
      expect(await context.request('POST', path, { headers: { [header]: 'x'.repeat(length) }, body })).toEqual({ status: 401 });
    }
    expect(await context.request('POST', path, { body })).toEqual({ status: 401 });
    expect(received).toEqual([]);
    const headers = { [header]: secret };
    expect(await context.request('POST', path, { headers, body })).toEqual({ status: 200 });
    expect(await context.request('POST', path, { headers, body: 'no json' })).toEqual({ status: 400 });
    expect(await context.request('POST', path, { headers, body: '{"update_id":2}' })).toEqual({ status: 200 });
    expect(received).toHaveLength(1);
    expect(context.lines.join()).not.toContain(secret);
  });

  test.each([
    ['no secret', null],
    ['an empty one', ''],
    ['one that is too long', 'x'.repeat(257)],
    ['one that Telegram would refuse', `${'x'.repeat(40)}!`],
  ])('A24 corsair#628 with %s there is no route, and it says what to do', async (_, given) => {
    const { api, start, context } = await openScene({ mode: 'webhook', webhook: { url, secret: given } });
    await start();
    expect(context.routes).toEqual([]);
    expect(await context.request('POST', `/webhooks/telegram/${api.me.id}`, { body: '{}' })).toEqual({ status: 404 });
    expect(context.reports.at(-1)).toMatchObject({ state: 'off', reason: expect.stringContaining('platforms.telegram.webhook.secret') });
    expect(api.callsOf('setWebhook')).toEqual([]);
  });

  test('a short secret is taken, and a longer one is asked for', async () => {
    const { start, context } = await openScene({ mode: 'webhook', webhook: { url, secret: 'short' } });
    await start();
    expect(context.routes).toHaveLength(1);
    expect(context.lines.join()).toContain('make a longer one');
  });

  test('without an address it is off as well', async () => {
    const { start, context } = await openScene({ mode: 'webhook', webhook: { url: null, secret } });
    await start();
    expect(context.reports.at(-1)).toMatchObject({ state: 'off', reason: expect.stringContaining('platforms.telegram.webhook.url') });
  });

  test('the address is used as it is when it has a path', () => {
    expect(planWebhook({ url: 'https://a.example/hooks/tg', secret }, 5)).toEqual({ url: 'https://a.example/hooks/tg', path: '/hooks/tg', secret });
    expect(planWebhook({ url: 'https://a.example', secret }, 5)).toEqual({ url: 'https://a.example/webhooks/telegram/5', path: '/webhooks/telegram/5', secret });
  });
});
