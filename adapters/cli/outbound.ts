/**
 * What is seen of a turn in the terminal: the answer as it grows, on `output`; tool activity and notes, dim, on `error`.
 * Everything passes `printable` on its way, because models and tools wrote it.
 */
import type { TurnObserver } from '../../src/contract/adapter.ts';
import type { TurnEvent, TurnOutcome } from '../../src/contract/turn.ts';
import { printable } from '../../src/lib/printable.ts';
import type { Banner } from './config.ts';

export interface Screen {
  /** More of the answer; nothing is added to it. */
  text(text: string): void;
  /** Ends the line that `text` has begun. */
  endLine(): void;
  /** A line of its own on `output`. */
  line(text: string): void;
  /** A dim line of its own on `error`. */
  note(text: string): void;
}

export interface ScreenStreams {
  output: { write(text: string): unknown };
  error: { write(text: string): unknown };
  /** Notes are dim; false where nobody would see it. */
  color: boolean;
}

export function createScreen({ output, error, color }: ScreenStreams): Screen {
  let isLineOpen = false;
  const closeLine = () => {
    if (isLineOpen) output.write('\n');
    isLineOpen = false;
  };
  return {
    endLine: closeLine,
    text(text) {
      if (text === '') return;
      output.write(printable(text));
      isLineOpen = !text.endsWith('\n');
    },
    line(text) {
      closeLine();
      output.write(`${printable(text)}\n`);
    },
    note(text) {
      closeLine();
      const safe = printable(text);
      error.write(color ? `\u001b[2m${safe}\u001b[22m\n` : `${safe}\n`);
    },
  };
}

export function showBanner(screen: Screen, { version, model, tools, notices }: Banner): void {
  screen.line(`Hermes ${version} · ${model}`);
  for (const [toolset, names] of Object.entries(tools)) screen.line(`  ${toolset}: ${names.join(', ')}`);
  for (const notice of notices) screen.note(notice);
  screen.line('/help shows the commands. Ctrl-C stops an answer, Ctrl-D leaves.\n');
}

export interface TurnViewOptions {
  screen: Screen;
  showsTools: boolean;
  /** A line is wanted. */
  onQuestion(): void;
  onEnd(outcome: TurnOutcome): void;
}

/** Shows one message's turn. */
export function createTurnView({ screen, showsTools, onQuestion, onEnd }: TurnViewOptions): TurnObserver {
  /** What stands on the screen of the text that the turn is writing now. */
  let shown = '';

  const settle = (text: string) => {
    if (shown !== '' && text.startsWith(shown)) screen.text(text.slice(shown.length));
    // Where a plugin has changed the final text, it is shown whole beneath what was streamed.
    else if (text.trim() !== shown.trim()) screen.line(text);
    screen.endLine();
    shown = '';
  };

  const onEvent = (event: TurnEvent): void => {
    switch (event.type) {
      case 'text':
        shown += event.delta;
        return screen.text(event.delta);
      case 'retract':
        if (shown.trim()) screen.note('(the answer was cut off and begins again)');
        shown = '';
        return;
      case 'segment':
        return settle(event.text);
      case 'tool_started':
        return showsTools ? screen.note(toActivity(event)) : undefined;
      case 'tool_finished':
        return event.status === 'ok' || !showsTools ? undefined : screen.note(`  ${event.name}: ${event.status}`);
      case 'question':
        screen.line([event.text, ...event.choices.map((choice, index) => `  ${index + 1}. ${choice}`)].join('\n'));
        return onQuestion();
      case 'notice':
        return screen.note(event.text);
      case 'started':
    }
  };

  return {
    onEvent,
    onDone(outcome) {
      if (outcome.status === 'answered') settle(outcome.text);
      else screen.note(outcome.text || `(${outcome.status})`);
      onEnd(outcome);
    },
  };
}

function toActivity({ name, emoji, args }: TurnEvent & { type: 'tool_started' }): string {
  const json = JSON.stringify(args);
  return `  ${emoji || '·'} ${name} ${json.length > 100 ? `${json.slice(0, 99)}…` : json}`;
}

/** The object that `--json` prints. */
export function toJsonOutcome({ text, sessionId, turnId, model, usage, status }: TurnOutcome): string {
  return JSON.stringify({ text, session_id: sessionId ?? null, turn_id: turnId ?? null, model: model ?? null, usage: usage ?? null, status });
}
