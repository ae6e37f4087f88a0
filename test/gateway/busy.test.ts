/** What a message does while a turn runs, in each of the four modes; nothing is lost, doubled or out of order in any. */
import { describe, expect, test } from 'vitest';
import { lastUserText } from '../support/openai-api.ts';
import { waitFor } from '../support/wait-for.ts';
import { createBarrier, deskTool, openDesk, type Desk } from './desk.ts';

/** The first question waits for the barrier; the others are answered at once. */
async function openBusy(mode: string, more: Parameters<typeof openDesk>[0] = {}): Promise<Desk & { barrier: ReturnType<typeof createBarrier> }> {
  const barrier = createBarrier();
  const desk = await openDesk({ ...more, config: { gateway: { busy_mode: mode }, ...more.config } });
  desk.model.answer((request) => ({ text: `answer to ${lastUserText(request)}`, ...(lastUserText(request) === 'first' ? { after: barrier.passed } : {}) }));
  return { ...desk, barrier };
}

describe('queue', () => {
  test('three texts during one turn are three turns, in order', async () => {
    const desk = await openBusy('queue');
    const ann = desk.person('ann');
    await ann.says('first');
    await desk.model.waitForRequest(1);
    for (const text of ['second', 'third', 'fourth']) await ann.says(text);
    expect(desk.model.requests).toHaveLength(1);
    desk.barrier.open();
    await ann.shouldSee('answer to fourth');
    expect(ann.seen()).toEqual(['first', 'second', 'third', 'fourth'].map((text) => `answer to ${text}`));
    expect(desk.asked()).toEqual(['first', 'second', 'third', 'fourth']);
    desk.checkHistories();
  });

  test('B4 twenty-five during one turn: twenty are answered, five are told at once', async () => {
    const desk = await openBusy('queue');
    const ann = desk.person('ann');
    await ann.says('first');
    await desk.model.waitForRequest(1);
    const receipts = await Promise.all(Array.from({ length: 25 }, (_, i) => ann.says(`number ${i}`)));
    expect(receipts.every(({ status }) => status === 'accepted')).toBe(true);
    await waitFor('five notices', () => ann.seen().length === 5);
    expect(ann.seen().every((text) => text.startsWith('20 messages are waiting here already'))).toBe(true);
    desk.barrier.open();
    await ann.shouldSee('answer to number 19', 20_000);
    expect(desk.asked()).toEqual(['first', ...Array.from({ length: 20 }, (_, i) => `number ${i}`)]);
  });

  test('A6 hermes-agent#64934 a hook that stalls before the model is asked lets no second turn of the session begin', async () => {
    const events: string[] = [];
    const desk = await openDesk({
      before(core) {
        core.hooks.add('slow', 'pre_llm_call', async ({ user_message }) => {
          events.push(`begin ${String(user_message)}`);
          await new Promise((resolve) => setTimeout(resolve, 60));
          return undefined;
        });
        core.hooks.add('slow', 'on_session_end', () => void events.push('end'));
      },
    });
    const ann = desk.person('ann');
    for (const text of ['a', 'b', 'c']) await ann.says(text);
    await ann.shouldSee('answer to c');
    await waitFor('the last hook', () => events.length === 6);
    expect(events).toEqual(['begin a', 'end', 'begin b', 'end', 'begin c', 'end']);
    expect(desk.model.requests.map(({ body }) => body.messages.length)).toEqual([2, 4, 6]);
    desk.checkHistories();
  });

  test('first messages of a session that come at the same moment open one session and run in order', async () => {
    const desk = await openDesk();
    const ann = desk.person('ann');
    await Promise.all([ann.says('one'), ann.says('two')]);
    await ann.shouldSee('answer to two');
    expect(desk.core.store.sessions.list({ limit: 10 })).toHaveLength(1);
    expect(desk.asked()).toEqual(['one', 'two']);
  });

  test('other people are not held up', async () => {
    const desk = await openBusy('queue');
    await desk.person('ann').says('first');
    await desk.model.waitForRequest(1);
    const bob = desk.person('bob');
    await bob.says('hello');
    await bob.shouldSee('answer to hello');
    desk.barrier.open();
    await desk.person('ann').shouldSee('answer to first');
  });

  test('B18 a reply goes to the chat that its question came from, whoever writes meanwhile', async () => {
    const desk = await openDesk();
    const people = ['ann', 'bob', 'eve'].map((id) => desk.person(id));
    desk.model.answer((request) => ({ text: `answer to ${lastUserText(request)}`, delayMs: lastUserText(request).startsWith('ann') ? 30 : 0 }));
    await Promise.all(Array.from({ length: 8 }, (_, i) => people.map((person, who) => person.says(`${['ann', 'bob', 'eve'][who]} ${i}`))).flat());
    for (const [who, person] of people.entries()) {
      const name = ['ann', 'bob', 'eve'][who];
      await person.shouldSee(`answer to ${name} 7`);
      expect(person.seen()).toEqual(Array.from({ length: 8 }, (_, i) => `answer to ${name} ${i}`));
    }
  });
});

describe('collect', () => {
  test('what waits becomes one turn, and a command among it keeps its place', async () => {
    const desk = await openBusy('collect');
    const ann = desk.person('ann');
    await ann.says('first');
    await desk.model.waitForRequest(1);
    for (const text of ['second', 'third', '/title Our talk', 'fourth']) await ann.says(text);
    desk.barrier.open();
    await ann.shouldSee('answer to fourth');
    expect(ann.seen()).toEqual(['answer to first', 'answer to second\nthird', 'Titled "Our talk".', 'answer to fourth']);
    desk.checkHistories();
  });
});

describe('steer', () => {
  /** A turn that calls a tool; the tool waits for the barrier. */
  async function openSteer(mode = 'steer') {
    const barrier = createBarrier();
    const desk = await openDesk({ config: { gateway: { busy_mode: mode } }, tools: [deskTool('look', async () => (await barrier.passed, JSON.stringify({ seen: 'a house' })))] });
    desk.model.answer(({ body }) => {
      const last = body.messages.at(-1);
      if (last?.role === 'user' && body.messages.every(({ role }) => role !== 'tool')) return { toolCalls: [{ name: 'look', args: {} }] };
      return { text: `heard ${body.messages.filter(({ role }) => role === 'user').map(({ content }) => String(content)).join(' + ')}` };
    });
    const ann = desk.person('ann');
    await ann.says('look around');
    await waitFor('the tool to run', () => desk.core.running.all().length === 1 && desk.model.requests.length === 1);
    await waitFor('the call to be journalled', () => desk.core.store.transcript.turnEntries(desk.core.running.all()[0]?.turnId ?? '').length === 3);
    return { desk, ann, barrier };
  }

  test('what is said while a tool runs is heard after its result, in the same turn, once', async () => {
    const { desk, ann, barrier } = await openSteer();
    await ann.says('to the left');
    await ann.says('no, to the right');
    barrier.open();
    await ann.shouldSee(/^heard look around/);
    expect(ann.seen()).toEqual(['heard look around + to the left\n\nno, to the right']);
    await ann.says('thanks');
    await ann.shouldSee(/thanks/);
    expect(ann.seen()).toHaveLength(2);
    expect(desk.model.requests).toHaveLength(3);
    expect(desk.model.violations).toEqual([]);
    desk.checkHistories();
  });

  test('what comes too late for the turn is a turn of its own', async () => {
    const desk = await openBusy('steer');
    const ann = desk.person('ann');
    await ann.says('first');
    await desk.model.waitForRequest(1);
    await ann.says('one more thing');
    desk.barrier.open();
    await ann.shouldSee('answer to one more thing');
    expect(ann.seen()).toEqual(['answer to first', 'answer to one more thing']);
  });

  test('in any mode /steer steers and /queue waits', async () => {
    const { ann, barrier } = await openSteer('queue');
    await ann.says('/queue afterwards, please');
    await ann.says('/steer to the left');
    barrier.open();
    await ann.shouldSee(/afterwards/);
    expect(ann.seen()).toEqual(['heard look around + to the left', 'heard look around + to the left + afterwards, please']);
  });

  test('openclaw#148731 a message that cannot steer, a photo, does not keep a later one from steering', async () => {
    const { ann, barrier } = await openSteer();
    await ann.says('and this', { attachments: [{ kind: 'file', ref: 'f', name: 'a.bin', mime: 'application/octet-stream', size: 1 }] });
    await ann.says('to the left');
    barrier.open();
    await ann.shouldSee(/a\.bin/);
    expect(ann.seen()[0]).toBe('heard look around + to the left');
    expect(ann.seen()).toHaveLength(2);
  });

  test('without a running turn /steer and /queue are messages like any other', async () => {
    const desk = await openDesk();
    const ann = desk.person('ann');
    await ann.says('/steer hello');
    await ann.says('/queue again');
    await ann.says('/steer');
    await ann.shouldSee('Say /steer and a text.');
    await ann.shouldSee('answer to again');
    expect(desk.asked()).toEqual(['hello', 'again']);
  });
});

describe('interrupt', () => {
  test('the turn is aborted, the new message runs, and the first one is not answered late', async () => {
    const desk = await openBusy('interrupt');
    const ann = desk.person('ann');
    await ann.says('first');
    await desk.model.waitForRequest(1);
    await ann.says('rather this');
    await ann.shouldSee('answer to rather this');
    expect(desk.model.requests[0]?.aborted).toBe(true);
    desk.barrier.open();
    await ann.says('and then');
    await ann.shouldSee('answer to and then');
    expect(ann.seen()).toEqual(['answer to rather this', 'answer to and then']);
    desk.checkHistories();
  });
});
