/** What goes out: replies, threads, buttons, files, what no text may do, and what each refusal of Discord's means. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isFileAddress } from '../../../adapters/discord/api.ts';
import { splitText, toNonce, toPlain } from '../../../adapters/discord/outbound.ts';
import type { Address, OutboundPart } from '../../../src/contract/message.ts';
import { renderDiscord } from '../../../src/lib/markdown/discord.ts';
import { tempHome } from '../../support/temp-home.ts';
import { openScene, type Scene } from './scene.ts';

const soon = (): AbortSignal => AbortSignal.timeout(10_000);
let parts = 0;
const toPart = (address: Address, part: Partial<OutboundPart>): OutboundPart => ({ address, text: '', format: 'markdown', idempotencyKey: `out-${(parts += 1)}`, ...part });
const send = (scene: Scene, part: Partial<OutboundPart>) => scene.adapter.send?.(toPart(scene.addressOf(scene.dm), part), soon());
const edit = (scene: Scene, messageId: string, part: Partial<OutboundPart>) => scene.adapter.edit?.(messageId, toPart(scene.addressOf(scene.dm), part), soon());
const idOf = (outcome: Awaited<ReturnType<typeof send>>): string => (outcome?.status === 'sent' ? outcome.messageId : '');

describe('a text', () => {
  test('goes as Markdown, pings nobody and unfolds no link, before the adapter was started and after an edit', async () => {
    const scene = await openScene();
    const { api } = scene;
    const role = api.guild().role('everybody');
    const hostile = `@everyone @here <@&${role}> <@${api.user('Bob').id}> **bold** https://example.org`;
    const id = idOf(await send(scene, { text: hostile }));
    expect(api.sent).toMatchObject([{ id, content: hostile, pinged: [], embedsSuppressed: true }]);
    await edit(scene, id, { text: `${hostile} again` });
    expect(api.sent).toMatchObject([{ content: `${hostile} again`, edits: [hostile], pinged: [], embedsSuppressed: true }]);
    const said = { parse: [], replied_user: true };
    expect(api.calls.map(({ body }) => [body['allowed_mentions'], body['flags']])).toEqual([[said, 4], [said, 4]]);
  });

  test('that is plain is shown letter by letter, or as it is where that would be too long', async () => {
    const scene = await openScene();
    await send(scene, { text: 'cron * * * with_underscores _and_ `code`\n# no title\n> no quote\n- a list', format: 'plain' });
    expect(scene.api.sent[0]?.content).toBe('cron \\* \\* \\* with_underscores \\_and\\_ \\`code\\`\n\\# no title\n\\> no quote\n- a list');
    expect(toPlain('Plugins (1):\n  ✓ calculator v1.0.0 (2 tools, 1 hooks)')).toBe('Plugins (1):\n  ✓ calculator v1.0.0 (2 tools, 1 hooks)');
    expect(toPlain('*'.repeat(2000))).toBe('*'.repeat(2000));
  });

  test('answers a message, or stands alone when that one is gone or may not be quoted', async () => {
    const scene = await openScene();
    const { api, alice, general } = scene;
    const address = scene.addressOf(general);
    const question = alice.says('question');
    await send(scene, { address, text: 'one', replyTo: question });
    expect(api.sent[0]).toMatchObject({ replyTo: question, pinged: [api.user('Alice').id] });
    alice.deletes(question);
    expect(await send(scene, { address, text: 'two', replyTo: question })).toMatchObject({ status: 'sent' });
    api.fail('send', { status: 400, code: 160002, message: 'Cannot reply without permission to read message history' });
    expect(await send(scene, { address, text: 'three', replyTo: question })).toMatchObject({ status: 'sent' });
    expect(api.sent.map(({ content, replyTo }) => [content, replyTo])).toEqual([['one', question], ['two', undefined], ['three', undefined]]);
  });

  test('with nothing in it is refused without a call', async () => {
    const scene = await openScene();
    expect(await send(scene, { text: ' \n' })).toMatchObject({ status: 'permanent' });
    expect(scene.api.calls).toEqual([]);
  });

  test('is cut into messages that Discord takes, whatever it holds', async () => {
    const piece = fc.oneof(fc.constantFrom('word ', '\n\n', '🙂', '**bold** ', '`code` ', '```js\nconst a = 1;\n```\n', '| a | b |\n|---|---|\n| 1 | 2 |\n\n', 'https://example.org/a ', '> quote\n'), fc.string({ maxLength: 30, unit: 'grapheme' }));
    fc.assert(
      fc.property(fc.array(piece, { minLength: 100, maxLength: 400 }), (pieces) => {
        for (const part of splitText(pieces.join(''))) expect([...renderDiscord(part)].length).toBeLessThanOrEqual(2000);
      }),
      { numRuns: 40 },
    );
  });
});

describe('the nonce', () => {
  test('makes a repeated send give the first message', async () => {
    const scene = await openScene();
    scene.api.fail('send', { dropAfter: true });
    const part = { text: 'once', idempotencyKey: 'hg1' };
    expect(await send(scene, part)).toMatchObject({ status: 'unknown' });
    const again = await send(scene, part);
    expect(again).toEqual({ status: 'sent', messageId: scene.api.sent[0]?.id });
    expect(scene.api.sent).toHaveLength(1);
    expect(scene.api.callsOf('send').map(({ body }) => [body['enforce_nonce'], body['nonce'] === scene.api.sent[0]?.nonce])).toEqual([[true, true], [true, true]]);
  });

  test('of a preview whose sending was not noticed leads to the final text all the same', async () => {
    const scene = await openScene();
    scene.api.fail('send', { dropAfter: true });
    await send(scene, { text: 'half an ans', idempotencyKey: 'hg2' });
    expect(await send(scene, { text: 'half an answer is an answer', idempotencyKey: 'hg2' })).toMatchObject({ status: 'sent' });
    expect(scene.api.sent.map(({ content }) => content)).toEqual(['half an answer is an answer']);
  });

  test.each(['the same text', 'another text'])('of a message that somebody deleted is not used again: %s', async (final) => {
    const scene = await openScene();
    const id = idOf(await send(scene, { text: 'the same text', idempotencyKey: 'hg3' }));
    scene.dm.deletes(id);
    expect(await edit(scene, id, { text: final, idempotencyKey: 'hg3' })).toMatchObject({ status: 'edit_gone' });
    expect(await send(scene, { text: final, idempotencyKey: 'hg3' })).toMatchObject({ status: 'sent' });
    expect(scene.api.sent.map(({ content }) => content)).toEqual([final]);
  });

  test('differs between two homes, and is never too long', async () => {
    const nonces = new Set<string>();
    for (let home = 0; home < 2; home += 1) {
      const scene = await openScene();
      await send(scene, { text: 'hi', idempotencyKey: 'hg1' });
      nonces.add(String(scene.api.sent[0]?.nonce));
      await scene.restart();
      await send(scene, { text: 'hi', idempotencyKey: 'hg1' });
      expect(scene.api.sent).toHaveLength(1);
    }
    expect(nonces.size).toBe(2);
    fc.assert(fc.property(fc.string({ maxLength: 25 }), fc.boolean(), (key, isRenewed) => toNonce('0123abcd', key, isRenewed).length <= 25));
  });
});

describe('what a refusal means', () => {
  test.each([
    [{ status: 404, code: 10003 }, { status: 'permanent', targetGone: true }],
    [{ status: 403, code: 50001 }, { status: 'permanent', targetGone: true }],
    [{ status: 403, code: 50013 }, { status: 'permanent', targetGone: true }],
    [{ status: 403, code: 50007 }, { status: 'permanent', targetGone: true }],
    [{ status: 403, code: 160005 }, { status: 'permanent', targetGone: true }],
    [{ status: 400, code: 50035 }, { status: 'permanent' }],
    [{ status: 401, code: 0 }, { status: 'permanent' }],
    [{ status: 404, body: '<html>' }, { status: 'permanent' }],
    [{ status: 400, body: 'null' }, { status: 'permanent' }],
    [{ status: 408 }, { status: 'transient' }],
    [{ status: 500 }, { status: 'transient' }],
    [{ status: 503, body: 'upstream connect error' }, { status: 'transient' }],
    [{ body: '<html>a portal</html>' }, { status: 'unknown' }],
    [{ body: '{"id":' }, { status: 'unknown' }],
    [{ dropBefore: true }, { status: 'unknown' }],
    [{ retryAfter: 0.3 }, { status: 'rate_limited', retryAfterMs: 1000, scope: 'chat' }],
    [{ retryAfter: 33, scope: 'shared' as const }, { status: 'rate_limited', retryAfterMs: 33_000, scope: 'chat' }],
    [{ retryAfter: 6000, scope: 'global' as const }, { status: 'rate_limited', retryAfterMs: 6_000_000, scope: 'bot' }],
    [{ retryAfter: 600, body: 'error code: 1015' }, { status: 'rate_limited', retryAfterMs: 600_000, scope: 'bot' }],
  ])('%j is %o', async (fault, outcome) => {
    const scene = await openScene();
    scene.api.fail('send', fault);
    expect(await send(scene, { text: 'hi' })).toMatchObject(outcome);
    // One try is one call, and the next one goes out as if nothing had been.
    expect(scene.api.callsOf('send')).toHaveLength(1);
    expect(await send(scene, { text: 'after' })).toMatchObject({ status: 'sent' });
  });

  test('an empty bucket is known from the last answer, and no call is made for it', async () => {
    const scene = await openScene();
    scene.api.limitMessages(2, 60_000);
    await send(scene, { text: 'one' });
    await send(scene, { text: 'two' });
    const third = await send(scene, { text: 'three' });
    expect(third).toMatchObject({ status: 'rate_limited', scope: 'chat' });
    expect(third?.status === 'rate_limited' ? third.retryAfterMs : 0).toBeGreaterThan(55_000);
    expect(scene.api.callsOf('send')).toHaveLength(2);
    expect(await send(scene, { address: scene.addressOf(scene.general), text: 'elsewhere' })).toMatchObject({ status: 'sent' });
  });

  test('a message that cannot be edited any more is told apart, in an archived thread too', async () => {
    const scene = await openScene();
    const { api, general } = scene;
    const thread = api.guild().thread(general, 'old', api.user('Bob'));
    const address = { ...scene.addressOf(general), thread: thread.id };
    const id = idOf(await send(scene, { address, text: 'draft' }));
    api.setThread(thread.id, { archived: true });
    expect(await edit(scene, id, { address, text: 'final' })).toMatchObject({ status: 'edit_gone' });
    expect(await send(scene, { address, text: 'final' })).toMatchObject({ status: 'sent' });
    api.setThread(thread.id, { locked: true });
    expect(await send(scene, { address, text: 'too late' })).toMatchObject({ status: 'permanent', targetGone: true });
    expect(await edit(scene, id, { address: scene.addressOf(general), text: 'elsewhere' })).toMatchObject({ status: 'edit_gone' });
    api.fail('edit', { status: 500 });
    expect(await edit(scene, id, { address, text: 'x' })).toMatchObject({ status: 'transient' });
    api.fail('edit', { retryAfter: 2 });
    expect(await edit(scene, id, { address, text: 'x' })).toMatchObject({ status: 'rate_limited' });
  });

  test('given up by its caller ends at once, and may have arrived', async () => {
    const scene = await openScene();
    scene.api.fail('send', { hang: true });
    const outcome = scene.adapter.send?.(toPart(scene.addressOf(scene.dm), { text: 'hello' }), AbortSignal.timeout(100));
    expect(await outcome).toMatchObject({ status: 'unknown', error: expect.stringContaining('given up') });
  });
});

describe('small gestures', () => {
  test('typing and reactions, whose failure disturbs nobody', async () => {
    const scene = await openScene();
    const { api, adapter, dm } = scene;
    const address = scene.addressOf(dm);
    const message = dm.says('hi');
    await adapter.typing?.(address, soon());
    await adapter.react?.(address, message, '👀', soon());
    expect(api.typing).toEqual([dm.channel]);
    expect(api.callsOf('react')[0]?.path).toContain(`/messages/${message}/reactions/${encodeURIComponent('👀')}/@me`);
    const ours = idOf(await send(scene, { text: 'mine' }));
    await adapter.react?.(address, ours, '👍', soon());
    await adapter.react?.(address, ours, '', soon());
    expect(api.callsOf('unreact')[0]?.path).toContain(encodeURIComponent('👍'));
    api.closeChannel(dm.channel, 50007);
    await adapter.typing?.(address, soon());
    await adapter.react?.(address, '1', '🧿', soon());
  });

  test('more buttons than a row holds go into the next one, labels are cut', async () => {
    const scene = await openScene();
    const row = Array.from({ length: 7 }, (_, index) => ({ label: `Choice ${index} ${'x'.repeat(90)}`, value: `v${index}` }));
    expect(await send(scene, { text: 'which?', buttons: [row] })).toMatchObject({ status: 'sent' });
    expect(scene.api.sent[0]?.buttons.map((buttons) => buttons.length)).toEqual([5, 2]);
    expect(scene.api.sent[0]?.buttons[0]?.[0]?.label).toHaveLength(80);
  });
});

describe('a file', () => {
  function file(name: string, bytes: Uint8Array | string): string {
    const home = tempHome();
    mkdirSync(join(home, 'out'));
    writeFileSync(join(home, 'out', name), bytes);
    return join(home, 'out', name);
  }

  test('goes whole, under its name, with its text, and answers', async () => {
    const scene = await openScene();
    const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => index % 251));
    const question = scene.dm.says('file?');
    const media = { path: file('x', bytes), name: 'report; é.bin', mime: 'application/zip', kind: 'file' as const };
    expect(await send(scene, { text: 'see **this**', media, replyTo: question })).toMatchObject({ status: 'sent' });
    expect(scene.api.sent[0]).toMatchObject({ content: 'see **this**', replyTo: question, embedsSuppressed: true, pinged: [scene.api.user('Alice').id], files: [{ name: 'report; é.bin' }] });
    expect(Buffer.compare(scene.api.sent[0]?.files[0]?.bytes ?? Buffer.alloc(0), bytes)).toBe(0);
    expect(await send(scene, { media })).toMatchObject({ status: 'sent' });
  });

  test('that is gone, too large, or refused for its size leaves its text and a note', async () => {
    const scene = await openScene();
    const media = { path: '/nonexistent/x.png', name: 'x.png', mime: 'image/png', kind: 'image' as const };
    await send(scene, { text: 'Here it is.', media });
    await send(scene, { media: { ...media, path: file('large.bin', Buffer.alloc(10 * 1024 * 1024 + 1)), name: 'large.bin' } });
    scene.api.fail('send', { status: 413, code: 40005, message: 'Request entity too large' });
    await send(scene, { media: { ...media, path: file('small.bin', 'x'), name: 'small.bin' } });
    expect(scene.api.sent.map(({ content }) => content)).toEqual([
      'Here it is.\n\nThe file x.png could not be sent: it is gone or empty.',
      'The file large.bin could not be sent: it is larger than 10 MB.',
      'The file small.bin could not be sent: Discord takes no file of this size here.',
    ]);
  });

  test('whose upload is cut may have arrived, and is not sent twice', async () => {
    const scene = await openScene();
    scene.api.fail('send', { dropAfter: true });
    const part = { media: { path: file('x.csv', '1;2'), name: 'x.csv', mime: 'text/csv', kind: 'file' as const }, idempotencyKey: 'hg9' };
    expect(await send(scene, part)).toMatchObject({ status: 'unknown' });
    expect(await send(scene, part)).toMatchObject({ status: 'sent' });
    expect(scene.api.sent).toHaveLength(1);
  });
});

describe('fetching a file', () => {
  const attachment = { kind: 'file' as const, name: 'f', mime: 'text/plain', size: null };

  test('works, and a failure says why without the token', async () => {
    const { api, adapter } = await openScene();
    const ref = api.addFile('a b.txt', Buffer.from('hello'));
    expect(Buffer.from((await adapter.download?.({ ...attachment, ref }, 100, soon())) ?? []).toString()).toBe('hello');
    expect(api.callsOf('file')).toHaveLength(1);
    api.fail('file', { status: 500, body: api.token });
    api.fail('file', { dropBefore: true });
    for (const reason of [/HTTP 500/, /hang up|reset/i]) {
      const error = await adapter.download?.({ ...attachment, ref }, 100, soon()).catch((thrown: unknown) => String(thrown));
      expect(error).toMatch(reason);
      expect(error).not.toContain(api.token);
    }
  });

  test('takes nothing from anywhere but Discord', async () => {
    const { api, adapter } = await openScene();
    const elsewhere = api.addFile('x', Buffer.from('x')).replace('127.0.0.1', 'localhost');
    await expect(adapter.download?.({ ...attachment, ref: elsewhere }, 100, soon())).rejects.toThrow('not one of Discord');
    expect(api.callsOf('file')).toEqual([]);
    const real = 'https://discord.com/api';
    expect(['https://cdn.discordapp.com/a', 'https://media.discordapp.net/a?b=1'].every((url) => isFileAddress(url, real))).toBe(true);
    expect(isFileAddress('https://cdn.discordapp.com/a', api.url)).toBe(true);
    const others = ['http://cdn.discordapp.com/a', 'https://discordapp.com.evil.org/', 'https://evil.org/?cdn.discordapp.com', 'https://cdn.discordapp.com@evil.org/', 'file:///etc/passwd', 'https://127.0.0.1/', 'x'];
    expect(others.filter((url) => isFileAddress(url, real))).toEqual([]);
  });
});
