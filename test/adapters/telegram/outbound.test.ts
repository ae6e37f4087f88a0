/** What goes out: markup, replies, topics, buttons, files; and that whatever is refused still ends in something that people see. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Address, OutboundPart } from '../../../src/contract/message.ts';
import { tempHome } from '../../support/temp-home.ts';
import { alice, openScene, type Scene } from './scene.ts';

const dm: Address = { platform: 'telegram', account: '1', chat: String(alice) };
const soon = (): AbortSignal => AbortSignal.timeout(10_000);
const send = ({ adapter }: Scene, part: Partial<OutboundPart>) => adapter.send?.({ address: dm, text: '', format: 'markdown', idempotencyKey: 'k', ...part }, soon());

describe('a text', () => {
  test('goes as HTML without a link preview, before the adapter was started', async () => {
    const scene = await openScene();
    expect(await send(scene, { text: '**bold** & <b>not</b> [here](https://example.org/?a=1&b=2)' })).toEqual({ status: 'sent', messageId: '1' });
    const [sent] = scene.api.sent;
    expect(sent).toMatchObject({ text: 'bold & <b>not</b> here', parseMode: 'HTML', linkPreview: false });
    expect(sent?.raw).toContain('<b>bold</b>');
  });

  test('that is plain goes as it is', async () => {
    const scene = await openScene();
    await send(scene, { text: '**as it is** <b>', format: 'plain' });
    expect(scene.api.sent[0]).toMatchObject({ text: '**as it is** <b>', parseMode: '' });
  });

  test('answers a message, or stands alone when that one is gone', async () => {
    const scene = await openScene();
    const question = scene.api.dm(alice).says('question');
    await send(scene, { text: 'answer', replyTo: String(question) });
    expect(scene.api.sent[0]?.replyTo).toBe(question);
    scene.api.dm(alice).deletes(question);
    expect(await send(scene, { text: 'late answer', replyTo: String(question) })).toMatchObject({ status: 'sent' });
    expect(scene.api.sent[1]?.replyTo).toBeUndefined();
  });

  test('goes to its topic; one to a topic that is gone fails for good, the group does not count as gone', async () => {
    const scene = await openScene();
    const forum = scene.api.group(-1009, { forum: true });
    const topic = forum.topic('Benches');
    const address = { ...dm, chat: '-1009', thread: String(topic) };
    await send(scene, { address, text: 'in the topic' });
    expect(scene.api.sent[0]).toMatchObject({ chat: -1009, thread: topic });
    await scene.adapter.typing?.(address, soon());
    expect(scene.api.callsOf('sendChatAction')[0]?.params).toEqual({ chat_id: '-1009', message_thread_id: topic, action: 'typing' });
    expect(await send(scene, { address: { ...address, thread: '77' }, text: 'lost' })).toEqual({ status: 'permanent', error: expect.stringContaining('thread not found') });
  });

  test('carries buttons, which an edit without buttons takes away', async () => {
    const scene = await openScene();
    const buttons = [[{ label: 'Yes', value: 'y' }, { label: 'No', value: 'n' }]];
    await send(scene, { text: 'Sure?', buttons });
    expect(scene.api.sent[0]?.buttons).toEqual([[{ text: 'Yes', callback_data: 'y' }, { text: 'No', callback_data: 'n' }]]);
    await scene.adapter.edit?.('1', { address: dm, text: 'Sure? Yes.', format: 'markdown', idempotencyKey: 'k' }, soon());
    expect(scene.api.sent[0]).toMatchObject({ text: 'Sure? Yes.', buttons: [] });
  });

  test('whose markup is refused goes once more as plain text, also in an edit', async () => {
    const scene = await openScene();
    const refusal = { status: 400, description: "Bad Request: can't parse entities: Unexpected end tag at byte offset 5" };
    scene.api.fail('sendMessage', { ...refusal, times: 2, match: ({ parse_mode }) => parse_mode === 'HTML' });
    scene.api.fail('editMessageText', { ...refusal, match: ({ parse_mode }) => parse_mode === 'HTML' });
    expect(await send(scene, { text: '*a* b **c' })).toMatchObject({ status: 'sent' });
    expect(scene.api.sent[0]).toMatchObject({ text: '*a* b **c', parseMode: '' });
    const linked = `${'[x](https://example.org/a/long/address) '.repeat(90)}end`;
    expect(linked.length).toBeLessThan(4096);
    const long = `${linked} ${'[y](https://example.org/another) '.repeat(30)}`;
    expect(await send(scene, { text: long })).toMatchObject({ status: 'sent' });
    expect(scene.api.sent[1]?.text).toMatch(/^x x x/);
    expect(await scene.adapter.edit?.('1', { address: dm, text: '*d* **e', format: 'markdown', idempotencyKey: 'k' }, soon())).toMatchObject({ status: 'sent' });
    expect(scene.api.sent[0]).toMatchObject({ text: '*d* **e', parseMode: '' });
    expect(scene.api.callsOf('sendMessage')).toHaveLength(4);
  });

  test('without marks goes as it is, with nothing to parse', async () => {
    const scene = await openScene();
    expect(await send(scene, { text: 'is 2 < 3 & "so"? a **b' })).toMatchObject({ status: 'sent' });
    expect(scene.api.callsOf('sendMessage')[0]?.params).toMatchObject({ text: 'is 2 < 3 & "so"? a **b' });
    expect(scene.api.callsOf('sendMessage')[0]?.params).not.toHaveProperty('parse_mode');
  });

  test('with nothing in it is refused without a call', async () => {
    const scene = await openScene();
    expect(await send(scene, { text: ' \n' })).toMatchObject({ status: 'permanent' });
    expect(scene.api.calls).toEqual([]);
  });

  test('for a group that has become a supergroup says where it went', async () => {
    const scene = await openScene();
    scene.api.group(-55, { type: 'group' });
    scene.api.migrate(-55, -10055);
    expect(await send(scene, { address: { ...dm, chat: '-55' }, text: 'hi' })).toEqual({ status: 'moved', chat: '-10055' });
  });

  test('given up by its caller ends at once, and may have arrived', async () => {
    const scene = await openScene();
    scene.api.fail('sendMessage', { hangMs: Number.POSITIVE_INFINITY });
    const outcome = scene.adapter.send?.({ address: dm, text: 'hello', format: 'plain', idempotencyKey: 'k' }, AbortSignal.timeout(100));
    expect(await outcome).toEqual({ status: 'unknown', error: 'the call was given up, or was not answered in time' });
  });
});

describe('small gestures', () => {
  test('a reaction is set, and a refused one disturbs nobody', async () => {
    const scene = await openScene();
    const message = scene.api.dm(alice).says('hi');
    await scene.adapter.react?.(dm, String(message), '👀', soon());
    expect(scene.api.callsOf('setMessageReaction')[0]?.params).toMatchObject({ message_id: message, reaction: [{ type: 'emoji', emoji: '👀' }] });
    await scene.adapter.react?.(dm, String(message), '', soon());
    expect(scene.api.callsOf('setMessageReaction')[1]?.params['reaction']).toEqual([]);
    await scene.adapter.react?.(dm, String(message), '🧿', soon());
    scene.api.close403(alice);
    await scene.adapter.typing?.(dm, soon());
  });
});

describe('a file', () => {
  function file(name: string, bytes: Uint8Array | string): string {
    const home = tempHome();
    mkdirSync(join(home, 'out'));
    writeFileSync(join(home, 'out', name), bytes);
    return join(home, 'out', name);
  }

  test.each([
    ['image', 'image/png', 'sendPhoto'],
    ['image', 'image/gif', 'sendAnimation'],
    ['image', 'image/svg+xml', 'sendDocument'],
    ['video', 'video/mp4', 'sendVideo'],
    ['audio', 'audio/mpeg', 'sendAudio'],
    ['voice', 'audio/ogg', 'sendVoice'],
    ['file', 'text/csv', 'sendDocument'],
    ['sticker', 'image/webp', 'sendDocument'],
  ] as const)('%s %s goes by %s, whole, under its name and with its caption', async (kind, mime, method) => {
    const scene = await openScene();
    const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => index % 251));
    const media = { path: file('x', bytes), name: 'my "best"; report é.bin', mime, kind };
    expect(await send(scene, { text: 'see **this**', media, replyTo: '1' })).toMatchObject({ status: 'sent' });
    expect(scene.api.sent[0]).toMatchObject({ method, text: 'see this', parseMode: 'HTML', file: { name: 'my _best_; report é.bin' } });
    expect(Buffer.compare(scene.api.sent[0]?.file?.bytes ?? Buffer.alloc(0), bytes)).toBe(0);
  });

  test('that is gone, or too large, leaves its text and a note', async () => {
    const scene = await openScene();
    const media = { path: '/nonexistent/x.png', name: 'x.png', mime: 'image/png', kind: 'image' as const };
    expect(await send(scene, { text: 'Here it is.', media })).toMatchObject({ status: 'sent' });
    expect(scene.api.sent[0]?.text).toMatch(/^Here it is\.\s+The file x\.png could not be sent/);
    const large = file('large.bin', Buffer.alloc(50 * 1024 * 1024 + 1));
    expect(await send(scene, { media: { path: large, name: 'large.bin', mime: 'application/zip', kind: 'file' } })).toMatchObject({ status: 'sent' });
    expect(scene.api.sent[1]?.text).toContain('larger than 50 MB');
  });

  test('that cannot be shown as a picture goes as a document', async () => {
    const scene = await openScene();
    scene.api.fail('sendPhoto', { status: 400, description: 'Bad Request: IMAGE_PROCESS_FAILED' });
    const media = { path: file('odd.png', 'odd'), name: 'odd.png', mime: 'image/png', kind: 'image' as const };
    expect(await send(scene, { text: 'odd', media })).toMatchObject({ status: 'sent' });
    expect(scene.api.sent.map(({ method }) => method)).toEqual(['sendDocument']);
  });

  test('with more text than a caption holds is followed by the text', async () => {
    const scene = await openScene();
    const media = { path: file('x.csv', '1;2'), name: 'x.csv', mime: 'text/csv', kind: 'file' as const };
    const text = 'long words '.repeat(150);
    expect(await send(scene, { text, media })).toEqual({ status: 'sent', messageId: '2' });
    expect(scene.api.sent.map(({ method, text: shown }) => [method, shown])).toEqual([
      ['sendDocument', ''],
      ['sendMessage', text.trim()],
    ]);
  });

  test('whose upload is cut may have arrived', async () => {
    const scene = await openScene();
    scene.api.fail('sendDocument', { dropAfter: true });
    const media = { path: file('x.csv', '1;2'), name: 'x.csv', mime: 'text/csv', kind: 'file' as const };
    expect(await send(scene, { media })).toMatchObject({ status: 'unknown' });
    expect(scene.api.sent).toHaveLength(1);
  });
});

describe('fetching a file', () => {
  const attachment = { kind: 'file' as const, ref: 'f1', name: 'f', mime: 'text/plain', size: null };

  test('works with the absolute path of a local Bot API server', async () => {
    const { api, adapter } = await openScene();
    api.addFile('f1', Buffer.from('hello'), { path: `/var/lib/telegram-bot-api/${api.token}/documents/a b.txt` });
    expect(Buffer.from((await adapter.download?.(attachment, 100, soon())) ?? []).toString()).toBe('hello');
  });

  test.each(['documents/../../../etc/passwd', ''])('a path like %j is not followed', async (path) => {
    const { api, adapter } = await openScene();
    api.addFile('f1', Buffer.from('hello'), { path });
    await expect(adapter.download?.(attachment, 100, soon())).rejects.toThrow('not usable');
    expect(api.callsOf('file')).toEqual([]);
  });

  test('a failure says why, without the token', async () => {
    const { api, adapter } = await openScene();
    await expect(adapter.download?.(attachment, 100, soon())).rejects.toThrow(/wrong file_id/);
    api.addFile('f1', Buffer.from('hello'));
    api.fail('file', { status: 500, body: api.token });
    api.fail('file', { dropBefore: true });
    for (const reason of [/HTTP 500/, /hang up|reset/i]) {
      const error = await adapter.download?.(attachment, 100, soon()).catch((thrown: unknown) => String(thrown));
      expect(error).toMatch(reason);
      expect(error).not.toContain(api.token);
    }
  });
});

test('a limit that typing meets is told, other failures are nothing', async () => {
  const scene = await openScene();
  scene.api.fail('sendChatAction', { retryAfter: 30 });
  expect(await scene.adapter.typing?.(dm, soon())).toEqual({ status: 'rate_limited', retryAfterMs: 30_000, scope: 'chat' });
  expect(await scene.adapter.typing?.(dm, soon())).toBe(undefined);
});
