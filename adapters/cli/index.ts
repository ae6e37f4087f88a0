/**
 * The terminal adapter: a conversation, or one question (`-q`). It has no send(): answers are read from the turn as it runs.
 * With `-q` stdout gets the final text alone; everything else goes to stderr.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import type { Adapter, AdapterContext, Receive, TurnObserver } from '../../src/contract/adapter.ts';
import { toMessage } from '../../src/contract/errors.ts';
import type { TurnOutcome } from '../../src/contract/turn.ts';
import { printable } from '../../src/lib/printable.ts';
import { openTerminal, type Terminal, type TerminalStreams } from './api.ts';
import type { CliConfig } from './config.ts';
import { toInboundMessage, toLaterOptions, toOptions } from './inbound.ts';
import { createScreen, createTurnView, showBanner, toJsonOutcome } from './outbound.ts';

export type { Banner, CliConfig } from './config.ts';

export interface CliStreams extends TerminalStreams {
  /** Activity, notes and failures. */
  error: Writable;
  color: boolean;
}

export interface CliAdapter extends Adapter {
  /** Resolves with the exit code when the conversation is left, or the one question has its end. */
  readonly finished: Promise<number>;
}

export function createCliAdapter(config: CliConfig, context: AdapterContext, streams: CliStreams): CliAdapter {
  // A chat of its own for each process, so that two terminals never share a session unless they are told to.
  const chat = randomBytes(6).toString('hex');
  let options = toOptions(config);
  let sent = 0;
  let terminal: Terminal | null = null;
  const { promise: finished, resolve: finish } = createEnd();

  /** Resolves when the message's turn is over, whatever became of it. */
  const say = async (receive: Receive, text: string, interactive: boolean, toView: (onEnd: (outcome: TurnOutcome) => void) => TurnObserver) => {
    const message = toInboundMessage(text, chat, ++sent, options, interactive, Date.now());
    options = toLaterOptions(text, options);
    return new Promise<TurnOutcome>((resolve) => {
      const view = toView(resolve);
      receive(message, view).then(
        (receipt) => {
          if (receipt.status === 'refused') view.onDone({ status: 'declined', text: `The message was not accepted: ${receipt.reason}.` });
        },
        (error: unknown) => view.onDone({ status: 'failed', text: toMessage(error) }),
      );
    });
  };

  const ask = async (receive: Receive, query: string) => {
    const screen = createScreen({ output: streams.error, error: streams.error, color: streams.color });
    const view = createTurnView({ screen, showsTools: config.showsTools, onQuestion() {}, onEnd() {} });
    const outcome = await say(receive, query, false, (onEnd) => ({
      // The text is printed once, when it is final; only the activity is shown before.
      onEvent: (event) => (event.type === 'text' || event.type === 'retract' || event.type === 'segment' ? undefined : view.onEvent(event)),
      onDone: onEnd,
    }));
    const isAnswered = outcome.status === 'answered';
    const result = config.json ? toJsonOutcome(outcome) : isAnswered ? outcome.text : null;
    if (!isAnswered) screen.note(outcome.text || `(${outcome.status})`);
    if (result === null) return finish(1);
    streams.output.write(`${printable(result)}\n`, () => finish(isAnswered ? 0 : 1));
  };

  const converse = (receive: Receive) => {
    const screen = createScreen(streams);
    const waiting: string[] = [];
    let running = 0;
    let isAsked = false;
    let isEnding = false;
    let isWarned = false;
    let isStopAsked = false;

    // Lines of a pipe wait for the answer before them; a person may write into a running turn.
    const mayStart = () => waiting.length > 0 && (streams.isTerminal || running === 0 || isAsked);

    const next = () => {
      while (mayStart()) start(waiting.shift() ?? '');
      if (isEnding && running === 0 && waiting.length === 0) finish(0);
      else if (running === 0 || isAsked) terminal?.prompt();
    };

    const start = (text: string) => {
      isAsked = false;
      running++;
      const toView = (onEnd: (outcome: TurnOutcome) => void) =>
        createTurnView({
          screen,
          showsTools: config.showsTools,
          onQuestion() {
            isAsked = true;
            next();
          },
          onEnd,
        });
      void say(receive, text, true, toView).then(() => {
        if (--running === 0) isStopAsked = false;
        next();
      });
    };

    showBanner(screen, config.banner);
    terminal = openTerminal(streams, join(context.home, 'cache', 'cli-history'), context.log, {
      onText(text) {
        isWarned = false;
        if (text.trim()) waiting.push(text);
        next();
      },
      onInterrupt() {
        const wasTyping = terminal?.clearLine();
        if (running > 0 && !isStopAsked) {
          isStopAsked = true;
          return start('/stop');
        }
        // A turn that does not even stop must not keep anybody here.
        if (running > 0) finish(1);
        if (running > 0 || (isWarned && !wasTyping)) return terminal?.close();
        // Clearing the line has shown the prompt anew.
        if (wasTyping) return;
        isWarned = true;
        screen.note('\n(Ctrl-C again, or Ctrl-D, leaves)');
        terminal?.prompt();
      },
      onEnd() {
        isEnding = true;
        terminal = null;
        if (streams.isTerminal) streams.output.write('\n');
        next();
      },
    });
    terminal.prompt();
  };

  return {
    platform: 'cli',
    hint: 'You answer in a terminal, which shows Markdown as it is written: prefer plain text, short paragraphs and code blocks.',
    finished,
    async start(receive) {
      context.report({ state: 'up', account: 'local' });
      if (config.query === undefined) converse(receive);
      else void ask(receive, config.query);
    },
    async stop() {
      terminal?.close();
      // Who waits for a turn that will not end any more must not wait for ever.
      finish(config.query === undefined ? 0 : 1);
    },
  };
}

/** Promise.withResolvers, which Node 20 lacks. Later calls of resolve change nothing. */
function createEnd() {
  let resolve: (code: number) => void = () => {};
  const promise = new Promise<number>((settle) => (resolve = settle));
  return { promise, resolve };
}
