/**
 * A turn's events as chunks, while it runs. Two things can void text that was sent: the model call is made again, or a plugin
 * changed the final text. Our page is told how much stands; every other client reads a line that says so and then the right text.
 */
import type { TurnEvent, TurnOutcome } from '../../src/contract/turn.ts';
import { toErrorBody, toOutcomeFault, type Fault } from './faults.ts';
import { streamEnd, toChunk, toToolChunk, toUsageChunk, type AnswerHead } from './outbound.ts';
import { toEvent } from './sse.ts';
import type { EventStream } from './router.ts';

const keepAliveMs = 10_000;
const retracted = '\n\n[The connection to the model broke; the answer begins again.]\n\n';
const replaced = '\n\n[The answer was changed; this is the one that counts.]\n\n';

export interface StreamedAnswer {
  onEvent(event: TurnEvent): void;
  /** Null when everything was streamed; a fault when nothing was yet, so that it can be told by its status. */
  finish(outcome: TurnOutcome): Fault | null;
  /** Ends a stream that gets no outcome. The same null and fault. */
  fail(fault: Fault): Fault | null;
  /** Stops the timer; safe at any time. */
  close(): void;
}

export interface StreamOptions {
  head: AnswerHead;
  includeUsage: boolean;
  /** Leave texts out until the end: whoever joins in the middle of a turn would get half of one. */
  late: boolean;
  open(): EventStream;
}

export function createStreamedAnswer({ head, includeUsage, late, open }: StreamOptions): StreamedAnswer {
  let stream: EventStream | null = null;
  let model = head.model;
  /** All text that stands, as the page sees it, and where the running segment begins in it. */
  let shown = '';
  let segmentStart = 0;
  const notices: string[] = [];

  // Opened by the first thing to show, not by the first event: until then a failure can still be told by its status.
  const opened = () => {
    if (stream) return stream;
    stream = open();
    stream.write(toChunk({ ...head, model }, { role: 'assistant', content: '' }));
    return stream;
  };
  const put = (chunk: (head: AnswerHead) => string) => opened().write(chunk({ ...head, model }));
  const text = (delta: string) => {
    if (!delta) return;
    const gap = shown.length > 0 && shown.length === segmentStart ? '\n\n' : '';
    segmentStart += gap.length;
    shown += gap + delta;
    put((head) => toChunk(head, { content: gap + delta }));
  };
  const replace = (by: string, marker: string) => {
    shown = shown.slice(0, segmentStart) + by;
    put((head) => toChunk(head, { content: marker + by }, null, 'hermes.text.replaced', { keep: segmentStart, text: by }));
  };
  const timer = setInterval(() => opened().write(': still at it\n\n'), keepAliveMs);

  return {
    onEvent(event) {
      if (event.type === 'started') model = event.model;
      else if (event.type === 'tool_started' || event.type === 'tool_finished') put((head) => toToolChunk(head, event));
      else if (event.type === 'notice') {
        notices.push(event.text);
        put((head) => toChunk(head, {}, null, 'hermes.notice', { text: event.text }));
      } else if (event.type === 'question')
        put((head) => toChunk(head, {}, null, 'hermes.question', { text: event.text, options: event.choices }));
      else if (late) return;
      else if (event.type === 'text') text(event.delta);
      else if (event.type === 'segment') segmentStart = shown.length;
      else if (shown.length > segmentStart) replace('', retracted);
    },
    finish(outcome) {
      clearInterval(timer);
      model = outcome.model ?? model;
      const fault = toOutcomeFault(outcome);
      if (fault) return this.fail(fault);
      const final = outcome.text || (shown ? '' : notices.join('\n\n'));
      const segment = shown.slice(segmentStart);
      if (final.startsWith(segment)) text(final.slice(segment.length));
      else if (final.trim() !== segment.trim()) replace(final, replaced);
      put((head) => toChunk(head, {}, 'stop'));
      if (includeUsage) put((head) => toUsageChunk(head, outcome.usage));
      opened().write(streamEnd);
      opened().end();
      return null;
    },
    fail(fault) {
      clearInterval(timer);
      if (!stream) return fault;
      stream.write(toEvent(null, toErrorBody(fault)));
      stream.end();
      return null;
    },
    close: () => clearInterval(timer),
  };
}
