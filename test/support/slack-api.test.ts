/** The simulator is as strict as the real Slack where the adapter's tests lean on it; the SDK's own clients talk to it. */
import { SocketModeReceiver, webApi } from '@slack/bolt';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readMrkdwn } from './slack-api-text.ts';
import { startSlackApi } from './slack-api.ts';
import { waitFor } from './wait-for.ts';

async function open() {
  const server = await startSlackApi();
  onTestFinished(() => server.close());
  server.user('U5EVE', { name: 'Eve' });
  const logger = { debug() {}, info() {}, warn() {}, error() {}, setLevel() {}, getLevel: () => webApi.LogLevel.ERROR, setName() {} };
  const toOptions = () => ({ slackApiUrl: server.url, retryConfig: { retries: 0 }, rejectRateLimitedCalls: true, logger });
  const web = new webApi.WebClient(server.botToken, toOptions());
  const refusal = (call: Promise<unknown>): Promise<string> => call.then(() => 'accepted', (error: unknown) => (error instanceof webApi.WebAPIPlatformError ? error.data.error : String(error)));
  const post = (fields: object): Promise<string> => refusal(web.apiCall('chat.postMessage', { channel: 'D5EVE', ...fields }));
  return { server, web, refusal, post, toOptions, logger };
}

describe('sending', () => {
  test('texts, channels and blocks are checked', async () => {
    const { post, server } = await open();
    const button = (fields: object = {}) => ({ type: 'button', action_id: 'a', text: { type: 'plain_text', text: 'Yes' }, value: 'y', ...fields });
    expect(await post({ text: 'hi' })).toBe('accepted');
    expect(await post({})).toBe('no_text');
    expect(await post({ text: 'hi', channel: 'C9' })).toBe('channel_not_found');
    expect(await post({ text: 'hi', thread_ts: '1.1' })).toBe('thread_not_found');
    expect(await post({ text: 'hi', blocks: [{ type: 'section', text: { type: 'mrkdwn', text: 'x'.repeat(3001) } }] })).toBe('invalid_blocks');
    expect(await post({ text: 'hi', blocks: [{ type: 'actions', elements: [button(), button()] }] })).toBe('invalid_blocks');
    expect(await post({ text: 'hi', blocks: [{ type: 'actions', elements: [button({ text: { type: 'plain_text', text: 'x'.repeat(76) } })] }] })).toBe('invalid_blocks');
    expect(await post({ text: 'hi', blocks: [{ type: 'actions', elements: [button()] }] })).toBe('accepted');
    expect(server.violations).toEqual([]);
    await post({ text: 'x'.repeat(4001) });
    await post({ text: '<!here>' });
    await post({ text: '@here', parse: 'full' });
    expect(server.violations).toHaveLength(3);
  });

  test('only own messages are edited, up to 4,000 bytes; bare names count where nobody has said otherwise', async () => {
    const { server, web, refusal } = await open();
    const { ts = '' } = (await web.apiCall('chat.postMessage', { channel: 'D5EVE', text: 'hi' })) as { ts?: string };
    const update = (fields: object): Promise<string> => refusal(web.apiCall('chat.update', { channel: 'D5EVE', ts, text: 'ho', ...fields }));
    expect(await update({ ts: server.dm('U5EVE').says('mine') })).toBe('cant_update_message');
    expect(await update({ ts: '1.1' })).toBe('message_not_found');
    expect(await update({ text: '漢'.repeat(1334) })).toBe('msg_too_long');
    expect(await update({ text: '@channel', parse: 'none' })).toBe('accepted');
    expect(server.violations).toEqual([]);
    expect(await update({ text: '@channel' })).toBe('accepted');
    expect(server.violations).toHaveLength(1);
  });

  test('tokens are told apart', async () => {
    const { server, refusal, toOptions } = await open();
    const call = (token: string, method: string) => refusal(new webApi.WebClient(token, toOptions()).apiCall(method));
    expect(await call('xoxb-wrong', 'auth.test')).toBe('invalid_auth');
    expect(await call(server.appToken, 'auth.test')).toBe('not_allowed_token_type');
    expect(await call(server.botToken, 'apps.connections.open')).toBe('not_allowed_token_type');
    server.revoke('bot', 'token_revoked');
    expect(await call(server.botToken, 'auth.test')).toBe('token_revoked');
  });

  test.each([
    ['a <https://b.c|d> <mailto:e@f.g>', 'a d mailto:e@f.g', []],
    ['&lt;!here&gt; &amp;amp;', '<!here> &amp;', []],
    ['<!channel> <@U1>', '!channel @U1', ['!channel', '@U1']],
  ])('%s is read', (raw, text, mentions) => expect(readMrkdwn(raw, 'none')).toEqual({ text, mentions }));
});

describe('Socket Mode', () => {
  test('the SDK\'s own client is served; what it does not acknowledge comes again, the bot\'s own messages too', async () => {
    const { server, web, toOptions, logger } = await open();
    const { client } = new SocketModeReceiver({ appToken: server.appToken, installerOptions: { clientOptions: toOptions() }, logger });
    const heard: { text: string; retry: number | undefined }[] = [];
    client.on('slack_event', ({ ack, body, retry_num: retry }: { ack(): Promise<void>; body: { event: { text: string } }; retry_num?: number }) => {
      heard.push({ text: body.event.text, retry });
      if (heard.length > 1) void ack();
    });
    await client.start();
    onTestFinished(() => void client.disconnect());
    server.dm('U5EVE').says('hello');
    await waitFor('the acknowledgement', () => server.unacked().length === 0);
    expect(heard).toEqual([{ text: 'hello', retry: undefined }, { text: 'hello', retry: 1 }]);
    await web.apiCall('chat.postMessage', { channel: 'D5EVE', text: 'my own' });
    await waitFor('the echo', () => heard.some(({ text }) => text === 'my own'));
    expect(server.strangeFrames).toEqual([]);
  });
});
