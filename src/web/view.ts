/** The conversation on the screen. Every word that comes from outside goes in as text; Markdown goes through its renderer. */
import type { Part } from './answer.ts';
import type { ToolProgress } from './ask.ts';
import type { Turn } from './memory.ts';
import { renderMarkdown } from './markdown.ts';

export interface TurnView {
  /** Shows the turn as it is now; cheap enough for every word. */
  show(): void;
}

export interface View {
  add(turn: Turn): TurnView;
  clear(): void;
  /** Scrolls to the newest line, whatever the reader looks at. */
  toEnd(): void;
}

export interface ViewParts {
  log: HTMLElement;
  empty: HTMLElement;
  scroller: HTMLElement;
  toEnd: HTMLElement;
  /** The reader chose an answer to a question. */
  onChoice(text: string): void;
}

export function createView({ log, empty, scroller, toEnd, onChoice }: ViewParts): View {
  const isAtEnd = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 60;
  const end = () => {
    scroller.scrollTop = scroller.scrollHeight;
  };
  let follows = true;
  scroller.addEventListener('scroll', () => {
    follows = isAtEnd();
    toEnd.hidden = follows;
  }, { passive: true });
  // Whoever reads further up is not moved; whoever is at the end stays there, whatever grows: text, keyboard or composer.
  const keepEnd = () => follows && end();
  const sizes = new ResizeObserver(keepEnd);
  sizes.observe(log);
  sizes.observe(scroller);
  log.addEventListener('click', (event) => void copyFrom(event));

  return {
    add(turn) {
      empty.hidden = true;
      const question = make('article', 'question');
      question.setAttribute('aria-label', 'You');
      question.append(make('p', '', turn.text));
      const answer = make('article', 'answer');
      answer.setAttribute('aria-label', 'Hermes');
      log.append(question, answer);
      return createTurnView(turn, answer, onChoice);
    },
    clear() {
      log.replaceChildren();
      empty.hidden = false;
      toEnd.hidden = true;
      follows = true;
    },
    toEnd() {
      follows = true;
      end();
    },
  };
}

function createTurnView(turn: Turn, answer: HTMLElement, onChoice: (text: string) => void): TurnView {
  const shown: { part: string; element: HTMLElement }[] = [];
  const waiting = make('p', 'waiting');
  waiting.append(make('span', 'unseen', 'Working'), make('i'), make('i'), make('i'));
  const foot = make('footer');
  answer.append(waiting, foot);
  let waits: ReturnType<typeof setTimeout> | null = null;

  const showNow = () => {
    for (const [index, part] of turn.parts.entries()) {
      const text = JSON.stringify(part);
      const old = shown[index];
      if (old?.part === text) continue;
      const element = toElement(part, onChoice);
      if (old) old.element.replaceWith(element);
      else waiting.before(element);
      shown[index] = { part: text, element };
    }
    for (const { element } of shown.splice(turn.parts.length)) element.remove();
    waiting.hidden = turn.end !== undefined || turn.parts.at(-1)?.kind === 'question';
    foot.replaceChildren(...toFoot(turn));
    answer.setAttribute('aria-busy', String(turn.end === undefined));
  };
  return {
    show() {
      if (turn.end) {
        if (waits !== null) clearTimeout(waits);
        return showNow();
      }
      if (waits !== null) return;
      // The longer an answer takes to draw, the less often it is drawn anew while it grows.
      waits = setTimeout(() => {
        const from = performance.now();
        showNow();
        const cost = performance.now() - from;
        waits = setTimeout(() => {
          waits = null;
          if (!turn.end) showNow();
        }, Math.min(1_000, cost * 4));
      }, 16);
    },
  };
}

function toElement(part: Part, onChoice: (text: string) => void): HTMLElement {
  switch (part.kind) {
    case 'text': {
      const element = make('div', 'markdown');
      element.append(renderMarkdown(document, part.text));
      return element;
    }
    case 'tool':
      return toToolLine(part.tool);
    case 'notice':
      return make('p', 'notice', part.text);
    case 'question': {
      const element = make('div', 'asks');
      element.append(make('p', '', part.text));
      for (const choice of part.choices) {
        const button = make('button', 'quiet', choice);
        button.addEventListener('click', () => onChoice(choice));
        element.append(button);
      }
      return element;
    }
  }
}

const toolWords: Record<string, string> = { running: 'running', completed: 'done', error: 'failed', blocked: 'blocked' };

function toToolLine({ name, emoji, label, status, durationMs }: ToolProgress): HTMLElement {
  const line = make('p', 'tool');
  line.dataset['status'] = status;
  const word = toolWords[status] ?? status;
  const time = durationMs === null ? '' : durationMs < 1_000 ? ` ${Math.round(durationMs)} ms` : ` ${(durationMs / 1_000).toFixed(1)} s`;
  const icon = make('span', 'emoji', emoji || '·');
  icon.setAttribute('aria-hidden', 'true');
  line.append(icon, make('code', '', name), make('span', 'label', label), make('span', 'time', word + time));
  return line;
}

function toFoot({ end, parts }: Turn): HTMLElement[] {
  if (!end) return [];
  if (end.status === 'failed') return [make('p', 'error', end.message)];
  if (end.status === 'stopped') return [make('p', 'notice', 'Stopped.')];
  if (!parts.some((part) => part.kind === 'text')) return parts.length ? [] : [make('p', 'notice', 'Passed on to the running turn.')];
  const copy = make('button', 'copy', 'Copy');
  copy.setAttribute('type', 'button');
  return [copy];
}

/** One listener for every copy button: of a code block, or of a whole answer. */
async function copyFrom(event: Event): Promise<void> {
  const button = event.target instanceof Element ? event.target.closest('button.copy') : null;
  if (!button) return;
  const code = button.closest('figure')?.querySelector('code');
  const text = code?.textContent ?? [...(button.closest('.answer')?.querySelectorAll<HTMLElement>('.markdown') ?? [])].map((element) => element.innerText).join('\n\n');
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
  } catch {
    button.textContent = 'Not allowed';
  }
  setTimeout(() => (button.textContent = 'Copy'), 1_500);
}

function make(name: string, className = '', text = ''): HTMLElement {
  const element = document.createElement(name);
  if (className) element.className = className;
  if (text) element.textContent = text;
  return element;
}
