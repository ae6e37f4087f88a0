/** From an event to its end: every accepted one ends as answered, declined, or failed and told, whatever breaks on the way. */
import Database from 'better-sqlite3';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { TurnOutcome } from '../../src/contract/turn.ts';
import { lastUserText, startOpenAiApi } from '../support/openai-api.ts';
import { waitFor } from '../support/wait-for.ts';
import { said } from '../store/support.ts';
import { createBarrier, deskTool, openDesk, platform, type Desk, type Person } from './desk.ts';

const stateOf = ({ core }: Desk, receipt: { id?: number } | unknown) => core.store.inbox.look((receipt as { id: number }).id)?.state;

describe('one event, one turn', () => {
  test('however often it is delivered, at once, later, and after a restart', async () => {
    const desk = await openDesk();
    const ann = desk.person('ann');
    const event = ann.message('hello');
    const receipts = await Promise.all([1, 2, 3, 4].map(() => desk.core.gateway.receive(event)));
    expect(receipts.map(({ status }) => status).toSorted()).toEqual(['accepted', 'duplicate', 'duplicate', 'duplicate']);
    await ann.shouldSee('answer to hello');
    expect((await desk.core.gateway.receive(event)).status).toBe('duplicate');
    const again = await desk.restart();
    expect((await again.core.gateway.receive(event)).status).toBe('duplicate');
    await again.person('ann').says('and now');
    await again.person('ann').shouldSee('answer to and now');
    expect(desk.asked()).toEqual(['hello', 'and now']);
    expect(ann.seen()).toEqual(['answer to hello', 'answer to and now']);
  });

  test('who asks again hears the first delivery\'s answer: while it runs, when it has ended, after a restart', async () => {
    const barrier = createBarrier();
    const desk = await openDesk();
    desk.model.answer(() => ({ text: 'the answer', after: barrier.passed }));
    const ann = desk.person('ann');
    const event = ann.message('a question');
    const follow = (to: Desk) => new Promise<TurnOutcome>((resolve) => void to.core.gateway.receive(event, { onEvent() {}, onDone: resolve }));
    const first = follow(desk);
    await desk.model.waitForRequest(1);
    const second = follow(desk);
    barrier.open();
    const outcomes = [await first, await second, await follow(desk)];
    const again = await desk.restart();
    outcomes.push(await follow(again));
    for (const outcome of outcomes) expect(outcome).toMatchObject({ status: 'answered', text: 'the answer' });
    expect(new Set(outcomes.map(({ turnId }) => turnId)).size).toBe(1);
    expect(desk.model.requests).toHaveLength(1);
  });

  test('a stranger\'s costs no row, no model call and no sign', async () => {
    const desk = await openDesk({ settings: { unauthorized_dm: 'ignore' } });
    expect(await desk.person('mallory').says('let me in')).toEqual({ status: 'refused', reason: 'not_allowed' });
    expect(await desk.person('mallory').says('/status')).toEqual({ status: 'refused', reason: 'not_allowed' });
    for (const kind of ['edit', 'button', 'reaction', 'join'] as const) expect(await desk.person('mallory').says('', { kind, button: { value: 'q:1:0' } })).toEqual({ status: 'refused', reason: 'not_allowed' });
    await desk.person('ann').says('hello');
    await desk.person('ann').shouldSee('answer to hello');
    expect(desk.core.store.inbox.look(1)?.state).toBe('answered');
    expect(desk.core.store.inbox.look(2)).toBe(null);
    expect(desk.adapter.calls.some(({ chat }) => chat === 'mallory')).toBe(false);
  });

  test('a stranger who may ask to be let in gets a code, and nothing else comes of it', async () => {
    const desk = await openDesk({ settings: { unauthorized_dm: 'pair' } });
    const mallory = desk.person('mallory');
    expect(await mallory.says('let me in')).toEqual({ status: 'refused', reason: 'not_allowed' });
    await mallory.shouldSee('hermes pairing approve');
    await desk.person('ann').says('hello');
    await desk.person('ann').shouldSee('answer to hello');
    expect(desk.asked()).toEqual(['hello']);
    expect(desk.core.store.inbox.look(2)).toBe(null);
    expect(mallory.seen()).toHaveLength(1);
  });
});

describe('albums and edits', () => {
  test('pictures of an album are one turn with one caption', async () => {
    const desk = await openDesk();
    const ann = desk.person('ann');
    const picture = (text: string) => ann.says(text, { albumId: 'album', attachments: [{ kind: 'file', ref: 'f', name: 'a.bin', mime: 'application/x', size: 1 }] });
    await Promise.all([picture('look'), picture(''), picture('')]);
    await picture('');
    await waitFor('the answer', () => ann.seen().length > 0);
    expect(desk.model.requests).toHaveLength(1);
    expect(desk.asked()[0]?.match(/was sent; its content cannot be read/g)).toHaveLength(4);
    expect(desk.asked()[0]).toMatch(/^look\n/);
  });

  test('an edit changes what still waits and starts nothing', async () => {
    const barrier = createBarrier();
    const desk = await openDesk();
    desk.model.answer((request) => ({ text: `answer to ${lastUserText(request)}`, ...(lastUserText(request) === 'first' ? { after: barrier.passed } : {}) }));
    const ann = desk.person('ann');
    await ann.says('first', { messageId: 'm-first' });
    await desk.model.waitForRequest(1);
    await ann.says('secnd', { messageId: 'm-second' });
    for (const [messageId, text] of [['m-first', 'changed'], ['m-second', 'second'], ['m-other', 'third']] as const) expect(await ann.says(text, { messageId, kind: 'edit' })).toMatchObject({ status: 'refused' });
    barrier.open();
    await ann.shouldSee('answer to second');
    await ann.says('second edited', { messageId: 'm-second', kind: 'edit' });
    expect(desk.asked()).toEqual(['first', 'second']);
  });
});

describe('hooks before the turn', () => {
  test('a message that a hook skips is declined; one that it rewrites runs as rewritten; each is asked once', async () => {
    const asked: string[] = [];
    const desk = await openDesk({
      before({ hooks }) {
        hooks.add('gate', 'pre_gateway_dispatch', ({ message }) => {
          asked.push(String(message));
          if (message === 'spam') return { action: 'skip' };
          return message === 'abbr' ? { action: 'rewrite', text: 'abbreviation' } : undefined;
        });
      },
    });
    const ann = desk.person('ann');
    const spam = await ann.says('spam');
    await ann.says('abbr');
    await ann.shouldSee('answer to abbreviation');
    expect(stateOf(desk, spam)).toBe('declined');
    expect(await ann.asks('spam')).toEqual({ status: 'declined', text: '' });
    expect(asked).toEqual(['spam', 'abbr', 'spam']);
    expect(desk.asked()).toEqual(['abbreviation']);
  });

  test('a plugin that handles the message itself stops it there', async () => {
    const desk = await openDesk({ before: ({ hooks }) => void hooks.add('own', 'on_message_received', ({ message }) => (message === 'ping' ? { handled: true } : undefined)) });
    const ann = desk.person('ann');
    expect(await ann.asks('ping')).toMatchObject({ status: 'declined' });
    await ann.says('hello');
    await ann.shouldSee('answer to hello');
    expect(desk.asked()).toEqual(['hello']);
  });

  test('commands that do not wait are not asked about', async () => {
    const asked: string[] = [];
    const desk = await openDesk({ before: ({ hooks }) => void hooks.add('gate', 'pre_gateway_dispatch', ({ message }) => (asked.push(String(message)), { action: 'skip' })) });
    const ann = desk.person('ann');
    await ann.says('/status');
    await ann.shouldSee('No session yet');
    expect(asked).toEqual([]);
  });
});

describe('faults', () => {
  test('a fault inside ends the message as failed and told, with a reference and without its words', async () => {
    const desk = await openDesk();
    desk.core.agent.toolsOf = () => Promise.reject(new Error('secret detail'));
    const ann = desk.person('ann');
    const receipt = await ann.says('hello');
    await ann.shouldSee(/^Something went wrong on my side.*\(reference m\d+\)/);
    expect(stateOf(desk, receipt)).toBe('failed');
    expect(ann.seen().join()).not.toContain('secret');
    expect(desk.core.running.all()).toEqual([]);
  });

  test('a session that is not the caller\'s is named as the reason', async () => {
    const desk = await openDesk();
    const outcome = await desk.person('ann').asks('hello', { options: { sessionId: '20260101_000000_abcdef01' } });
    expect(outcome).toMatchObject({ status: 'failed', code: 'SESSION_UNKNOWN', text: expect.stringContaining('20260101_000000_abcdef01') as string });
  });

  test('a model that refuses the key is told without the provider\'s words; the next message is tried anew', async () => {
    const desk = await openDesk();
    desk.model.answer(() => ({ status: 401, body: { error: { message: 'Incorrect API key provided: sk-canary' } } }));
    const ann = desk.person('ann');
    const receipt = await ann.says('hello');
    await waitFor('a sentence', () => ann.seen().length === 1);
    expect(ann.seen()[0]).not.toMatch(/canary|Incorrect/);
    expect(stateOf(desk, receipt)).toBe('failed');
    desk.model.answer(() => ({ text: 'back again' }));
    await ann.says('and now');
    await ann.shouldSee('back again');
    desk.checkHistories();
  });

  test('A11 openclaw#74321 a part that is refused for good is told in the chat, once; a chat that is gone is told nothing', async () => {
    const desk = await openDesk();
    const ann = desk.person('ann');
    desk.adapter.next({ status: 'permanent', error: 'message is too long' });
    await ann.says('hello');
    await ann.shouldSee('(Part 1 of this answer could not be sent: message is too long.)');
    const bob = desk.person('bob');
    desk.adapter.next({ status: 'permanent', error: 'bot was blocked', targetGone: true });
    await bob.says('hello');
    await waitFor('the refusal', () => desk.core.store.outbox.counts()['dead'] === 2);
    await ann.says('and now');
    await ann.shouldSee('answer to');
    expect(ann.seen()).toHaveLength(2);
    expect(bob.seen()).toEqual([]);
  });

  test('the next turn is told that the last reply did not arrive, once', async () => {
    const desk = await openDesk();
    const ann = desk.person('ann');
    desk.adapter.next({ status: 'permanent', error: 'message is too long' });
    await ann.says('hello');
    await waitFor('the refusal', () => desk.core.store.outbox.counts()['dead'] === 1);
    await ann.says('are you there');
    await ann.shouldSee('answer to');
    expect(desk.model.requests.at(-1)?.raw).toContain('was not delivered (message is too long)');
    await ann.says('and now');
    await waitFor('the third request', () => desk.model.requests.length === 3);
    expect(JSON.stringify(desk.model.requests.at(-1)?.body.messages.at(-1))).not.toContain('was not delivered');
  });

  test('the operator hears of a reply that was given up, in his own chat', async () => {
    const desk = await openDesk({ config: { operator: `${platform}:boss` } });
    desk.adapter.next({ status: 'permanent', error: 'bot was blocked', targetGone: true });
    await desk.person('ann').says('hello');
    await desk.person('boss').shouldSee(new RegExp(`A reply to ${platform}:ann could not be delivered: bot was blocked`));
  });

  test('hermes-agent#87040 a message that waited long is answered and marked as late', async () => {
    const desk = await openDesk();
    const ann = desk.person('ann');
    await ann.says('good morning', { at: Date.now() - 3 * 3600_000 });
    await ann.shouldSee('answer to');
    expect(desk.model.requests[0]?.raw).toContain('sent 180 minutes ago');
  });

  test('a time that no platform could mean is not taken for the sender\'s', async () => {
    const desk = await openDesk();
    const ann = desk.person('ann');
    await ann.says('good morning', { at: Date.UTC(2001, 0, 1) });
    await ann.shouldSee('answer to good morning');
    expect(desk.model.requests[0]?.raw).not.toContain('minutes ago');
  });
});

test('while the store cannot be written nothing is accepted, and a turn in the middle waits: its tool is not run again, all is answered once', async () => {
  let runs = 0;
  const refused: unknown[] = [];
  const desk: Desk = await openDesk({
    tools: [
      deskTool('count', () => {
        runs += 1;
        lock = lockDatabase(desk);
        void desk.core.gateway.receive(event).catch((thrown: unknown) => refused.push(thrown));
        return JSON.stringify({ counted: runs });
      }),
    ],
  });
  let lock = { release() {} };
  desk.model.answer((request) => {
    const last = request.body.messages.at(-1);
    if (last?.role === 'tool') return { text: `result ${String(last.content)}` };
    return lastUserText(request) === 'count' ? { toolCalls: [{ name: 'count', args: {} }] } : { text: `answer to ${lastUserText(request)}` };
  });
  const ann = desk.person('ann');
  const event = ann.message('meanwhile');
  await ann.says('count');
  await waitFor('the refusal', () => refused.length === 1, 20_000);
  expect(refused[0]).toMatchObject({ code: 'STORE_UNAVAILABLE' });
  lock.release();
  expect((await desk.core.gateway.receive(event)).status).toBe('accepted');
  await ann.shouldSee('answer to meanwhile');
  expect(ann.seen()).toEqual(['result {"error":"interrupted by a restart; outcome unknown"}', 'answer to meanwhile']);
  expect(runs).toBe(1);
  desk.checkHistories();
});

/** Another connection holds the database's write lock: writers wait five seconds, then fail as they do on a full disk. */
function lockDatabase({ home }: Desk): { release(): void } {
  const other = new Database(join(home, 'state.db'));
  other.exec('BEGIN IMMEDIATE');
  return {
    release() {
      other.exec('ROLLBACK');
      other.close();
    },
  };
}

describe('what a former process left', () => {
  const key = `agent:main:${platform}:dm:ann`;

  /** A turn that was begun, with a call that was running, as a death leaves it. */
  async function leaveTurn(desk: Desk, person: Person): Promise<number> {
    const { store } = desk.core;
    const message = person.message('look at it');
    const { id } = await store.inbox.admit({ lane: key, message, now: Date.now() });
    await store.inbox.claimNext(key, Date.now(), false);
    const { session } = await store.sessions.open({ key, owner: `${platform}:user::ann`, address: message.address, now: Date.now(), settings: {}, isOver: () => null });
    await store.transcript.beginTurn({ turnId: 't1', sessionId: session.id, model: 'm', context: 'kept context', entry: { role: 'user', turnId: 't1', text: 'look at it' }, inboxIds: [id], now: Date.now() });
    await store.transcript.append(session.id, { role: 'assistant', turnId: 't1', text: '', toolCalls: [{ id: 'c1', name: 'look', args: {} }, { id: 'c2', name: 'look', args: {} }] }, Date.now());
    await store.transcript.append(session.id, { role: 'tool', turnId: 't1', toolCallId: 'c1', name: 'look', text: null }, Date.now());
    return id;
  }

  test('A7 openclaw#10310 a turn goes on: the call that was running is marked as unknown, the one that had not begun runs, no hook is asked again', async () => {
    let runs = 0;
    const hooked: string[] = [];
    const options = {
      tools: [deskTool('look', () => ((runs += 1), JSON.stringify({ seen: 'it' })))],
      before({ hooks }: Desk['core']) {
        for (const name of ['on_session_start', 'pre_llm_call'] as const) hooks.add('watcher', name, () => (hooked.push(name), 'new context'));
      },
    };
    const desk = await openDesk(options);
    await leaveTurn(desk, desk.person('ann'));
    const again = await desk.restart();
    const ann = again.person('ann');
    await ann.shouldSee('answer to');
    expect(runs).toBe(1);
    expect(hooked).toEqual([]);
    const [request] = again.model.requests;
    expect(request?.body.messages.map(({ role }) => role).join(' ')).toBe('system user assistant tool tool');
    expect(request?.body.messages.slice(-2).map(({ content }) => content)).toEqual(['{"error":"interrupted by a restart; outcome unknown"}', '{"seen":"it"}']);
    expect(request?.raw).toContain('kept context');
    expect(again.model.violations).toEqual([]);
    again.checkHistories();
  });

  test('an idempotent call that was running is simply run again', async () => {
    let runs = 0;
    const desk = await openDesk({ tools: [deskTool('look', () => ((runs += 1), JSON.stringify({ seen: 'it' })), { idempotent: true })] });
    await leaveTurn(desk, desk.person('ann'));
    const again = await desk.restart();
    await again.person('ann').shouldSee('answer to');
    expect(runs).toBe(2);
  });

  test('A8 PraisonAI#2723 a turn in which the process died while it ran alone is ended, told to its chat and the operator, and leaves a history that can be sent', async () => {
    const desk = await openDesk({ config: { operator: `${platform}:boss` }, tools: [deskTool('look', () => '{}')] });
    const ann = desk.person('ann');
    const id = await leaveTurn(desk, ann);
    const behind = await desk.core.store.inbox.admit({ lane: key, message: ann.message('behind it'), now: Date.now() });
    await desk.core.store.inbox.markAlone(id);
    const again = await desk.restart();
    await again.person('ann').shouldSee(/died 1 times.*not tried again \(reference m\d+\)/);
    await again.person('boss').shouldSee(/quarantined/);
    await again.person('ann').shouldSee('answer to behind it');
    expect(again.core.store.inbox.look(id)).toEqual({ state: 'quarantined', turnId: 't1' });
    expect(again.core.store.inbox.look(behind.id)?.state).toBe('answered');
    expect(again.core.store.transcript.turn('t1')).toMatchObject({ state: 'failed', code: 'TURN_QUARANTINED' });
    const entries = again.core.store.transcript.turnEntries('t1');
    expect(entries.map(({ role, text }) => `${role}: ${String(text).slice(0, 24)}`)).toEqual(['user: look at it', 'assistant: ', 'tool: {"error":"interrupted by', 'tool: {"error":"interrupted by', 'assistant: The program died 1 times']);
    again.checkHistories();
    const third = await again.restart();
    await third.person('ann').says('hello');
    await third.person('ann').shouldSee('answer to hello');
    expect(third.person('ann').seen().filter((text) => text.includes('not tried again'))).toHaveLength(1);
  });

  test('what was admitted and not begun is answered, in order, before what comes now', async () => {
    const desk = await openDesk();
    const ann = desk.person('ann');
    for (const text of ['one', 'two']) await desk.core.store.inbox.admit({ lane: key, message: ann.message(text), now: Date.now() });
    const again = await desk.restart();
    await again.person('ann').says('three');
    await again.person('ann').shouldSee('answer to three');
    expect(again.asked()).toEqual(['one', 'two', 'three']);
  });

  test('what comes in while the house still opens is not taken for something that a former process left', async () => {
    const barrier = createBarrier();
    const model = await startOpenAiApi();
    onTestFinished(() => model.close());
    model.answer((request) => ({ text: `answer to ${lastUserText(request)}`, after: barrier.passed }));
    const early = said('early', { address: { platform, account: 'bot', chat: 'ann' }, sender: { id: 'ann', name: 'ann', isBot: false } });
    let receipt: Promise<unknown> = Promise.resolve();
    const desk = await openDesk({ model, before: ({ gateway }) => void (receipt = gateway.receive(early)) });
    await model.waitForRequest(1);
    expect(stateOf(desk, await receipt)).toBe('running');
    barrier.open();
    await desk.person('ann').shouldSee('answer to early');
    expect(stateOf(desk, await receipt)).toBe('answered');
    expect(desk.asked()).toEqual(['early']);
  });

  test('rows of a terminal that is gone are not the daemon\'s to run', async () => {
    const desk = await openDesk();
    const { openStore } = await import('../../src/store/store.ts');
    const terminal = openStore({ path: `${desk.home}/state.db`, process: 'cli:1' });
    await terminal.inbox.admit({ lane: 'terminal', message: said('typed there'), now: 1 });
    await terminal.close();
    const again = await desk.restart();
    await again.person('ann').says('hello');
    await again.person('ann').shouldSee('answer to hello');
    expect(again.asked()).toEqual(['hello']);
  });
});
