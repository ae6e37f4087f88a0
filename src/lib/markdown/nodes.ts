/**
 * What a Markdown text is made of, as blocks.ts reads it. Every block knows where it stands in the source, because one platform
 * gets the source with single blocks replaced, and because long texts are cut at their seams.
 */
import type { Content, Line } from './lines.ts';
import type { Alignment } from './table.ts';

export interface Span {
  /** First line and the line behind the last one, by number. */
  first: number;
  end: number;
  /** Source offsets; `from` is behind the markers of the containers of the first line. */
  from: number;
  to: number;
}

export type Block =
  | { type: 'paragraph'; span: Span; content: Content }
  | { type: 'heading'; span: Span; depth: number; setext: boolean; content: Content }
  /** `fence` is null for indented code; `closed` is false where the text ends first. */
  | { type: 'code'; span: Span; fence: string | null; lang: string; closed: boolean; value: string }
  | { type: 'quote'; span: Span; children: Block[] }
  | { type: 'list'; span: Span; items: ListItem[] }
  | { type: 'table'; span: Span; align: Alignment[]; rows: string[][] }
  | { type: 'rule'; span: Span };

export interface ListItem {
  span: Span;
  /** Columns before the marker, inside the container. */
  indent: number;
  /** `-`, `*`, `+`, `.` or `)`. */
  marker: string;
  /** As written, raised where that would not be more than the item before. Null for a bullet. */
  number: number | null;
  checked: boolean | null;
  children: Block[];
}

export interface Document {
  source: string;
  lines: Line[];
  blocks: Block[];
  /** Link targets by label, from lines like `[label]: target`. */
  definitions: Map<string, string>;
}
