/** Events over HTTP: only what Slack has signed within five minutes is taken, and only what is committed is answered with 200. */
import { describe, expect, test } from 'vitest';
import { gzipSync } from 'node:zlib';
import { webhookPath } from '../../../adapters/slack/webhook.ts';
import { HermesError } from '../../../src/contract/errors.ts';
import { toBody, toSignature } from '../../support/slack-api-delivery.ts';
import { alice, dm, openScene, type Scene } from './scene.ts';

const secret = '8f742231b10e8888abcd99yyyzzz85a5';
const now = (): number => Math.floor(Date.now() / 1000);
const event = (text: string, ts = '1767100000.000100') => ({ type: 'event_callback', team_id: 'T0TEST', event_id: 'Ev1', event: { type: 'message', channel: dm.chat, channel_type: 'im', user: alice, text, ts } });

async function openHttp(settings = {}): Promise<Scene & { post(body: string | Uint8Array, headers?: Record<string, string>): Promise<unknown> }> {
  const scene = await openScene({ mode: 'http', app_token: '', signing_secret: secret, ...settings });
  return { ...scene, post: async (body, headers = {}) => (await scene.context.request('POST', webhookPath, { body, headers: { ...toSignature(secret, body, now()), ...headers } })).status };
}

describe('the route', () => {
  test('is there from start to stop, without a socket', async () => {
    const { adapter, context, start, api } = await openHttp();
    expect(context.routes).toEqual([]);
    await start();
    expect(context.routes).toMatchObject([{ method: 'POST', path: '/slack/events', auth: 'self' }]);
    expect(context.reports.at(-1)).toEqual({ state: 'up', account: 'U0HERMES', detail: '@hermes in T0TEST by http' });
    expect(api.sockets().total).toBe(0);
    await adapter.stop();
    expect(context.routes).toEqual([]);
  });

  test('is not there without a signing secret, and Slack is off with a reason', async () => {
    const { context, start, post } = await openHttp({ signing_secret: '' });
    await start();
    expect(context.reports.at(-1)).toEqual({ state: 'off', reason: expect.stringMatching(/^No signing secret.*SLACK_SIGNING_SECRET/) });
    expect(await post(JSON.stringify(event('hi')))).toBe(404);
  });

  test('goes when the bot token is refused', async () => {
    const { api, adapter, context, start } = await openHttp();
    await start();
    api.revoke('bot', 'account_inactive');
    await adapter.send?.({ address: dm, text: 'hi', format: 'plain', idempotencyKey: 'k' }, AbortSignal.timeout(5000));
    expect(context.reports.at(-1)?.state).toBe('off');
    expect(context.routes).toEqual([]);
  });
});

describe('what is taken', () => {
  test('events, slash commands and interactions, each by its form', async () => {
    const { start, received, post } = await openHttp();
    await start();
    const press = { type: 'block_actions', user: { id: alice }, team: { id: 'T0TEST' }, channel: { id: dm.chat }, message: { ts: '1767100000.000200' }, actions: [{ action_id: 'a', value: 'yes', action_ts: '1767100000.000300' }] };
    const command = { command: '/hermes', text: 'what now', trigger_id: '1.2.3', channel_id: dm.chat, user_id: alice };
    for (const [type, payload] of [['events_api', event('hello')], ['interactive', press], ['slash_commands', command]] as const) {
      const { body, contentType } = toBody({ type, payload });
      expect(await post(body, { 'content-type': contentType })).toBe(200);
    }
    expect(received.map(({ kind, text, button }) => [kind, text, button?.value])).toEqual([['message', 'hello', undefined], ['button', '', 'yes'], ['message', 'what now', undefined]]);
  });

  test('the challenge is given back, what is unknown is answered with 200, what cannot be read with 400', async () => {
    const { context, start, received, post } = await openHttp();
    await start();
    const body = JSON.stringify({ type: 'url_verification', token: 'x', challenge: '3eZbrw1aBm2rZgRNFdxV2595E9CY' });
    expect(await context.request('POST', webhookPath, { body, headers: toSignature(secret, body, now()) })).toMatchObject({ status: 200, body: '3eZbrw1aBm2rZgRNFdxV2595E9CY' });
    expect(await post(JSON.stringify({ type: 'app_rate_limited', team_id: 'T0TEST' }))).toBe(200);
    expect(await post(JSON.stringify({ type: 'event_callback', event: { type: 'new_kind' } }))).toBe(200);
    expect(await post('ssl_check=1&token=x')).toBe(200);
    expect(await post('payload=notjson')).toBe(200);
    expect(await post('[1]')).toBe(400);
    expect(await post('')).toBe(400);
    expect(received).toEqual([]);
    expect(context.lines.join()).toContain('Slack drops events');
  });

  test('200 only after the commit; while the store is down 503, and Slack posts again', async () => {
    let isDown = true;
    const { context, start, received } = await openHttp();
    await start(async () => {
      if (isDown) throw new HermesError('STORE_UNAVAILABLE', 'The disk is full; free some space.');
      return { status: 'accepted', id: 1 };
    });
    const body = JSON.stringify(event('keep me'));
    const post = (retry: Record<string, string>) => context.request('POST', webhookPath, { body, headers: { ...toSignature(secret, body, now()), ...retry } });
    expect(await post({})).toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
    isDown = false;
    expect(await post({ 'x-slack-retry-num': '1', 'x-slack-retry-reason': 'http_error' })).toMatchObject({ status: 200 });
    expect(new Set(received.map(({ key }) => key)).size).toBe(1);
    expect(received).toHaveLength(2);
  });
});

describe('the signature', () => {
  const body = JSON.stringify(event('signed'));
  const good = () => toSignature(secret, body, now());
  const digest = () => good()['x-slack-signature'] ?? '';
  const at = (seconds: number) => () => toSignature(secret, body, now() + seconds);
  const signedAs = (change: (digest: string) => string) => () => ({ ...good(), 'x-slack-signature': change(digest()) });
  const rows: [string, string | Uint8Array, () => Record<string, string>, number][] = [
    ['as Slack makes it', body, good, 200],
    ['nearly 300 s old', body, at(-295), 200],
    ['nearly 300 s ahead', body, at(295), 200],
    ['over 300 s old', body, at(-302), 401],
    ['over 300 s ahead', body, at(305), 401],
    ['years old', body, at(-1e8), 401],
    ['missing', body, () => ({}), 401],
    ['without a time', body, () => ({ 'x-slack-signature': digest() }), 401],
    ['without a signature', body, () => ({ 'x-slack-request-timestamp': String(now()) }), 401],
    ['of another secret', body, () => toSignature(`${secret}x`, body, now()), 401],
    ['of an empty secret', body, () => toSignature('', body, now()), 401],
    ['of another body', body, () => toSignature(secret, `${body} `, now()), 401],
    ['of another time', body, () => ({ ...good(), 'x-slack-request-timestamp': String(now() - 1) }), 401],
    ['of another version', body, signedAs((text) => text.replace('v0=', 'v1=')), 401],
    ['without a version', body, signedAs((text) => text.slice(3)), 401],
    ['in capitals', body, signedAs((text) => text.toUpperCase()), 401],
    ['with a space behind it', body, signedAs((text) => `${text} `), 401],
    ['with a time that is no number', body, () => toSignature(secret, body, 'now'), 401],
    ['with a negative time', body, () => toSignature(secret, body, `-${now()}`), 401],
    ['with a fractional time', body, () => toSignature(secret, body, `${now()}.5`), 401],
    ['with a hexadecimal time', body, () => toSignature(secret, body, `0x${now().toString(16)}`), 401],
    ['with an endless time', body, () => toSignature(secret, body, '9'.repeat(400)), 401],
    ['of the JSON, not of the bytes', body.replace('{', '{ '), good, 401],
    ['of the bytes before compression', gzipSync(body), good, 401],
    ['of bytes that are no UTF-8', new Uint8Array([0xff, 0xfe]), () => toSignature(secret, new Uint8Array([0xff, 0xfe]), now()), 400],
    ...Array.from({ length: 17 }, (_, index): [string, string, () => Record<string, string>, number] => [`cut to ${index * 4}`, body, signedAs((text) => text.slice(0, index * 4)), 401]),
    ['of 128 characters', body, signedAs((text) => text.padEnd(128, '0')), 401],
    ['one digit off', body, signedAs((text) => text.slice(0, -1) + (text.endsWith('0') ? '1' : '0')), 401],
  ];

  test.each(rows)('%s', async (_, bytes, sign, status) => {
    const { context, start, received } = await openHttp();
    await start();
    expect((await context.request('POST', webhookPath, { body: bytes, headers: sign() })).status).toBe(status);
    expect(received).toHaveLength(status === 200 ? 1 : 0);
  });

  test('of a replay within the window is good: the key of its event is what keeps it to one turn', async () => {
    const { context, start, received } = await openHttp();
    await start();
    for (let round = 0; round < 2; round += 1) expect((await context.request('POST', webhookPath, { body, headers: good() })).status).toBe(200);
    expect(new Set(received.map(({ key }) => key)).size).toBe(1);
  });
});
