/** A skill's Markdown file: the optional YAML head between two `---` lines, and the text below it. */
import { parse } from 'yaml';

export interface SkillText {
  name: string | null;
  /** One line; from the head, else the first line of the text. */
  description: string;
  body: string;
}

/** Characters of a description that the index shows. */
const maxDescription = 200;

/** Never throws: a head that is no YAML is passed over. */
export function readFrontMatter(source: string): SkillText {
  const text = source.replace(/^\uFEFF/, '').replace(/\r\n/g, '\n');
  const match = /^---[ \t]*\n([\s\S]*?)\n?---[ \t]*(?:\n|$)/.exec(text);
  const head = toHead(match?.[1] ?? '');
  const body = (match ? text.slice(match[0].length) : text).trim();
  const firstLine = body.split('\n').find((line) => line.trim() !== '') ?? '';
  const name = typeof head.name === 'string' && head.name.trim() !== '' ? head.name.trim() : null;
  const description = typeof head.description === 'string' && head.description.trim() !== '' ? head.description : firstLine.replace(/^#+\s*/, '');
  return { name, description: toOneLine(description), body };
}

function toHead(yaml: string): Record<string, unknown> {
  try {
    const value: unknown = parse(yaml);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function toOneLine(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ');
  return line.length <= maxDescription ? line : `${[...line].slice(0, maxDescription - 1).join('')}…`;
}
