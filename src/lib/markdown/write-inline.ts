/** Tokens of one block -> its finished text in a platform's style. */
import { isInvisible } from '../visible-text.ts';
import type { Mark } from './emphasis.ts';
import { readInline, type Token } from './inline.ts';
import { bareStyle, type Style } from './style.ts';

/** Everything of a Style that single lines need. */
type LineStyle = Omit<Style, 'codeBlock' | 'quote'>;

/** `ink` is set once something was written that a reader can see. */
export interface Seen {
  ink: boolean;
}

/** The text on one line, without marks, targets behind the labels of links: for cells of tables. */
export function toBareLine(text: string, definitions: ReadonlyMap<string, string>): string {
  return writeInline(bareStyle, readInline(text, definitions), { ink: false }).replaceAll('\n', ' ');
}

interface Link {
  url: string;
  /** Where its label starts in the output, and its text without marks. */
  start: number;
  plain: string;
}

/** A mark that is already on is not set twice, and inside a link only the outermost link counts. */
export function writeInline(style: LineStyle, tokens: Token[], seen: Seen): string {
  const out: string[] = [];
  const active: Mark[] = [];
  const open: Mark[] = [];
  const links: (Link | null)[] = [];
  let link: Link | null = null;
  const write = (text: string) => {
    out.push(text);
    if (link !== null) link.plain += text;
  };
  let index = 0;
  for (const token of tokens) {
    index += 1;
    if (token.type === 'text' || token.type === 'code' || token.type === 'url') {
      seen.ink ||= !isInvisible(token.value);
      if (token.type === 'code') write(style.code(token.value));
      else if (token.type === 'url') write(link === null ? style.url(token.value) : style.text(token.value));
      else if (style.marksPerLine && open.length > 0 && link === null) write(toMarkedLines(style, token.value, open));
      else write(style.text(token.value));
    } else if (token.type === 'open') {
      if (!active.includes(token.mark)) {
        open.push(token.mark);
        out.push(style.open(token.mark, lastOf(out)));
      }
      active.push(token.mark);
    } else if (token.type === 'close') {
      active.splice(active.lastIndexOf(token.mark), 1);
      if (!active.includes(token.mark)) {
        open.splice(open.lastIndexOf(token.mark), 1);
        out.push(style.close(token.mark, firstOf(tokens[index])));
      }
    } else if (token.type === 'link') {
      links.push(link);
      link ??= { url: token.url, start: out.length, plain: '' };
    } else {
      const outer = links.pop() ?? null;
      if (outer === null && link !== null) {
        const label = out.splice(link.start).join('');
        seen.ink ||= link.url !== '';
        out.push(style.link(link.url, label, link.plain));
      }
      link = outer;
    }
  }
  return out.join('');
}

function toMarkedLines(style: LineStyle, raw: string, open: Mark[]): string {
  const closing = open.toReversed().map((mark) => style.close(mark, '')).join('');
  const opening = open.map((mark) => style.open(mark, '')).join('');
  return style.text(raw).replace(/\n+/g, (breaks) => closing + breaks + opening);
}

function lastOf(out: string[]): string {
  return out.at(-1)?.at(-1) ?? '';
}

function firstOf(next: Token | undefined): string {
  return next?.type === 'text' ? (next.value[0] ?? '') : '';
}
