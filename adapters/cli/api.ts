/** The terminal itself: lines with editing and a history that lasts, Ctrl-C, Ctrl-D, and pastes of several lines as one text. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { toMessage } from '../../src/contract/errors.ts';
import type { Log } from '../../src/contract/log.ts';

const historySize = 500;

export interface TerminalStreams {
  input: Readable;
  output: Writable;
  /** Somebody sits in front of it; false for a pipe or a file, of which each line is a text. */
  isTerminal: boolean;
}

export interface TerminalEvents {
  onText(text: string): void;
  onInterrupt(): void;
  /** No more text will come. */
  onEnd(): void;
}

export interface Terminal {
  prompt(): void;
  /** Empties the line that is being typed; false when it was empty already. */
  clearLine(): boolean;
  close(): void;
}

export function openTerminal(streams: TerminalStreams, historyPath: string, log: Log, events: TerminalEvents): Terminal {
  const { input, output, isTerminal } = streams;
  const lines = createInterface({ input, output, terminal: isTerminal, prompt: isTerminal ? '> ' : '', historySize, history: isTerminal ? loadHistory(historyPath) : [], removeHistoryDuplicates: true });
  let history: string[] | null = null;
  let pasted: string[] = [];

  /** A paste comes as many lines in one tick, its last one often without an end: that one waits for Enter. */
  const flush = () => {
    if (pasted.length === 0 || lines.line) return;
    const text = pasted.join('\n');
    pasted = [];
    events.onText(text);
  };

  lines.on('line', (line) => {
    if (!isTerminal) return events.onText(line);
    pasted.push(line);
    setImmediate(flush);
  });
  lines.on('history', (all: string[]) => (history = all));
  lines.on('SIGINT', () => events.onInterrupt());
  lines.on('close', () => {
    if (pasted.length > 0) events.onText(pasted.splice(0).join('\n'));
    if (isTerminal && history) saveHistory(historyPath, history, log);
    events.onEnd();
  });

  return {
    prompt: () => lines.prompt(),
    clearLine() {
      const hadText = pasted.splice(0).length > 0 || lines.line !== '';
      if (!hadText) return false;
      lines.write(null, { ctrl: true, name: 'e' });
      lines.write(null, { ctrl: true, name: 'u' });
      return true;
    },
    close: () => lines.close(),
  };
}

/** Newest first, as readline has it; the file has the newest last. */
function loadHistory(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split('\n').filter(Boolean).toReversed().slice(0, historySize);
  } catch {
    // There is none at the first start, and a chat is possible without one.
    return [];
  }
}

function saveHistory(path: string, history: string[], log: Log): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, `${history.toReversed().join('\n')}\n`, { mode: 0o600 });
  } catch (error) {
    log.warn('the history of the terminal was not kept', { error: toMessage(error) });
  }
}
