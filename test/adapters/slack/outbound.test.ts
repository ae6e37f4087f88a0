/** What goes out: mrkdwn, threads, buttons, files; no mention that a model wrote takes effect; and whatever is refused still ends in something that people see. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { splitText } from '../../../adapters/slack/outbound.ts';
import type { OutboundPart } from '../../../src/contract/message.ts';
import type { SendOutcome } from '../../../src/contract/adapter.ts';
import { renderSlack } from '../../../src/lib/markdown/slack.ts';
import { tempHome } from '../../support/temp-home.ts';
import { waitFor } from '../../support/wait-for.ts';
import { alice, channel, dm, general, openScene, type Scene } from './scene.ts';

const soon = (): AbortSignal => AbortSignal.timeout(10_000);
const toPart = (part: Partial<OutboundPart>): OutboundPart => ({ address: dm, text: '', format: 'markdown', idempotencyKey: 'k', ...part });
const send = ({ adapter }: Scene, part: Partial<OutboundPart>) => adapter.send?.(toPart(part), soon());
const edit = ({ adapter }: Scene, messageId: string, part: Partial<OutboundPart>) => adapter.edit?.(messageId, toPart(part), soon());
const idOf = (outcome: SendOutcome | undefined): string => (outcome?.status === 'sent' ? outcome.messageId : '');

describe('a text', () => {
  test('goes as mrkdwn without previews of links, before the adapter was started', async () => {
    const scene = await openScene();
    expect(await send(scene, { text: '**bold** & <b>not</b> [here](https://example.org/?a=1&b=2)' })).toMatchObject({ status: 'sent' });
    expect(scene.api.sent[0]).toMatchObject({ raw: '*bold* &amp; &lt;b&gt;not&lt;/b&gt; <https://example.org/?a=1&amp;b=2|here>', unfurls: false, mrkdwn: true, channel: dm.chat });
  });

  test('that is plain goes as it is', async () => {
    const scene = await openScene();
    await send(scene, { text: '*as it is* <!here> & `x`', format: 'plain' });
    expect(scene.api.sent[0]).toMatchObject({ text: '*as it is* <!here> & `x`', mrkdwn: false });
    expect(scene.api.violations).toEqual([]);
  });

  test('goes to its thread; one to a thread that is gone fails for good, the channel does not count as gone', async () => {
    const scene = await openScene();
    const root = scene.api.channel(general).as(alice).says('question');
    await send(scene, { address: { ...channel, thread: root }, text: 'answer' });
    expect(scene.api.sent[0]).toMatchObject({ channel: general, thread: root });
    expect(await send(scene, { address: { ...channel, thread: '1.1' }, text: 'lost' })).toEqual({ status: 'permanent', error: 'Slack says thread_not_found' });
  });

  test('with nothing in it is refused without a call', async () => {
    const scene = await openScene();
    expect(await send(scene, { text: ' \n' })).toMatchObject({ status: 'permanent' });
    expect(scene.api.calls).toEqual([]);
  });

  test('given up by its caller ends at once, and may have arrived', async () => {
    const scene = await openScene();
    scene.api.fail('chat.postMessage', { hangMs: Number.POSITIVE_INFINITY });
    expect(await scene.adapter.send?.(toPart({ text: 'hello' }), AbortSignal.timeout(100))).toEqual({ status: 'unknown', error: 'no answer in time' });
    const stop = new AbortController();
    scene.api.fail('chat.postMessage', { hangMs: Number.POSITIVE_INFINITY });
    const outcome = scene.adapter.send?.(toPart({ text: 'hello' }), stop.signal);
    await waitFor('the call', () => scene.api.callsOf('chat.postMessage').length === 2);
    stop.abort();
    expect(await outcome).toMatchObject({ status: 'unknown' });
  });

  test('is tried once by us: no fault makes the SDK try again', async () => {
    const scene = await openScene();
    for (const fault of [{ status: 500 }, { retryAfter: 1 }, { dropAfter: true }, { dropBefore: true }, { error: 'internal_error' }]) {
      const before = scene.api.callsOf('chat.postMessage').length;
      scene.api.fail('chat.postMessage', { ...fault, times: 5 });
      await send(scene, { text: 'once' });
      scene.api.clearFaults();
      expect(scene.api.callsOf('chat.postMessage').length - before).toBe(1);
    }
  });
});

describe('a mention that a model wrote', () => {
  const names = ['<!channel>', '<!here>', '<!everyone>', '<!subteam^S012345>', '<!subteam^S012345|@devs>', '<@U0ALICE>', '<@U0ALICE|alice>', '<#C0GENERAL>', '<#C0GENERAL|x>', '<!here|here>', '<!date^1^x|y>', '@channel', '@here', '@everyone', '&lt;!channel&gt;', '<\u200b!channel>', '<!chan**nel**>'];
  const frames: ((name: string) => string)[] = [
    (name) => name,
    (name) => `hey ${name}, look`,
    (name) => `\`${name}\``,
    (name) => `\`\`\`\n${name}\n\`\`\``,
    (name) => `**${name}**`,
    (name) => `> ${name}`,
    (name) => `- ${name}`,
    (name) => `[${name}](https://example.org)`,
    (name) => `[x](${name})`,
    (name) => `[x](<https://a.b/${name}>)`,
    (name) => `[x](https://a.b|${name})`,
    (name) => `| a |\n|---|\n| ${name} |`,
    (name) => `\\${name}`,
  ];

  test.each(names)('%s takes no effect in a send, an edit, a button\'s text or a plain text', async (name) => {
    const scene = await openScene();
    const messageId = idOf(await send(scene, { text: 'draft' }));
    for (const frame of frames) {
      await send(scene, { text: frame(name) });
      await send(scene, { text: frame(name), format: 'plain' });
      await send(scene, { text: frame(name), buttons: [[{ label: name, value: 'y' }]] });
      await edit(scene, messageId, { text: frame(name) });
      await edit(scene, messageId, { text: frame(name), format: 'plain' });
    }
    expect(scene.api.sent).toHaveLength(1 + 3 * frames.length);
    expect(scene.api.violations).toEqual([]);
  });
});

describe('a long text', () => {
  test('is cut so that every part also fits an edit, whatever it is made of', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string({ unit: 'grapheme', maxLength: 40 }), fc.constantFrom('&<>&<>', '漢字仮名', '🙂👩‍👩‍👧', '**b** ', '\n\n', '`c`', ' ')), { minLength: 300, maxLength: 600 }), (words) => {
        for (const part of splitText(words.join(' '))) {
          expect(part.isWellFormed()).toBe(true);
          expect(Buffer.byteLength(renderSlack(part))).toBeLessThanOrEqual(3900);
        }
      }),
      { numRuns: 20 },
    );
  });

  test.each([
    ['signs that are escaped', '&<> '.repeat(4000)],
    ['letters of three bytes', '漢字'.repeat(4000)],
    ['one line of code', `\`\`\`\n${'x < y && z; '.repeat(1500)}\n\`\`\``],
  ])('%s: parts go out and can be edited in place', async (_, text) => {
    const scene = await openScene();
    const parts = splitText(text);
    expect(parts.length).toBeGreaterThan(2);
    for (const part of parts) {
      const messageId = idOf(await send(scene, { text: part }));
      expect(await edit(scene, messageId, { text: part })).toEqual({ status: 'sent', messageId });
    }
    expect(scene.api.violations).toEqual([]);
  });
});

describe('buttons', () => {
  const buttons = [[{ label: 'Yes', value: 'q:yes' }, { label: 'No', value: 'q:no' }], [{ label: `Always ${'very '.repeat(30)}sure`, value: 'q:always' }]];

  test('stand under the text, and an edit without them takes them away', async () => {
    const scene = await openScene();
    const messageId = idOf(await send(scene, { text: 'Run **rm**?', buttons }));
    expect(scene.api.sent[0]).toMatchObject({ text: 'Run *rm*?', buttons: [{ label: 'Yes', value: 'q:yes' }, { label: 'No', value: 'q:no' }, { value: 'q:always' }] });
    expect(scene.api.sent[0]?.blocks[0]).toEqual({ type: 'section', text: { type: 'mrkdwn', text: 'Run *rm*?', verbatim: true } });
    await edit(scene, messageId, { text: 'Run **rm**? Yes.' });
    expect(scene.api.sent[0]).toMatchObject({ text: 'Run *rm*? Yes.', buttons: [], blocks: [] });
  });

  test('under a text longer than a section', async () => {
    const scene = await openScene();
    const [text = ''] = splitText('some words. '.repeat(400));
    expect(text.length).toBeGreaterThan(3000);
    expect(await send(scene, { text, buttons })).toMatchObject({ status: 'sent' });
    const shown = scene.api.sent[0]?.blocks.flatMap((block) => (block['type'] === 'section' ? [(block['text'] as { text: string }).text] : [])).join(' ');
    expect(shown?.split(/\s+/)).toEqual(text.trim().split(/\s+/));
  });

  test('that are refused leave the text', async () => {
    const scene = await openScene();
    scene.api.fail('chat.postMessage', { error: 'invalid_blocks' });
    expect(await send(scene, { text: 'Sure?', buttons })).toMatchObject({ status: 'sent' });
    expect(scene.api.sent).toMatchObject([{ text: 'Sure?', buttons: [] }]);
    scene.api.fail('chat.update', { error: 'invalid_blocks_format' });
    expect(await edit(scene, scene.api.sent[0]?.ts ?? '', { text: 'Really?', buttons })).toMatchObject({ status: 'sent' });
    expect(scene.api.sent).toMatchObject([{ text: 'Really?', buttons: [] }]);
  });

  test('that are pressed come back with their value and the place of the question', async () => {
    const scene = await openScene();
    await scene.start();
    const root = scene.api.channel(general).as(alice).says(`${scene.api.mention} do it`);
    await send(scene, { address: { ...channel, thread: root }, text: 'Sure?', buttons });
    scene.api.channel(general).as(alice).presses('Yes');
    const press = await waitFor('the press', () => scene.received.find(({ kind }) => kind === 'button'));
    expect(press).toMatchObject({ chatType: 'thread', address: { ...channel, thread: root }, button: { value: 'q:yes' }, sender: { id: alice } });
  });
});

describe('outcomes', () => {
  const permanent = ['msg_too_long', 'no_text', 'invalid_arguments', 'missing_scope', 'as_user_not_supported', 'not_a_known_word', 'duplicate_channel_not_found', 'thread_not_found', 'ekm_access_denied'];
  const gone = ['channel_not_found', 'is_archived', 'not_in_channel', 'account_inactive', 'messages_tab_disabled', 'restricted_action', 'cannot_dm_bot'];
  const transient = ['internal_error', 'fatal_error', 'service_unavailable', 'request_timeout'];
  const editGone = ['message_not_found', 'edit_window_closed', 'cant_update_message'];
  const rows: [Parameters<Scene['api']['fail']>[1], object][] = [
    ...permanent.map((error): [{ error: string }, object] => [{ error }, { status: 'permanent', error: `Slack says ${error}` }]),
    ...gone.map((error): [{ error: string }, object] => [{ error }, { status: 'permanent', error: `Slack says ${error}`, targetGone: true }]),
    ...transient.map((error): [{ error: string }, object] => [{ error }, { status: 'transient', error: `Slack says ${error}` }]),
    [{ retryAfter: 30 }, { status: 'rate_limited', retryAfterMs: 30_000, scope: 'chat' }],
    [{ retryAfter: 0 }, { status: 'rate_limited', retryAfterMs: 0, scope: 'chat' }],
    [{ status: 429, retryAfter: null }, { status: 'rate_limited', retryAfterMs: 5000, scope: 'chat' }],
    [{ error: 'ratelimited' }, { status: 'rate_limited', retryAfterMs: 5000, scope: 'chat' }],
    [{ status: 500 }, { status: 'transient', error: 'Slack answers with HTTP 500' }],
    [{ status: 503, body: '<html>' }, { status: 'transient', error: 'Slack answers with HTTP 503' }],
    [{ status: 404, body: 'nothing here' }, { status: 'permanent', error: 'Slack answers with HTTP 404' }],
    [{ body: '<html>Welcome to the hotel</html>' }, { status: 'unknown', error: 'the answer is not from Slack' }],
    [{ body: '{"ok":true' }, { status: 'unknown', error: 'the answer is not from Slack' }],
    [{ body: '{"ok":true}' }, { status: 'unknown', error: 'Slack did not name the message' }],
    [{ dropBefore: true }, { status: 'unknown' }],
  ];

  test.each(rows)('a send that meets %o is %o', async (fault, outcome) => {
    const scene = await openScene();
    scene.api.fail('chat.postMessage', fault);
    expect(await send(scene, { text: 'hi' })).toMatchObject(outcome);
    expect(scene.api.sent).toEqual([]);
  });

  test.each(editGone)('an edit that meets %s is edit_gone, a send is not', async (error) => {
    const scene = await openScene();
    const messageId = idOf(await send(scene, { text: 'hi' }));
    scene.api.fail('*', { error, times: 2 });
    expect(await edit(scene, messageId, { text: 'ho' })).toEqual({ status: 'edit_gone', error: `Slack says ${error}` });
    expect(await send(scene, { text: 'ho' })).toMatchObject({ status: 'permanent' });
  });

  test('an edit is limited, refused and cut like a send', async () => {
    const scene = await openScene();
    const messageId = idOf(await send(scene, { text: 'hi' }));
    scene.api.fail('chat.update', { retryAfter: 7 });
    expect(await edit(scene, messageId, { text: 'ho' })).toEqual({ status: 'rate_limited', retryAfterMs: 7000, scope: 'chat' });
    scene.api.fail('chat.update', { dropAfter: true });
    expect(await edit(scene, messageId, { text: 'ho' })).toMatchObject({ status: 'unknown' });
    expect(scene.api.sent[0]?.text).toBe('ho');
  });
});

describe('small gestures', () => {
  test('a status is shown in threads alone, and where it was refused it is not tried again', async () => {
    const scene = await openScene();
    const root = scene.api.channel(general).as(alice).says('question');
    await scene.adapter.typing?.(dm, soon());
    await scene.adapter.typing?.({ ...channel, thread: root }, soon());
    expect([...scene.api.statuses]).toEqual([[`${general}:${root}`, 'is thinking...']]);
    scene.api.fail('assistant.threads.setStatus', { retryAfter: 1 });
    await scene.adapter.typing?.({ ...channel, thread: root }, soon());
    for (let round = 0; round < 3; round += 1) await scene.adapter.typing?.({ ...dm, thread: '1.1' }, soon());
    expect(scene.api.callsOf('assistant.threads.setStatus')).toHaveLength(3);
    scene.api.fail('assistant.threads.setStatus', { error: 'missing_scope' });
    for (let round = 0; round < 3; round += 1) await scene.adapter.typing?.({ ...channel, thread: root }, soon());
    expect(scene.api.callsOf('assistant.threads.setStatus')).toHaveLength(4);
  });

  test('a reaction takes the place of the one before, and a refused one disturbs nobody', async () => {
    const scene = await openScene();
    const ts = scene.api.dm(alice).says('hi');
    await scene.adapter.react?.(dm, ts, '👀', soon());
    expect(scene.api.message(dm.chat, ts)?.['bot_reactions']).toEqual(['eyes']);
    await scene.adapter.react?.(dm, ts, '👍', soon());
    expect(scene.api.message(dm.chat, ts)?.['bot_reactions']).toEqual(['+1']);
    await scene.adapter.react?.(dm, ts, '', soon());
    expect(scene.api.message(dm.chat, ts)?.['bot_reactions']).toEqual([]);
    const calls = scene.api.calls.length;
    await scene.adapter.react?.(dm, '13345224609.738474920.8088930838d', '👀', soon());
    await scene.adapter.react?.(dm, ts, '🧿', soon());
    expect(scene.api.calls).toHaveLength(calls);
    await scene.adapter.react?.(dm, '1.1', '👀', soon());
  });
});

describe('a file', () => {
  function file(name: string, bytes: Uint8Array | string): NonNullable<OutboundPart['media']> {
    const home = tempHome();
    mkdirSync(join(home, 'out'));
    writeFileSync(join(home, 'out', name), bytes);
    return { path: join(home, 'out', name), name, mime: 'text/csv', kind: 'file' };
  }

  test('goes whole, under its name, to its thread, with its caption; the token goes along to nobody but the Web API', async () => {
    const scene = await openScene();
    const root = scene.api.channel(general).as(alice).says('the report, please');
    const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => index % 251));
    const media = { ...file('x', bytes), name: 'my "best"; report é.bin' };
    expect(await send(scene, { address: { ...channel, thread: root }, text: 'see **this** <!here>', media })).toMatchObject({ status: 'sent' });
    expect(scene.api.sent[0]).toMatchObject({ channel: general, thread: root, text: 'see *this* <!here>' });
    expect(scene.api.sent[0]?.files[0]?.name).toBe('my "best"; report é.bin');
    expect(Buffer.compare(scene.api.sent[0]?.files[0]?.bytes ?? Buffer.alloc(0), bytes)).toBe(0);
    expect(scene.api.violations).toEqual([]);
  });

  test('whose text has a link is followed by the text, because a caption would show its preview', async () => {
    const scene = await openScene();
    expect(await send(scene, { text: 'from [here](https://example.org)', media: file('x.csv', '1;2') })).toMatchObject({ status: 'sent' });
    expect(scene.api.sent.map(({ text, files, unfurls }) => [text, files.length, unfurls])).toEqual([['', 1, false], ['from here', 0, false]]);
  });

  test('that is gone, too large, or refused leaves its text and a note', async () => {
    const scene = await openScene();
    expect(await send(scene, { text: 'Here it is.', media: { ...file('x', 'x'), path: '/nonexistent/x.png', name: 'x.png' } })).toMatchObject({ status: 'sent' });
    expect(scene.api.sent[0]?.text).toMatch(/^Here it is\.\s+The file x\.png could not be sent: it is gone/);
    expect(await send(scene, { media: file('large.bin', Buffer.alloc(100 * 1024 * 1024 + 1)) })).toMatchObject({ status: 'sent' });
    expect(scene.api.sent[1]?.text).toContain('larger than 100 MB');
    scene.api.fail('files.getUploadURLExternal', { error: 'missing_scope' });
    expect(await send(scene, { text: 'Here.', media: file('y.csv', '1') })).toMatchObject({ status: 'sent' });
    expect(scene.api.sent[2]?.text).toMatch(/^Here\.\s+The file y\.csv could not be sent: Slack says missing_scope/);
  });

  test('nobody has seen before the last call: faults until then may be tried again, later ones not blindly', async () => {
    const scene = await openScene();
    const media = file('x.csv', '1;2');
    for (const method of ['files.getUploadURLExternal', 'upload']) {
      scene.api.fail(method, { dropAfter: true });
      expect(await send(scene, { media })).toMatchObject({ status: 'transient' });
    }
    scene.api.fail('upload', { status: 500 });
    expect(await send(scene, { media })).toMatchObject({ status: 'transient' });
    scene.api.fail('files.completeUploadExternal', { retryAfter: 9 });
    expect(await send(scene, { media })).toMatchObject({ status: 'rate_limited', retryAfterMs: 9000 });
    expect(scene.api.sent).toEqual([]);
    scene.api.fail('files.completeUploadExternal', { dropAfter: true });
    expect(await send(scene, { media })).toMatchObject({ status: 'unknown' });
    expect(scene.api.sent).toHaveLength(1);
  });
});

describe('fetching a file', () => {
  const attachment = { kind: 'file' as const, ref: '', name: 'f', mime: 'text/plain', size: null };

  test('by the id that a shared channel gives instead of an address', async () => {
    const { api, adapter } = await openScene();
    api.addFile('F0X', Buffer.from('hello'));
    expect(Buffer.from((await adapter.download?.({ ...attachment, ref: 'F0X' }, 100, soon())) ?? []).toString()).toBe('hello');
    await expect(adapter.download?.({ ...attachment, ref: 'F0X' }, 4, soon())).rejects.toMatchObject({ code: 'ATTACHMENT_TOO_LARGE' });
    await expect(adapter.download?.({ ...attachment, ref: 'F0Y' }, 4, soon())).rejects.toThrow('Slack says file_not_found');
  });

  test.each(['https://HOST:PORT/files/x', 'http://HOST/files/x', 'http://localhost:PORT/x', 'http://evil.example/x', 'http://HOST:PORT@evil.example/x', 'http://HOST.evil.example:PORT/x'])('the token is not brought to %s', async (address) => {
    const { api, adapter } = await openScene();
    const ref = address.replace('HOST', '127.0.0.1').replace('PORT', new URL(api.url).port);
    await expect(adapter.download?.({ ...attachment, ref }, 100, soon())).rejects.toThrow(/not on Slack's host/);
    expect(api.calls).toEqual([]);
  });

  test('a sign-in page is not the file, and a fault says why without the token', async () => {
    const { api, adapter } = await openScene();
    const ref = api.addFile('F1', Buffer.from('hello'), { mimetype: 'text/plain' });
    api.fail('file', { body: `<html>Sign in ${api.botToken}</html>` });
    api.fail('file', { status: 500, body: api.botToken });
    api.fail('file', { dropBefore: true });
    for (const reason of [/files:read/, /HTTP 500/, /closed|hang up|reset/i]) {
      const error = await adapter.download?.({ ...attachment, ref }, 1000, soon()).catch((thrown: unknown) => String(thrown));
      expect(error).toMatch(reason);
      expect(error).not.toContain(api.botToken);
    }
    expect(Buffer.from((await adapter.download?.({ ...attachment, ref }, 100, soon())) ?? []).toString()).toBe('hello');
  });
});
