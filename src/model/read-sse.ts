/**
 * Server-sent events out of decoded text (WHATWG HTML, section 9.2.6). Text goes in as it arrives, cut anywhere; whole
 * events come out. Comments and keep-alives come out as nothing, so that nobody takes them for progress.
 */
export interface SseEvent {
  event: string;
  data: string;
}

/** Characters of one event; a server that never ends its line must not fill the memory. */
const eventLimit = 4 * 1024 * 1024;

export interface SseReader {
  /** Throws a RangeError when one event is larger than 4 Mi characters. */
  push(text: string): SseEvent[];
  /** The event that the end of the stream cut short, or that was sent without its last line end. */
  end(): SseEvent[];
}

export function createSseReader(): SseReader {
  /** The beginning of a line whose end is still to come. */
  let rest = '';
  let endedInCr = false;
  let event = '';
  let data: string[] = [];
  let size = 0;

  const takeLine = (line: string, into: SseEvent[]) => {
    if (line === '') {
      if (data.length > 0) into.push({ event, data: data.join('\n') });
      event = '';
      data = [];
      size = 0;
      return;
    }
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'event') event = value;
    if (field !== 'data') return;
    data.push(value);
    size += value.length;
  };

  return {
    push(text) {
      const events: SseEvent[] = [];
      const lineEnd = /\r\n|\n|\r/g;
      // The \r of a \r\n was in the last piece.
      let start = endedInCr && text[0] === '\n' ? 1 : 0;
      lineEnd.lastIndex = start;
      if (text !== '') endedInCr = text.endsWith('\r');
      for (let match = lineEnd.exec(text); match; match = lineEnd.exec(text)) {
        takeLine(rest + text.slice(start, match.index), events);
        rest = '';
        start = lineEnd.lastIndex;
      }
      rest += text.slice(start);
      if (rest.length + size > eventLimit) throw new RangeError('one event of the stream is larger than 4 Mi characters');
      return events;
    },
    end() {
      const events: SseEvent[] = [];
      takeLine(rest, events);
      takeLine('', events);
      rest = '';
      return events;
    },
  };
}
