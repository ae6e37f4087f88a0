/** Threads that mentions open, slash commands, buttons, and what a stranger sees of them: nothing but a refusal of his own. */
import { describe, expect, test } from 'vitest';
import { toSlashCommands } from '../../../adapters/discord/menu.ts';
import type { Receipt } from '../../../src/contract/adapter.ts';
import type { OutboundPart } from '../../../src/contract/message.ts';
import { waitFor } from '../../support/wait-for.ts';
import { openScene, type Scene } from './scene.ts';

const soon = (): AbortSignal => AbortSignal.timeout(5000);
const refused = async (): Promise<Receipt> => ({ status: 'refused', reason: 'not_allowed' });
let parts = 0;
const send = ({ adapter }: Scene, part: Partial<OutboundPart> & Pick<OutboundPart, 'address'>) => adapter.send?.({ text: 'here', format: 'markdown', idempotencyKey: `talk-${(parts += 1)}`, ...part }, soon());

describe('a mention in a channel', () => {
  const threads = { settings: { auto_thread: true } };

  test('opens a thread, in which the conversation goes on without mentions', async () => {
    const scene = await openScene(threads);
    const { api, start, hears, alice } = scene;
    await start();
    const question = alice.says('<@bot> what is\nnew?');
    const message = await hears('what is\nnew?');
    const address = { ...scene.addressOf(scene.general), thread: question };
    expect(message).toMatchObject({ key: `message:${question}`, address, chatType: 'thread', parentChat: scene.general.id, addressed: true });
    expect(api.callsOf('thread')[0]?.body).toEqual({ name: 'what is new?', auto_archive_duration: 1440 });
    await send(scene, { address, text: 'nothing', replyTo: question });
    expect(api.sent).toMatchObject([{ channel: question, content: 'nothing' }]);
    expect(api.sent[0]?.replyTo).toBeUndefined();
    await scene.adapter.typing?.(address, soon());
    expect(api.typing).toEqual([question]);
    await scene.adapter.react?.(address, question, '👀', soon());
    expect(api.callsOf('react')[0]?.path).toContain(`/channels/${scene.general.id}/messages/${question}/`);

    api.channel(question).as(api.user('Bob')).says('and now?');
    expect(await hears('and now?')).toMatchObject({ address, chatType: 'thread', addressed: true, sender: { name: 'Bob' } });
    // A restart knows the thread from the server, and asks what was said in it.
    await scene.adapter.stop();
    api.channel(question).as(api.user('Bob')).says('meanwhile');
    await scene.restart();
    expect(await hears('meanwhile')).toMatchObject({ address, addressed: true });
    expect(api.callsOf('thread')).toHaveLength(1);
  });

  test('leads to the same thread when the event comes again', async () => {
    const { api, start, restart, adapter, hears, received, alice, context } = await openScene(threads);
    await start();
    alice.says('<@bot> one');
    const first = await hears('one');
    api.gateway.repeat();
    alice.says('two');
    await hears('two');
    // The program died after the thread was opened and before the id was kept.
    await adapter.stop();
    for (const key of context.stored.keys()) if (key.startsWith('seen:')) context.stored.set(key, `${alice.channel} 1 talk ${api.guild().id}`);
    await restart();
    await waitFor('it to come again', () => received.filter(({ text }) => text === 'one').length === 2);
    expect(received.filter(({ text }) => text === 'one').map(({ key, address }) => ({ key, address }))).toEqual([first, first].map(({ key, address }) => ({ key, address })));
    expect(api.callsOf('thread')).toHaveLength(1);
  });

  test('is answered in the channel where no thread can be opened', async () => {
    const scene = await openScene(threads);
    scene.api.fail('thread', { status: 403, code: 50013, message: 'Missing Permissions' });
    await scene.start();
    scene.alice.says('<@bot> hello');
    expect(await scene.hears('hello')).toMatchObject({ address: scene.addressOf(scene.general), chatType: 'group' });
    expect((await scene.hears('hello')).address.thread).toBeUndefined();
  });

  test.each([
    ['a reply to the bot', async ({ alice, addressOf, general, ...scene }: Scene) => {
      await send({ alice, addressOf, general, ...scene }, { address: addressOf(general) });
      alice.says('text', { replyTo: scene.api.sent[0]?.id ?? '' });
    }],
    ['a message without a mention', async ({ alice }: Scene) => void alice.says('text')],
    ['a command', async ({ alice }: Scene) => void alice.says('<@bot> /new')],
    ['another bot', async ({ api, general }: Scene) => void general.as(api.user('Robot', { bot: true })).says('<@bot> text')],
    ['a voice channel', async ({ api }: Scene) => void api.guild().channel('lounge', 2).as(api.user('Alice')).says('<@bot> text')],
    ['a thread', async ({ api, general }: Scene) => void api.guild().thread(general, 'x', api.user('Bob')).as(api.user('Alice')).says('<@bot> text')],
    ['a direct chat', async ({ dm }: Scene) => void dm.says('<@bot> text')],
  ])('%s opens none', async (_what, act) => {
    const scene = await openScene(threads);
    await scene.start();
    await act({ ...scene, adapter: scene.adapter });
    await waitFor('it', () => scene.received.length === 1);
    expect(scene.api.callsOf('thread')).toEqual([]);
  });

  test('by somebody who is not allowed opens none', async () => {
    const { api, start, hears, alice } = await openScene({ ...threads, given: { isAllowed: false } });
    await start(refused);
    alice.says('<@bot> let me in');
    expect(await hears('let me in')).toMatchObject({ chatType: 'group' });
    expect(api.callsOf('thread')).toEqual([]);
  });

  test('a post in a forum is answered in its own thread', async () => {
    const { api, start, hears } = await openScene(threads);
    await start();
    const forum = api.guild().channel('questions', 15);
    const post = api.guild().thread(forum, 'help', api.user('Bob'));
    post.as(api.user('Bob')).says('<@bot> how?');
    expect(await hears('how?')).toMatchObject({ address: { chat: forum.id, thread: post.id }, chatType: 'thread', addressed: true });
  });
});

describe('a slash command', () => {
  test('is a message like any other; "thinking" is shown to whoever asked until the answer is there', async () => {
    const scene = await openScene();
    const { api, start, hears, alice, general, addressOf } = scene;
    await start();
    const id = alice.uses('model', 'big one');
    expect(await hears('/model big one')).toMatchObject({ key: `interaction:${id}`, kind: 'message', addressed: true, messageId: id, address: addressOf(general), sender: { name: 'Alice', roles: [] } });
    await waitFor('the deferral', () => api.response(id));
    expect(api.response(id)).toEqual({ type: 5, data: { flags: 64 }, isDeleted: false });
    await send(scene, { address: addressOf(scene.dm) });
    expect(api.response(id)?.isDeleted).toBe(false);
    expect(await send(scene, { address: addressOf(general), replyTo: id, text: 'big one' })).toMatchObject({ status: 'sent' });
    await waitFor('"thinking" to be gone', () => api.response(id)?.isDeleted);
    expect(api.sent.at(-1)).toMatchObject({ channel: general.id, content: 'big one' });
  });

  test('whose answer is quicker than Discord leaves no "thinking" behind', async () => {
    const scene = await openScene();
    await scene.start(async () => {
      await send(scene, { address: scene.addressOf(scene.dm), text: 'at once' });
      return { status: 'accepted', id: 1 };
    });
    const id = scene.dm.uses('status');
    await waitFor('"thinking" to be gone', () => scene.api.response(id)?.isDeleted);
  });

  test('that nobody answered is put away when the program stops', async () => {
    const { api, adapter, start, dm, hears } = await openScene();
    await start();
    const id = dm.uses('queue', 'later');
    await hears('/queue later');
    await waitFor('the deferral', () => api.response(id));
    await adapter.stop();
    expect(api.response(id)?.isDeleted).toBe(true);
  });

  test('of a stranger gets a refusal that he alone sees and that says nothing', async () => {
    const { api, start, alice } = await openScene({ given: { isAllowed: false } });
    await start(refused);
    const id = alice.uses('status');
    await waitFor('the refusal', () => api.response(id));
    expect(api.response(id)).toEqual({ type: 4, data: { content: 'You cannot do this here.', flags: 64, allowed_mentions: { parse: [] } }, isDeleted: false });
    expect(api.sent).toEqual([]);
  });

  test('is answered at once although its channel waits for something else', async () => {
    const { api, start, alice } = await openScene({ settings: { auto_thread: true } });
    await start();
    api.fail('thread', { hang: true });
    alice.says('<@bot> hello');
    await waitFor('the thread to be asked for', () => api.callsOf('thread').length === 1);
    const id = alice.uses('stop');
    await waitFor('the deferral', () => api.response(id));
  });

  test('is offered only when the list has changed', async () => {
    const commands = [
      { name: 'new', description: 'start over' },
      { name: 'my-skill', description: '' },
      { name: 'UPPER', description: 'x'.repeat(300) },
      { name: 'no spaces', description: 'left out' },
      { name: 'y'.repeat(33), description: 'left out' },
    ];
    const { api, adapter, start, context } = await openScene({ given: { commands } });
    await start();
    await waitFor('the commands', () => api.commands.length > 0);
    const args = { type: 3, name: 'args', description: 'what follows the command', required: false };
    expect(api.commands).toEqual([
      { name: 'new', description: 'start over', options: [args] },
      { name: 'my-skill', description: 'my-skill', options: [args] },
      { name: 'upper', description: `${'x'.repeat(98)}…`, options: [args] },
    ]);
    await waitFor('it to be remembered', () => [...context.stored.keys()].some((key) => key.startsWith('menu:')));
    await adapter.stop();
    await start();
    await adapter.stop();
    commands.push({ name: 'help', description: 'help' });
    await start();
    await waitFor('the new list', () => api.commands.length === 4);
    expect(api.callsOf('commands')).toHaveLength(2);
    expect(toSlashCommands(Array.from({ length: 150 }, (_, index) => ({ name: `c${index}`, description: 'x' })))).toHaveLength(100);
  });

  test('list that is refused stops nothing', async () => {
    const { api, start, hears, dm, context } = await openScene({ given: { commands: [{ name: 'new', description: 'start over' }] } });
    api.fail('commands', { retryAfter: 3000 });
    await start();
    dm.says('hello');
    await hears('hello');
    await waitFor('the warning', () => context.lines.some((line) => line.includes('slash commands were not set')));
  });
});

describe('a button', () => {
  const buttons = [[{ label: 'Yes', value: 'v:yes' }, { label: 'No', value: 'v:no' }]];

  test.each([
    ['not_allowed', 'You cannot do this here.'],
    ['not_yours', 'This question is somebody else\'s to answer.'],
    ['unsupported', 'This question is closed.'],
  ] as const)('that does nothing (%s) says so to the one who pressed it', async (reason, content) => {
    const scene = await openScene();
    await scene.start(async () => ({ status: 'refused', reason }));
    await scene.adapter.send?.({ address: scene.addressOf(scene.dm), text: 'Sure?', format: 'plain', idempotencyKey: 'k', buttons: [[{ label: 'Yes', value: 'yes' }]] }, AbortSignal.timeout(5000));
    const press = scene.dm.presses('Yes');
    await waitFor('the refusal', () => scene.api.response(press));
    expect(scene.api.response(press)).toMatchObject({ type: 4, data: { content, flags: 64 } });
  });

  test('that is pressed is told to the gateway, then acknowledged; an edit without buttons takes them away', async () => {
    const scene = await openScene();
    const { api, start, received, dm, addressOf } = scene;
    await start();
    const sent = await send(scene, { address: addressOf(dm), text: 'Sure?', buttons });
    const messageId = sent?.status === 'sent' ? sent.messageId : '';
    const press = dm.presses('Yes');
    await waitFor('the acknowledgement', () => api.response(press));
    expect(api.response(press)?.type).toBe(6);
    expect(received[0]).toMatchObject({ kind: 'button', button: { value: 'v:yes' }, messageId, address: addressOf(dm), sender: { name: 'Alice' } });
    await scene.adapter.edit?.(messageId, { address: addressOf(dm), text: 'Sure? Yes.', format: 'markdown', idempotencyKey: 'x' }, soon());
    expect(api.sent[0]).toMatchObject({ content: 'Sure? Yes.', buttons: [] });
  });

  test('that is not for whoever pressed it gets a refusal that he alone sees', async () => {
    const scene = await openScene();
    await scene.start(refused);
    await send(scene, { address: scene.addressOf(scene.general), text: 'Sure?', buttons });
    const press = scene.general.as(scene.api.user('Mallory')).presses('No');
    await waitFor('the refusal', () => scene.api.response(press));
    expect(scene.api.response(press)).toMatchObject({ type: 4, data: { flags: 64 } });
  });
});

test('the token of an interaction is in no line of the log', async () => {
  const { api, start, dm, hears, context } = await openScene();
  await start();
  api.fail('callback', { status: 404, code: 10062, message: 'Unknown interaction {path}' });
  const id = dm.uses('status');
  await hears('/status');
  await waitFor('the line', () => context.lines.some((line) => line.includes('was not answered')));
  expect(context.lines.join()).toContain(`/interactions/${id}/[token]`);
  expect(context.lines.join()).not.toContain(`token-${id}`);
});
