/** Questions and consent: bound to a person, a lane and a call, answered once, and no answer means no. */
import { describe, expect, test } from 'vitest';
import type { Button } from '../../src/contract/message.ts';
import { createApprovals, approvalChoice, type ApprovalRequest, type ApprovalSettings } from '../../src/gateway/approvals.ts';
import { createQuestions, type Question, type Questions } from '../../src/gateway/questions.ts';
import { silentLog } from '../../src/lib/log.ts';
import { createHooks } from '../../src/plugins/hooks.ts';
import { openTestStore } from '../store/support.ts';
import { stopClock } from './clock.ts';

const idle = () => new Promise((resolve) => setImmediate(resolve));

function ask(questions: Questions, given: Partial<Question> = {}) {
  let buttons: Button[][] = [];
  const stop = new AbortController();
  const answer = questions.ask({ lane: 'lane', senderId: 'ann', kind: 'clarify', choices: ['red', 'blue'], timeoutMs: 300_000, signal: stop.signal, ...given }, (shown) => void (buttons = shown));
  const outcome: { answer?: unknown } = {};
  void answer.then((value) => (outcome.answer = value));
  return { answer, outcome, stop, value: (index: number) => buttons[index]?.[0]?.value ?? '' };
}

describe('a question', () => {
  test('is answered by a number, by a choice in any case, or by any words', async () => {
    for (const [said, expected] of [['2', { choice: 1, text: 'blue' }], ['RED ', { choice: 0, text: 'red' }], ['both, please', { choice: null, text: 'both, please' }], ['7', { choice: null, text: '7' }]] as const) {
      const questions = createQuestions();
      const { answer } = ask(questions);
      expect(questions.answerByText('lane', 'ann', said)).toBe(true);
      expect(await answer).toEqual({ ...expected, by: 'ann' });
      expect(questions.answerByText('lane', 'ann', said)).toBe(false);
    }
  });

  test('takes nobody else\'s words and no other lane\'s', async () => {
    const questions = createQuestions();
    const { outcome } = ask(questions);
    expect(questions.answerByText('lane', 'bob', '1')).toBe(false);
    expect(questions.answerByText('other', 'ann', '1')).toBe(false);
    await idle();
    expect(outcome).toEqual({});
  });

  test('ends with nothing after its time, by an abort, or when its lane is released', async () => {
    const clock = stopClock();
    const questions = createQuestions();
    const late = ask(questions, { timeoutMs: 1000 });
    await clock.advance(1000);
    expect(late.outcome).toEqual({ answer: null });
    const aborted = ask(questions);
    aborted.stop.abort();
    const cancelled = ask(questions);
    questions.cancel('other');
    await idle();
    expect(aborted.outcome).toEqual({ answer: null });
    expect(cancelled.outcome).toEqual({});
    questions.cancel('lane');
    await idle();
    expect(cancelled.outcome).toEqual({ answer: null });
    expect(questions.answerByText('lane', 'ann', '1')).toBe(false);
  });

  test('that could not be shown takes nobody\'s next message', async () => {
    const questions = createQuestions();
    const asked = questions.ask({ lane: 'lane', senderId: 'ann', kind: 'clarify', choices: [], timeoutMs: 1000, signal: new AbortController().signal }, () => Promise.reject(new Error('disk full')));
    await expect(asked).rejects.toThrow('disk full');
    expect(questions.answerByText('lane', 'ann', 'hello')).toBe(false);
  });
});

describe('A25 PraisonAI#2580 a button', () => {
  test('of somebody else is refused, the asked one\'s counts once', async () => {
    const questions = createQuestions();
    const { outcome, answer, value } = ask(questions, { kind: 'approval' });
    expect(questions.answerByButton(value(0), 'lane', 'bob')).toBe('not_yours');
    expect(questions.answerByButton(value(0), 'other', 'ann')).toBe('not_yours');
    await idle();
    expect(outcome).toEqual({});
    expect(questions.answerByButton(value(1), 'lane', 'ann')).toBe('answered');
    expect(await answer).toEqual({ choice: 1, text: 'blue', by: 'ann' });
    expect(questions.answerByButton(value(0), 'lane', 'ann')).toBe('unknown');
  });

  test('that is forged, of another question, or of before a restart leads nowhere', async () => {
    const questions = createQuestions();
    const { outcome, value } = ask(questions, { kind: 'approval' });
    const id = value(0).split(':')[1] ?? '';
    for (const forged of ['approve', '', 'q::0', `q:${'0'.repeat(32)}:0`, `q:${id}:9`, `q:${id}:-1`, `q:${id}`, `${value(0)}:0`, `q:${id.toUpperCase()}:0`]) expect(questions.answerByButton(forged, 'lane', 'ann')).toBe('unknown');
    expect(createQuestions().answerByButton(value(0), 'lane', 'ann')).toBe('unknown');
    await idle();
    expect(outcome).toEqual({});
    expect(id).toMatch(/^[0-9a-f]{32}$/);
    expect(Buffer.byteLength(value(1))).toBeLessThanOrEqual(64);
  });

  test('that comes too late counts for nothing', async () => {
    const clock = stopClock();
    const questions = createQuestions();
    const { value, outcome } = ask(questions, { kind: 'approval' });
    await clock.advance(300_000, 10_000);
    expect(questions.answerByButton(value(0), 'lane', 'ann')).toBe('unknown');
    expect(outcome).toEqual({ answer: null });
  });
});

test('consent is never given by plain words', async () => {
  const questions = createQuestions();
  const { outcome } = ask(questions, { kind: 'approval', choices: ['Allow once', 'Deny'] });
  for (const said of ['1', 'Allow once', 'yes']) expect(questions.answerByText('lane', 'ann', said)).toBe(false);
  await idle();
  expect(outcome).toEqual({});
});

describe('consent', () => {
  async function desk(given: Partial<ApprovalSettings> = {}) {
    const store = openTestStore();
    const questions = createQuestions();
    const hooks = createHooks({ log: silentLog, limits: { preMs: 1000, postMs: 1000 } });
    const events: unknown[] = [];
    hooks.add('watcher', 'pre_approval_request', ({ tool_name }) => void events.push(`asked for ${String(tool_name)}`));
    hooks.add('watcher', 'post_approval_response', ({ choice, decided_by }) => void events.push([choice, decided_by]));
    const approve = createApprovals({ questions, settings: { mode: 'ask', timeoutMs: 300_000, allow: ['ls'], ...given }, state: store.state('gateway'), hooks });
    const shown: string[] = [];
    const stop = new AbortController();
    const request = (args: Record<string, unknown>, more: Partial<ApprovalRequest> = {}) =>
      approve({ lane: 'lane', sessionId: 's1', turnId: 't1', platform: 'test', senderId: 'ann', toolCallId: 'c1', name: 'terminal', args, reason: 'deletes files', signal: stop.signal, show: (text) => void shown.push(text), ...more });
    return { questions, request, shown, stop, events };
  }

  test('is asked with the very bytes that would run, and given for that once', async () => {
    const { questions, request, shown, events } = await desk();
    const asked = request({ command: 'rm -rf ./build # ``` sly' });
    await idle();
    expect(shown[0]).toContain('````\nrm -rf ./build # ``` sly\n````');
    expect(questions.answerApproval('lane', 'ann', approvalChoice.once)).toBe(true);
    expect(await asked).toEqual({ allow: true });
    const again = request({ command: 'rm -rf ./build # ``` sly' });
    await idle();
    expect(shown).toHaveLength(2);
    expect(questions.answerApproval('lane', 'bob', approvalChoice.once)).toBe(false);
    expect(questions.answerApproval('lane', 'ann', approvalChoice.deny)).toBe(true);
    expect(await again).toMatchObject({ allow: false, message: expect.stringContaining('refused') as string });
    expect(events).toEqual(['asked for terminal', ['once', 'ann'], 'asked for terminal', ['deny', 'ann']]);
  });

  test('for the session holds for that reason in that session; for always for those arguments alone', async () => {
    const { questions, request, shown } = await desk();
    const answering = async (choice: number, asked: Promise<unknown>) => {
      await idle();
      await idle();
      questions.answerApproval('lane', 'ann', choice);
      return asked;
    };
    await answering(approvalChoice.session, request({ command: 'rm a' }));
    expect(await request({ command: 'rm b' })).toEqual({ allow: true });
    expect(shown).toHaveLength(1);
    await answering(approvalChoice.deny, request({ command: 'rm b' }, { sessionId: 's2' }));
    await answering(approvalChoice.deny, request({ command: 'rm b' }, { reason: 'sends data' }));
    expect(shown).toHaveLength(3);
    await answering(approvalChoice.always, request({ command: 'rm c' }, { sessionId: 's3' }));
    expect(await request({ command: 'rm c' }, { sessionId: 's4' })).toEqual({ allow: true });
    expect(await answering(approvalChoice.deny, request({ command: 'rm c ' }, { sessionId: 's4' }))).toMatchObject({ allow: false });
  });

  test('no answer in time, a stop, nobody to ask, or the mode deny: not run, and no word of how to get around it', async () => {
    const clock = stopClock();
    const { request, stop } = await desk();
    const late = request({ command: 'rm a' });
    await clock.advance(300_000, 10_000);
    const refusals = [await late];
    const stopped = request({ command: 'rm a' });
    await idle();
    stop.abort();
    refusals.push(await stopped);
    refusals.push(await (await desk()).request({ command: 'rm a' }, { show: undefined as never }));
    refusals.push(await (await desk({ mode: 'deny' })).request({ command: 'rm a' }));
    for (const refusal of refusals) expect(refusal).toMatchObject({ allow: false, message: expect.stringMatching(/^Not run: (?!.*(approvals|mode|config|allow:))/) as string });
  });

  test('a listed command and the mode off ask nobody', async () => {
    const { request, shown } = await desk();
    expect(await request({ command: 'ls' })).toEqual({ allow: true });
    const off = await desk({ mode: 'off' });
    expect(await off.request({ command: 'rm -rf /' })).toEqual({ allow: true });
    expect([...shown, ...off.shown]).toEqual([]);
  });
});
