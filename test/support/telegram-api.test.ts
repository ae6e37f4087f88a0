/** The simulator is as strict as the real Bot API where the adapter's tests lean on it. */
import { Api, GrammyError } from 'grammy';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parseTelegramHtml } from './telegram-api-html.ts';
import { startTelegramApi } from './telegram-api.ts';

async function open() {
  const server = await startTelegramApi();
  onTestFinished(() => server.close());
  const api = new Api(server.token, { apiRoot: server.url });
  server.user(5, { name: 'Eve' });
  const refusal = (call: Promise<unknown>): Promise<string> => call.then(() => 'accepted', (error: unknown) => (error instanceof GrammyError ? error.description : String(error)));
  return { server, api, refusal };
}

describe('HTML', () => {
  test.each([
    ['<b>a</b> &lt;&amp;&#65; <i>c</i>', 'a <&A c'],
    ['<pre><code class="language-ts">x</code></pre>', 'x'],
    ['<a href="https://a.b/?c=1&amp;d=2">e</a>', 'e'],
    ['<span class="tg-spoiler">s</span><blockquote expandable>q</blockquote>', 'sq'],
  ])('%s is read', (html, text) => expect(parseTelegramHtml(html)).toEqual({ ok: true, text }));

  test.each(['<b>a', '<b>a</i>', '</b>', '<h1>a</h1>', '<br>', '1 < 2', '<span>a</span>', '<a href="x>y</a>'])('%s is refused', (html) => {
    expect(parseTelegramHtml(html)).toMatchObject({ ok: false, description: expect.stringContaining("can't parse entities") });
  });
});

describe('sending', () => {
  test('lengths are counted in UTF-16 units after entities', async () => {
    const { api, refusal } = await open();
    expect(await refusal(api.sendMessage(5, `<b>${'&lt;'.repeat(4096)}</b>`, { parse_mode: 'HTML' }))).toBe('accepted');
    expect(await refusal(api.sendMessage(5, '🙂'.repeat(2049)))).toBe('Bad Request: message is too long');
    expect(await refusal(api.sendMessage(5, '<b></b>', { parse_mode: 'HTML' }))).toBe('Bad Request: message text is empty');
    expect(await refusal(api.sendMessage(6, 'hi'))).toBe('Bad Request: chat not found');
  });

  test('an equal edit is not modified, a foreign message cannot be edited', async () => {
    const { server, api, refusal } = await open();
    const sent = await api.sendMessage(5, 'hi');
    expect(await refusal(api.editMessageText(5, sent.message_id, 'hi'))).toContain('message is not modified');
    expect(await refusal(api.editMessageText(5, server.dm(5).says('mine'), 'yours'))).toContain("can't be edited");
    expect(await refusal(api.editMessageText(5, 999, 'x'))).toContain('message to edit not found');
  });

  test('a wrong token is refused', async () => {
    const { server, refusal } = await open();
    expect(await refusal(new Api(`${server.token}x`, { apiRoot: server.url }).getMe())).toBe('Unauthorized');
    expect(await refusal(new Api('nonsense', { apiRoot: server.url }).getMe())).toBe('Not Found');
  });
});

describe('getUpdates', () => {
  test('repeats what is not confirmed, to a new poller too', async () => {
    const { server, api } = await open();
    server.dm(5).says('one');
    server.dm(5).says('two');
    const first = await api.getUpdates();
    expect(await new Api(server.token, { apiRoot: server.url }).getUpdates()).toEqual(first);
    const [one] = first;
    expect((await api.getUpdates({ offset: (one?.update_id ?? 0) + 1, limit: 1 })).map(({ message }) => message?.text)).toEqual(['two']);
    expect(server.unconfirmed).toHaveLength(1);
  });

  test('a second poller ends the first with 409', async () => {
    const { server, api, refusal } = await open();
    const first = refusal(api.getUpdates({ timeout: 30 }));
    await expect.poll(() => server.callsOf('getUpdates').length).toBe(1);
    const second = api.getUpdates({ timeout: 30 });
    expect(await first).toContain('terminated by other getUpdates');
    server.dm(5).says('for the second');
    expect(await second).toHaveLength(1);
  });
});
