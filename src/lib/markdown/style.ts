/**
 * What a platform's markup looks like, and the parts of it that platforms share. layout.ts does the walk; telegram.ts, slack.ts and
 * plain.ts each bring one Style.
 */
import type { Mark } from './emphasis.ts';

export interface Style {
  /** Makes text safe for the platform. Everything else is given text that went through here, unless it says raw. */
  text(raw: string): string;
  /** A mark's beginning and end; `neighbour` is the character outside of it, empty at an edge of the block. */
  open(mark: Mark, neighbour: string): string;
  close(mark: Mark, neighbour: string): string;
  /** True where marks must end with their line and start again on the next. */
  marksPerLine: boolean;
  code(raw: string): string;
  codeBlock(raw: string, lang: string): string;
  /** `label` is finished text with marks, `plain` the same without marks; both may be empty. */
  link(rawUrl: string, label: string, plain: string): string;
  /** An address that stands in the text as it is. */
  url(raw: string): string;
  /** Lines of a quote; `depth` is how many quotes and lists it stands in. Platforms know quotes only at depth 0. */
  quote(rows: Row[], depth: number): Row[];
}

/** One line, or a block of code, whose lines take no indentation. */
export interface Row {
  text: string;
  code: boolean;
}

/** Platforms refuse some of these, and no text can show them. */
const control = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;
const halves = /\p{Cs}/gu;

/** The text as it can be sent: LF between lines, no control characters, U+FFFD for half a character. */
export function toSendable(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(control, '').replace(halves, '\ufffd');
}

/** No marks at all, and a link's target behind its label. */
export const bareStyle: Omit<Style, 'codeBlock' | 'quote'> = {
  text: (raw) => raw,
  open: () => '',
  close: () => '',
  marksPerLine: false,
  code: (raw) => raw,
  link: (url, _label, plain) => withTarget(url, plain, (raw) => raw),
  url: (raw) => raw,
};

/** A link for places that have none: the label and the target, once if they are the same. */
export function withTarget(url: string, label: string, text: (raw: string) => string): string {
  const target = text(url);
  if (label === '' || url === '' || label === target || `mailto:${label}` === target) return label || target;
  return `${label} (${target})`;
}
