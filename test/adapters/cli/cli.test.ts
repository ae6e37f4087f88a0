/** The terminal adapter on in-memory streams: what a person types and what they see. */
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createCliAdapter, type CliConfig } from '../../../adapters/cli/index.ts';
import type { Receipt, TurnObserver } from '../../../src/contract/adapter.ts';
import { HermesError } from '../../../src/contract/errors.ts';
import type { InboundMessage } from '../../../src/contract/message.ts';
import type { TurnOutcome } from '../../../src/contract/turn.ts';
import { createTestContext } from '../../support/adapter-contract-context.ts';
import { tempHome } from '../../support/temp-home.ts';
import { waitFor } from '../../support/wait-for.ts';

const banner = { version: '1.2.3', model: 'offline/echo', tools: { calculator: ['calculate', 'unit_convert'], terminal: ['terminal'] }, notices: ['telegram is off'] };

/** A gateway that answers by script; texts without a script are echoed. */
type Script = (message: InboundMessage, observer: TurnObserver) => void | Receipt | Error;

function open(given: Partial<CliConfig> & { isTerminal?: boolean; home?: string; script?: Script } = {}) {
  const { isTerminal = true, home = tempHome(), script, ...config } = given;
  const streams = { input: new PassThrough(), output: new PassThrough(), error: new PassThrough(), isTerminal, color: false };
  let out = '';
  let err = '';
  let code: number | undefined;
  streams.output.on('data', (bytes: Buffer) => (out += bytes.toString()));
  streams.error.on('data', (bytes: Buffer) => (err += bytes.toString()));
  const context = createTestContext({ home });
  const adapter = createCliAdapter({ json: false, showsTools: true, banner, ...config }, context, streams);
  const messages: InboundMessage[] = [];
  const started = adapter.start(async (message, observer) => {
    messages.push(message);
    if (!observer) throw new Error('the terminal follows every message');
    const result = script ? script(message, observer) : observer.onDone(answered(`you said ${message.text}`));
    if (result instanceof Error) throw result;
    return result ?? { status: 'accepted', id: messages.length };
  });
  void adapter.finished.then((given) => (code = given));
  onTestFinished(() => adapter.stop());
  const shown = () => out.replaceAll(/\u001b\[[0-9;]*[A-Za-z]/g, '').replaceAll('\r', '');
  return {
    adapter,
    context,
    started,
    messages,
    texts: () => messages.map(({ text }) => text),
    raw: () => out + err,
    out: shown,
    err: () => err,
    type: (keys: string) => void streams.input.write(keys),
    end: () => void streams.input.end(),
    sees: (text: string) => waitFor(`"${text}" on the screen; it shows:\n${shown()}\n${err}`, () => shown().includes(text) || err.includes(text)),
    says: (count: number) => waitFor(`${count} messages`, () => messages.length >= count),
    leaves: async () => {
      await waitFor('the end', () => code !== undefined);
      return code;
    },
  };
}

function answered(text: string, more: Partial<TurnOutcome> = {}): TurnOutcome {
  return { status: 'answered', text, ...more };
}

describe('one question', () => {
  it('puts the final text alone on stdout, and everything else on stderr', async () => {
    const terminal = open({
      query: 'What is 2**16?',
      isTerminal: false,
      script: (_, turn) => {
        turn.onEvent({ type: 'text', delta: 'Let me see.' });
        turn.onEvent({ type: 'segment', text: 'Let me see.' });
        turn.onEvent({ type: 'tool_started', toolCallId: '1', name: 'calculate', args: { expression: '2**16' }, emoji: '' });
        turn.onEvent({ type: 'tool_finished', toolCallId: '1', name: 'calculate', status: 'ok', durationMs: 1 });
        turn.onEvent({ type: 'notice', text: 'a fallback answered' });
        turn.onEvent({ type: 'text', delta: '655' });
        turn.onDone(answered('65536'));
      },
    });
    expect(await terminal.leaves()).toBe(0);
    expect(terminal.out()).toBe('65536\n');
    expect(terminal.err()).toBe('  · calculate {"expression":"2**16"}\na fallback answered\n');
    expect(terminal.messages).toMatchObject([{ text: 'What is 2**16?', interactive: false, kind: 'message', chatType: 'dm', addressed: true, sender: { id: 'local', isBot: false }, address: { platform: 'cli', account: 'local' } }]);
    expect(terminal.context.reports).toEqual([{ state: 'up', account: 'local' }]);
  });

  it('tells nothing of tools when that is switched off', async () => {
    const terminal = open({
      query: 'x',
      showsTools: false,
      script: (_, turn) => {
        turn.onEvent({ type: 'tool_started', toolCallId: '1', name: 'calculate', args: {}, emoji: '' });
        turn.onEvent({ type: 'tool_finished', toolCallId: '1', name: 'calculate', status: 'error', durationMs: 1 });
        turn.onDone(answered('y'));
      },
    });
    expect(await terminal.leaves()).toBe(0);
    expect([terminal.out(), terminal.err()]).toEqual(['y\n', '']);
  });

  it.each<[string, Script, string]>([
    ['failed', (_, turn) => turn.onDone({ status: 'failed', text: 'The key was refused.', code: 'MODEL_AUTH' }), 'The key was refused.\n'],
    ['aborted', (_, turn) => turn.onDone({ status: 'aborted', text: '' }), '(aborted)\n'],
    ['refused', () => ({ status: 'refused', reason: 'not_allowed' }), 'The message was not accepted: not_allowed.\n'],
    ['not kept', () => new HermesError('STORE_UNAVAILABLE', 'the disk is full'), 'the disk is full\n'],
  ])('that is %s exits 1 with nothing on stdout', async (_, script, err) => {
    const terminal = open({ query: 'x', script });
    expect(await terminal.leaves()).toBe(1);
    expect([terminal.out(), terminal.err()]).toEqual(['', err]);
  });

  it('prints JSON when asked, failures too', async () => {
    const usage = { input: 1, output: 2, cached: 0, requests: 1 };
    const good = open({ query: 'x', json: true, script: (_, turn) => turn.onDone(answered('a\u001b[2Jb', { sessionId: 's', turnId: 't', model: 'm', usage })) });
    expect(await good.leaves()).toBe(0);
    expect(good.out()).not.toContain('\u001b');
    expect(JSON.parse(good.out())).toEqual({ text: 'a\u001b[2Jb', session_id: 's', turn_id: 't', model: 'm', usage, status: 'answered' });
    const bad = open({ query: 'x', json: true, script: (_, turn) => turn.onDone({ status: 'failed', text: 'No.' }) });
    expect(await bad.leaves()).toBe(1);
    expect(JSON.parse(bad.out())).toEqual({ text: 'No.', session_id: null, turn_id: null, model: null, usage: null, status: 'failed' });
  });

  it('ends when the program is stopped', async () => {
    const terminal = open({ query: 'x', script: () => {} });
    await terminal.says(1);
    await terminal.adapter.stop();
    await terminal.adapter.stop();
    expect(await terminal.leaves()).toBe(1);
  });

  it('carries what the command line asked for', async () => {
    const terminal = open({ query: 'x', toolsets: ['web'], model: 'm', sessionId: 'S' });
    await terminal.leaves();
    expect(terminal.messages[0]?.options).toEqual({ toolsets: ['web'], model: 'm', sessionId: 'S' });
    const plain = open({ query: 'x' });
    await plain.leaves();
    expect(plain.messages[0]?.options).toEqual({});
    expect(plain.messages[0]?.address.chat).not.toBe(terminal.messages[0]?.address.chat);
  });
});

describe('a conversation', () => {
  it('begins with the model, the tools by toolset and how to leave', async () => {
    const terminal = open();
    await terminal.sees('> ');
    expect(terminal.out()).toBe('Hermes 1.2.3 · offline/echo\n  calculator: calculate, unit_convert\n  terminal: terminal\n/help shows the commands. Ctrl-C stops an answer, Ctrl-D leaves.\n\n> ');
    expect(terminal.err()).toBe('telegram is off\n');
  });

  it('shows answers as they grow, activity beside them, and is left by Ctrl-D', async () => {
    let turn: TurnObserver | undefined;
    const terminal = open({ script: (_, observer) => void (turn = observer) });
    terminal.type('hello\r');
    await terminal.says(1);
    turn?.onEvent({ type: 'text', delta: 'One ' });
    await terminal.sees('One ');
    turn?.onEvent({ type: 'text', delta: 'moment.' });
    turn?.onEvent({ type: 'segment', text: 'One moment.' });
    turn?.onEvent({ type: 'tool_started', toolCallId: '1', name: 'calculate', args: { a: 'x'.repeat(200) }, emoji: '🧮' });
    turn?.onEvent({ type: 'tool_finished', toolCallId: '1', name: 'calculate', status: 'error', durationMs: 1 });
    turn?.onEvent({ type: 'text', delta: 'Half an ans' });
    turn?.onEvent({ type: 'retract' });
    turn?.onEvent({ type: 'text', delta: 'The answer' });
    turn?.onDone(answered('The answer is 4.'));
    await terminal.sees('The answer is 4.\n> ');
    expect(terminal.out()).toContain('> hello\nOne moment.\nHalf an ans\nThe answer is 4.\n> ');
    expect(terminal.err()).toMatch(/ {2}🧮 calculate \{"a":"x{80,}…\n {2}calculate: error\n\(the answer was cut off and begins again\)\n/);
    terminal.type('\u0004');
    expect(await terminal.leaves()).toBe(0);
  });

  it('shows a final text that a plugin has changed, and replies that were never streamed', async () => {
    const terminal = open({
      script: (message, turn) => {
        if (message.text === 'hi') turn.onEvent({ type: 'text', delta: 'Hello' });
        turn.onDone(answered(message.text === 'hi' ? 'HELLO' : 'Plugins (0):'));
      },
    });
    terminal.type('hi\r');
    await terminal.sees('Hello\nHELLO\n> ');
    terminal.type('/plugins\r');
    await terminal.sees('/plugins\nPlugins (0):\n> ');
  });

  it('lets nothing that a model or tool wrote command the terminal', async () => {
    const evil = ['\u001b]0;title\u0007', '\u001b]52;c;AAAA\u0007', '\u009b2J', '\u001b]8;;http://x\u001b\\', 'a\rb', '\u202Egnp.exe', '\u2066x\u2069', '\u0000\b\u007f'];
    const terminal = open({
      isTerminal: false,
      script: (message, turn) => {
        for (const text of evil) {
          turn.onEvent({ type: 'text', delta: text });
          turn.onEvent({ type: 'notice', text });
          turn.onEvent({ type: 'tool_started', toolCallId: '1', name: text, args: { text }, emoji: text });
          turn.onEvent({ type: 'tool_finished', toolCallId: '1', name: text, status: 'blocked', durationMs: 1 });
          turn.onEvent({ type: 'question', text, choices: [text] });
        }
        turn.onDone(message.text === 'a' ? answered(evil.join('')) : { status: 'failed', text: evil.join('') });
      },
    });
    terminal.type('a\nb\n');
    terminal.end();
    await terminal.leaves();
    expect(terminal.raw()).not.toMatch(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u202A-\u202E\u2066-\u2069]/);
    expect(terminal.out()).toContain('\\u001b]0;title\\u0007');
  });

  it('stops a running answer by Ctrl-C, and is left by a second one at the prompt', async () => {
    let running: TurnObserver | undefined;
    const terminal = open({
      script: (message, turn) => {
        if (message.text !== '/stop') return void (running = turn);
        turn.onDone(answered('Stopped.'));
        running?.onDone({ status: 'aborted', text: '' });
      },
    });
    terminal.type('work\r');
    await terminal.says(1);
    terminal.type('\u0003');
    await terminal.sees('Stopped.\n> ');
    expect(terminal.err()).toContain('(aborted)');
    expect(terminal.texts()).toEqual(['work', '/stop']);
    terminal.type('half a li');
    terminal.type('\u0003');
    terminal.type('\u0003');
    await terminal.sees('Ctrl-C again');
    terminal.type('\u0003');
    expect(await terminal.leaves()).toBe(0);
    expect(terminal.texts()).toEqual(['work', '/stop']);
  });

  it('can be left by Ctrl-C even when the turn does not stop', async () => {
    const terminal = open({ script: () => {} });
    terminal.type('work\r');
    await terminal.says(1);
    terminal.type('\u0003');
    await terminal.says(2);
    terminal.type('\u0003');
    expect(await terminal.leaves()).toBe(1);
  });

  it('takes the next line as the answer to a question', async () => {
    let asking: TurnObserver | undefined;
    const terminal = open({
      isTerminal: false,
      script: (message, turn) => {
        if (message.text === 'order') {
          asking = turn;
          return turn.onEvent({ type: 'question', text: 'Which one?', choices: ['red', 'blue'] });
        }
        turn.onDone(answered(''));
        if (message.text === '2') asking?.onDone(answered('Blue it is.'));
        else turn.onDone(answered('bye'));
      },
    });
    terminal.type('order\n2\nlast\n');
    terminal.end();
    expect(await terminal.leaves()).toBe(0);
    expect(terminal.texts()).toEqual(['order', '2', 'last']);
    expect(terminal.out()).toContain('Which one?\n  1. red\n  2. blue\nBlue it is.\n');
  });

  it('reads a pipe line by line, each after the answer before it, and ends when all are answered', async () => {
    const turns: TurnObserver[] = [];
    const terminal = open({ isTerminal: false, script: (_, turn) => void turns.push(turn) });
    terminal.type('one\n\ntwo\nthree');
    terminal.end();
    for (const text of ['one', 'two', 'three']) {
      await terminal.says(turns.length + (terminal.texts().includes(text) ? 0 : 1));
      expect(terminal.texts().at(-1)).toBe(text);
      turns.at(-1)?.onDone(answered(`re: ${text}`));
    }
    expect(await terminal.leaves()).toBe(0);
    expect(terminal.out()).toContain('re: one\nre: two\nre: three\n');
  });

  it('takes a paste of several lines as one message', async () => {
    const terminal = open();
    terminal.type('first\rsecond\rthird');
    await terminal.sees('third');
    // One turn of the event loop: what was pasted would be sent by now.
    await new Promise((resolve) => setImmediate(resolve));
    expect(terminal.texts()).toEqual([]);
    terminal.type('\r');
    await terminal.says(1);
    expect(terminal.texts()).toEqual(['first\nsecond\nthird']);
  });

  it('lets a person write into a running turn, and each message has its own key', async () => {
    const terminal = open({ script: () => {} });
    terminal.type('one\r');
    await terminal.says(1);
    terminal.type('two\r');
    await terminal.says(2);
    expect(new Set(terminal.messages.map(({ key }) => key)).size).toBe(2);
    expect(new Set(terminal.messages.map(({ address }) => address.chat)).size).toBe(1);
    expect(terminal.messages.every(({ interactive }) => interactive)).toBe(true);
  });

  it('leaves the session of --resume by /new, and the model of --model by /model', async () => {
    const terminal = open({ isTerminal: false, sessionId: 'S', model: 'm', toolsets: ['web'] });
    terminal.type('/model\n/model other\nhi\n/new\nhi\n');
    terminal.end();
    await terminal.leaves();
    expect(terminal.messages.map(({ options }) => [options?.sessionId, options?.model, options?.toolsets?.[0]])).toEqual([
      ['S', 'm', 'web'],
      ['S', 'm', 'web'],
      ['S', undefined, 'web'],
      ['S', undefined, 'web'],
      [undefined, undefined, 'web'],
    ]);
  });

  it('remembers what was typed in earlier chats', async () => {
    const home = tempHome();
    mkdirSync(join(home, 'cache'));
    writeFileSync(join(home, 'cache', 'cli-history'), 'oldest\nolder\n');
    const first = open({ home });
    first.type('newer\r');
    await first.says(1);
    await first.sees('you said newer\n> ');
    first.type('\u0004');
    await first.leaves();
    expect(readFileSync(join(home, 'cache', 'cli-history'), 'utf8')).toBe('oldest\nolder\nnewer\n');
    const second = open({ home: home });
    second.type('\u001b[A\u001b[A\r');
    await second.says(1);
    expect(second.texts()).toEqual(['older']);
    const fresh = open({ home: tempHome() });
    fresh.type('x\r');
    await fresh.says(1);
    await fresh.adapter.stop();
    expect(statSync(join(fresh.context.home, 'cache', 'cli-history')).mode & 0o777).toBe(0o600);
  });
});
