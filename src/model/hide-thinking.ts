/**
 * Some servers write a reasoning model's thoughts into the text itself, as `<think>...</think>` before the answer. This
 * filter keeps them out of what people see, whichever way the tags are cut into deltas.
 */
const opening = '<think>';
const closing = '</think>';

export interface ThinkingFilter {
  /** What of the text so far has become visible by this delta. */
  push(delta: string): string;
  /** What was held back and turned out to be ordinary text. */
  end(): string;
}

export function createThinkingFilter(): ThinkingFilter {
  let state: 'start' | 'thinking' | 'answer-start' | 'answer' = 'start';
  let held = '';
  return {
    push(delta) {
      if (state === 'answer') return delta;
      held += delta;
      if (state === 'start') {
        const begin = held.trimStart();
        if (begin.startsWith(opening)) {
          state = 'thinking';
          held = begin.slice(opening.length);
        } else if (opening.startsWith(begin)) return '';
        else return release();
      }
      if (state === 'thinking') {
        const end = held.indexOf(closing);
        if (end < 0) {
          // Only a tail that may be the beginning of the closing tag is of any use.
          held = held.slice(-closing.length);
          return '';
        }
        state = 'answer-start';
        held = held.slice(end + closing.length);
      }
      held = held.trimStart();
      return held === '' ? '' : release();
    },
    end: () => (state === 'start' ? release() : ''),
  };

  function release(): string {
    const text = held;
    state = 'answer';
    held = '';
    return text;
  }
}
