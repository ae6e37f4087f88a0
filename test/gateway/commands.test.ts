/** Commands in a chat: what each does, to whom it belongs, that it happens once, and that /stop works whatever is going on. */
import { describe, expect, test } from 'vitest';
import { lastUserText } from '../support/openai-api.ts';
import { waitFor } from '../support/wait-for.ts';
import { createBarrier, deskTool, openDesk, platform, type Desk, type Person } from './desk.ts';

const roles = ({ model }: Desk, request = model.requests.length - 1) => model.requests[request]?.body.messages.map(({ role }) => role).join(' ');

async function converse(person: Person, ...texts: string[]): Promise<void> {
  for (const text of texts) {
    await person.says(text);
    await person.shouldSee(`answer to ${text}`);
  }
}

describe('the conversation', () => {
  test('/new begins another one; finalize and reset are told in this order', async () => {
    const told: unknown[] = [];
    const desk = await openDesk({
      before({ hooks }) {
        for (const name of ['on_session_finalize', 'on_session_reset', 'on_session_start'] as const)
          hooks.add('watcher', name, (payload) => void told.push([name, 'old_session_id' in payload && payload['old_session_id'] !== payload['session_id'], payload['session_id']]));
      },
    });
    const ann = desk.person('ann');
    await converse(ann, 'one');
    await ann.says('/new');
    await ann.shouldSee('A new conversation begins.');
    await converse(ann, 'two');
    expect(roles(desk)).toBe('system user');
    const [fresh, old] = desk.core.store.sessions.list({ limit: 2 }).map(({ id }) => id);
    expect(told).toEqual([
      ['on_session_start', false, old],
      ['on_session_finalize', false, old],
      ['on_session_reset', true, fresh],
      ['on_session_start', false, fresh],
    ]);
  });

  test('B11 a command that is delivered again happens once', async () => {
    const desk = await openDesk();
    const ann = desk.person('ann');
    await converse(ann, 'one', 'two', 'three');
    const undo = ann.message('/undo');
    for (let time = 0; time < 3; time++) await ann.says('/undo', undo);
    await ann.shouldSee('Forgotten: "three".');
    const again = await desk.restart();
    expect(await again.core.gateway.receive(undo)).toMatchObject({ status: 'duplicate' });
    await converse(again.person('ann'), 'four');
    expect(again.model.requests.at(-1)?.body.messages.filter(({ role }) => role === 'user').map(({ content }) => content)).toEqual(['one', 'two', 'four']);
  });

  test('/retry answers the last message again as if for the first time; /undo forgets it', async () => {
    const desk = await openDesk();
    const ann = desk.person('ann');
    await converse(ann, 'one', 'two');
    await ann.says('/retry');
    await waitFor('a third answer', () => ann.seen().length === 3);
    expect(lastUserText(desk.model.requests[2] ?? desk.model.requests[0] ?? ({} as never))).toBe('two');
    expect(roles(desk)).toBe('system user assistant user');
    await ann.says('/undo');
    await ann.shouldSee('Forgotten: "two".');
    await ann.says('/undo');
    await ann.shouldSee('Forgotten: "one".');
    await ann.says('/undo');
    await ann.shouldSee('There is nothing to undo.');
    await ann.says('/retry');
    await ann.shouldSee('There is nothing to try again.');
    desk.checkHistories();
  });

  test('/title, /sessions and /resume: found by title or id, by their owner alone', async () => {
    const desk = await openDesk();
    const ann = desk.person('ann');
    const eve = desk.person('eve');
    await converse(ann, 'about gardens');
    await ann.says('/title  Roses   and\nweeds ');
    await ann.shouldSee('Titled "Roses and weeds".');
    await ann.says('/title');
    await waitFor('the title alone', () => ann.seen().includes('Roses and weeds'));
    const id = desk.core.store.sessions.list({ limit: 1 })[0]?.id ?? '';
    await ann.says('/new');
    await converse(ann, 'about music');

    await eve.says('/sessions');
    await eve.shouldSee('No conversation was found.');
    for (const wanted of [id, 'Roses and weeds', 'Roses']) {
      await eve.says(`/resume ${wanted}`);
      await waitFor('the refusal', () => eve.seen().filter((text) => text === 'You have no such conversation.').length > 0);
    }
    expect(desk.core.store.sessions.live(`agent:main:${platform}:dm:eve`)).toBe(null);

    await ann.says('/sessions roses');
    await ann.shouldSee(new RegExp(`^${id} - Roses and weeds \\(1 turns`));
    await ann.says('/resume roses');
    await ann.shouldSee('Going on with "Roses and weeds".');
    await converse(ann, 'more about roses');
    expect(desk.model.requests.at(-1)?.body.messages.map(({ content }) => content)).toContain('about gardens');
    expect(desk.core.store.sessions.live(`agent:main:${platform}:dm:ann`)?.id).toBe(id);
  });

  test('a conversation that is being answered elsewhere cannot be taken to another chat meanwhile', async () => {
    const barrier = createBarrier();
    const desk = await openDesk();
    const group = { chatType: 'group' as const, address: { platform, account: 'bot', chat: 'g1' } };
    const inGroup = desk.person('ann', group);
    const ann = desk.person('ann');
    desk.model.answer(() => ({ text: 'done', after: barrier.passed }));
    await inGroup.says('a long question');
    await desk.model.waitForRequest(1);
    await ann.says('/resume a long question');
    await ann.shouldSee(/being answered in another chat/);
    barrier.open();
    await inGroup.shouldSee('done');
    await ann.says('/resume a long question');
    await ann.shouldSee('Going on with');
  });

  test('/compact puts a summary in the place of older turns; the session stays, and what comes meanwhile is answered behind it', async () => {
    const desk = await openDesk({ config: { model: { context_window: 1024 } } });
    const { model, core } = desk;
    model.answer((request) => (request.raw.includes('You condense a conversation') ? { text: 'They spoke of many things.', delayMs: 30 } : { text: `answer to ${lastUserText(request).slice(0, 9)} ${'word '.repeat(60)}` }));
    const ann = desk.person('ann');
    for (let i = 0; i < 6; i++) {
      await ann.says(`number ${i} ${'and so on '.repeat(10)}`);
      await ann.shouldSee(`answer to number ${i}`);
    }
    const { id } = core.store.sessions.live(`agent:main:${platform}:dm:ann`) ?? { id: '' };
    await Promise.all([ann.says('/compact'), ann.says('number 6')]);
    await ann.shouldSee(/is a summary now|short enough|left out/);
    await ann.shouldSee('answer to number 6');
    const session = core.store.sessions.get(id);
    expect(core.store.sessions.live(`agent:main:${platform}:dm:ann`)?.id).toBe(id);
    expect(session?.summary).toContain('many things');
    expect(model.requests.at(-1)?.raw).toContain('many things');
    expect(model.requests.at(-1)?.raw).not.toContain('number 0');
    expect(model.violations).toEqual([]);
    expect(core.store.transcript.search('number 0', { owner: session?.owner ?? '', roles: ['user'], limit: 5 }).length).toBeGreaterThan(0);
    desk.checkHistories();
  });
});

describe('the rest', () => {
  test('case does not matter, a bot\'s name behind the command neither; a path is no command', async () => {
    const desk = await openDesk();
    const ann = desk.person('ann');
    for (const text of ['/WHOAMI', '/whoami@hermes_bot']) await ann.says(text);
    await waitFor('two answers', () => ann.seen().length === 2);
    expect(new Set(ann.seen())).toEqual(new Set([`You are ann (id ann) in dm ann on ${platform}.`]));
    await converse(ann, '/usr/bin is full');
  });

  test('an unknown command says so and asks no model', async () => {
    const desk = await openDesk();
    const ann = desk.person('ann');
    await ann.says('/frobnicate now');
    await ann.shouldSee('Unknown command: /frobnicate. /help lists what there is.');
    expect(desk.model.requests).toEqual([]);
  });

  test('/help names every command, and each one of them answers something', async () => {
    const desk = await openDesk();
    const ann = desk.person('ann');
    await ann.says('/help');
    await ann.shouldSee('/stop - ');
    const names = [...(ann.seen()[0] ?? '').matchAll(/^\/([\w-]+) - /gm)].map(([, name]) => name ?? '');
    expect(names).toEqual(expect.arrayContaining(['new', 'stop', 'status', 'help', 'plugins', 'tools', 'model', 'retry', 'undo', 'compact', 'title', 'sessions', 'resume', 'queue', 'steer', 'approve', 'deny', 'usage', 'whoami', 'sethome', 'memory', 'skills']));
    for (const [index, name] of names.entries()) {
      await ann.says(`/${name}`);
      await waitFor(`an answer to /${name}`, () => ann.seen().length === index + 2);
    }
    expect(ann.seen().filter((text) => /went wrong|undefined|\[object/.test(text))).toEqual([]);
  });

  test('/status tells of the running turn, of what waits and of deliveries, beside it', async () => {
    const barrier = createBarrier();
    const desk = await openDesk();
    desk.model.answer(() => ({ text: 'done', after: barrier.passed }));
    const ann = desk.person('ann');
    await ann.says('slow');
    await desk.model.waitForRequest(1);
    await ann.says('waiting');
    await ann.says('/status');
    await ann.shouldSee(/Running for \d+ s\n1 messages waiting\nDeliveries: 0 sent/);
    barrier.open();
    await waitFor('both answers', () => ann.seen().filter((text) => text === 'done').length === 2);
    await ann.says('/status');
    await ann.shouldSee(/"slow": 2 turns\nIdle\n0 messages waiting\nDeliveries: 3 sent/);
  });

  test('a plugin\'s command is one like the others, its fault is its own', async () => {
    const desk = await openDesk();
    const ann = desk.person('ann');
    const found = desk.core.commands().map(({ name }) => name);
    expect(found).toContain('help');
    await ann.says('/model no-such-model');
    await ann.shouldSee('There is no conversation here yet.');
    await converse(ann, 'hello');
    await ann.says('/model another');
    await ann.shouldSee('The model is custom/another now');
    await converse(ann, 'and now');
    expect(desk.model.requests.map(({ body }) => body.model)).toEqual(['scripted', 'another']);
    await ann.says('/usage');
    await ann.shouldSee('2 turns, 20 tokens in');
  });
});

describe('/stop within a second', () => {
  async function stopsAtOnce(person: Person): Promise<void> {
    const start = performance.now();
    await person.says('/stop');
    await person.shouldSee(/^Stopp/);
    // A bound on a promise, far above what it takes: the stop waits for nothing that hangs.
    expect(performance.now() - start).toBeLessThan(5000);
  }

  async function goesOn(desk: Desk, person: Person): Promise<void> {
    desk.model.answer((request) => ({ text: `answer to ${lastUserText(request)}` }));
    await person.says('still there?');
    await person.shouldSee('answer to still there?');
    expect(desk.core.running.all()).toEqual([]);
    desk.checkHistories();
  }

  test('while the model hangs', async () => {
    const desk = await openDesk();
    desk.model.answer(() => ({ hang: true }));
    const ann = desk.person('ann');
    await ann.says('hello');
    await desk.model.waitForRequest(1);
    await stopsAtOnce(ann);
    expect(ann.seen()).toEqual(['Stopped.']);
    await goesOn(desk, ann);
  });

  test('while an answer is half-way', async () => {
    const desk = await openDesk({ settings: { streaming: 'on' } });
    desk.model.answer(() => ({ text: 'Once upon a time there was a house on a hill. '.repeat(5), chunkBytes: 600, hangAfter: 3000 }));
    const ann = desk.person('ann');
    await ann.says('tell me a story');
    await ann.shouldSee('Once upon a time');
    await stopsAtOnce(ann);
    expect(ann.seen()).toHaveLength(2);
    await goesOn(desk, ann);
  });

  test('while a tool hangs and does not listen', async () => {
    const desk = await openDesk({ tools: [deskTool('sleep', () => new Promise(() => {}))] });
    desk.model.answer(() => ({ toolCalls: [{ name: 'sleep', args: {} }] }));
    const ann = desk.person('ann');
    await ann.says('sleep');
    await waitFor('the tool to run', () => desk.core.store.transcript.turnEntries(desk.core.running.all()[0]?.turnId ?? '').length === 3);
    await stopsAtOnce(ann);
    await goesOn(desk, ann);
  });

  test('while consent is waited for: it is released as a no', async () => {
    let runs = 0;
    const desk = await openDesk({ tools: [deskTool('wipe', () => ((runs += 1), '{}'), { needsApproval: () => 'deletes files' })] });
    desk.model.answer(() => ({ toolCalls: [{ name: 'wipe', args: {} }] }));
    const ann = desk.person('ann');
    await ann.says('wipe it');
    await ann.shouldSee('Allow wipe?');
    await stopsAtOnce(ann);
    await goesOn(desk, ann);
    expect(runs).toBe(0);
  });

  test('while a question is waited for: the next message is a message, not its answer', async () => {
    const desk = await openDesk();
    desk.model.answer(() => ({ toolCalls: [{ name: 'clarify', args: { question: 'Which one?' } }] }));
    const ann = desk.person('ann');
    await ann.says('do it');
    await ann.shouldSee('Which one?');
    await stopsAtOnce(ann);
    await goesOn(desk, ann);
  });

  test('while a hook hangs: it is said that the end is near', async () => {
    const desk = await openDesk({
      config: { plugins: { hook_timeout_s: { pre: 1.5, post: 1 } } },
      before: ({ hooks }) => void hooks.add('slow', 'pre_llm_call', ({ user_message }) => (user_message === 'hello' ? new Promise(() => {}) : undefined)),
    });
    const ann = desk.person('ann');
    await ann.says('hello');
    await waitFor('the turn to begin', () => desk.core.running.all().length === 1);
    await ann.says('/stop');
    await ann.shouldSee('Stopping; what it is doing ends in a moment.', 2500);
    await goesOn(desk, ann);
    expect(desk.asked()).toEqual(['still there?']);
  });

  test('with others waiting behind it: they are answered', async () => {
    const desk = await openDesk();
    desk.model.answer((request) => (lastUserText(request) === 'hang' ? { hang: true } : { text: `answer to ${lastUserText(request)}` }));
    const ann = desk.person('ann');
    await ann.says('hang');
    await desk.model.waitForRequest(1);
    await ann.says('next');
    await stopsAtOnce(ann);
    await ann.shouldSee('answer to next');
  });

  test('by somebody else of the same group', async () => {
    const desk = await openDesk();
    desk.model.answer(() => ({ hang: true }));
    const group = { chatType: 'group' as const, address: { platform, account: 'bot', chat: 'g1' } };
    await desk.person('ann', group).says('hello');
    await desk.model.waitForRequest(1);
    await stopsAtOnce(desk.person('bob', group));
    await desk.person('eve', { ...group, address: { platform, account: 'bot', chat: 'g2' } }).says('/stop');
    await desk.person('eve', { ...group, address: { platform, account: 'bot', chat: 'g2' } }).shouldSee('Nothing is running here.');
  });
});

describe('consent in a chat', () => {
  async function openConsent() {
    const runs: unknown[] = [];
    const tool = deskTool('wipe', (args) => (runs.push(args), JSON.stringify({ wiped: true })), { needsApproval: () => 'deletes files' });
    const desk = await openDesk({ tools: [tool], config: { sessions: { group_sessions_per_user: false } } });
    desk.model.answer(({ body }) => (body.messages.at(-1)?.role === 'tool' ? { text: `result: ${String(body.messages.at(-1)?.content)}` } : { toolCalls: [{ name: 'wipe', args: {} }] }));
    const group = { chatType: 'group' as const, address: { platform, account: 'bot', chat: 'g1' } };
    return { desk, runs, ann: desk.person('ann', group), bob: desk.person('bob', group) };
  }

  test('A25 PraisonAI#2580 only the person whose turn it is can give it, by command or button', async () => {
    const { desk, runs, ann, bob } = await openConsent();
    await ann.says('wipe it');
    await ann.shouldSee('Allow wipe?');
    await bob.says('/approve');
    await bob.shouldSee('Nothing of yours waits for consent here.');
    const button = desk.core.store.outbox.list(['sent', 'waiting', 'attempting'], 5).flatMap(({ payload }) => payload.buttons?.flat() ?? [])[0]?.value ?? '';
    const press = (person: Person, value: string) => person.says('', { kind: 'button', button: { value } });
    expect(await press(bob, button)).toEqual({ status: 'refused', reason: 'not_yours' });
    expect(await press(ann, 'approve')).toEqual({ status: 'refused', reason: 'unsupported' });
    expect(runs).toEqual([]);
    expect(await press(ann, button)).toMatchObject({ status: 'accepted' });
    await ann.shouldSee('result: {"wiped":true}');
    expect(await press(ann, button)).toEqual({ status: 'refused', reason: 'unsupported' });
    expect(runs).toHaveLength(1);
  });

  test('/deny refuses, and the agent is told', async () => {
    const { ann, runs } = await openConsent();
    await ann.says('wipe it');
    await ann.shouldSee('Allow wipe?');
    await ann.says('/deny');
    await ann.shouldSee(/result: .*Not run: the user refused/);
    expect(runs).toEqual([]);
  });
});
