/**
 * Where an old text stands in a file. Models often get white space wrong, so when there is no exact match the lines are
 * compared with their white space evened out, and the new text gets the indentation that the file has.
 */
export interface Edit {
  /** Offsets in the text before any edit. */
  start: number;
  end: number;
  text: string;
}

/** The edits in order, without overlaps. Throws an Error for the model: not found, or not unique and `all` is false. */
export function findEdits(text: string, before: string, after: string, all: boolean): Edit[] {
  if (before === '') throw new Error('old_string is empty; give the text that is to be replaced.');
  if (before === after) throw new Error('old_string and new_string are equal.');
  const crlf = text.includes('\r\n') && !before.includes('\r');
  const [from, to] = crlf ? [before.replace(/\n/g, '\r\n'), after.replace(/\r?\n/g, '\r\n')] : [before, after];
  const exact = findExact(text, from, to);
  const edits = exact.length > 0 ? exact : findByLines(text, from, to);
  if (edits.length === 0) throw new Error('old_string was not found; read the file again and give the text as it stands there.');
  if (edits.length > 1 && !all) throw new Error(`old_string was found ${edits.length} times; add lines around it, or set replace_all.`);
  return edits;
}

function findExact(text: string, before: string, after: string): Edit[] {
  const edits: Edit[] = [];
  for (let start = text.indexOf(before); start !== -1; start = text.indexOf(before, start + before.length))
    edits.push({ start, end: start + before.length, text: after });
  return edits;
}

function findByLines(text: string, before: string, after: string): Edit[] {
  const wanted = before.replace(/\r?\n$/, '').split('\n').map(evened);
  if (wanted.every((line) => line === '')) return [];
  const lines = text.split('\n');
  const starts: number[] = [];
  for (let at = 0, offset = 0; at < lines.length; offset += (lines[at] ?? '').length + 1, at++) starts.push(offset);
  const even = lines.map(evened);
  const edits: Edit[] = [];
  for (let at = 0; at + wanted.length <= lines.length; at++) {
    if (!wanted.every((line, index) => even[at + index] === line)) continue;
    const last = at + wanted.length - 1;
    const end = (starts[last] ?? 0) + (lines[last] ?? '').replace(/\r$/, '').length;
    edits.push({ start: starts[at] ?? 0, end, text: reindented(after.replace(/\r?\n$/, ''), indentOf(before), indentOf(lines[at] ?? '')) });
    at = last;
  }
  return edits;
}

function evened(line: string): string {
  return line.trim().replace(/\s+/g, ' ');
}

function indentOf(line: string): string {
  return /^[ \t]*/.exec(line)?.[0] ?? '';
}

function reindented(text: string, from: string, to: string): string {
  const lines = text.split('\n');
  return lines.map((line) => (line.trim() !== '' && line.startsWith(from) ? to + line.slice(from.length) : line)).join('\n');
}

export function applyEdits(text: string, edits: readonly Edit[]): string {
  let result = '';
  let at = 0;
  for (const edit of edits) {
    result += text.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  return result + text.slice(at);
}
