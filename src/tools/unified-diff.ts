/** A unified diff from edits that are known: nothing has to be compared, only written down with its surroundings. */
import type { Edit } from './find-edits.ts';

const contextLines = 3;

interface Change {
  /** Lines of the old text, from 0, `to` not included. */
  from: number;
  to: number;
  added: string[];
}

/** `edits` as findEdits gives them: in order, without overlaps, offsets in `before`. */
export function toUnifiedDiff(before: string, edits: readonly Edit[], path: string): string {
  const lines = before.split('\n');
  const out = [`--- ${path}`, `+++ ${path}`];
  let shift = 0;
  for (const hunk of toHunks(toChanges(before, edits))) {
    const first = hunk[0];
    const last = hunk.at(-1);
    if (!first || !last) continue;
    const from = Math.max(0, first.from - contextLines);
    const to = Math.min(lines.length, last.to + contextLines);
    const grown = hunk.reduce((sum, change) => sum + change.added.length - (change.to - change.from), 0);
    out.push(`@@ -${from + 1},${to - from} +${from + 1 + shift},${to - from + grown} @@`);
    let at = from;
    for (const change of hunk) {
      out.push(...lines.slice(at, change.from).map((line) => ` ${line}`));
      out.push(...lines.slice(change.from, change.to).map((line) => `-${line}`), ...change.added.map((line) => `+${line}`));
      at = change.to;
    }
    out.push(...lines.slice(at, to).map((line) => ` ${line}`));
    shift += grown;
  }
  return out.join('\n');
}

/** Widens edits to whole lines; those that share a line become one change. */
function toChanges(before: string, edits: readonly Edit[]): Change[] {
  const changes: Change[] = [];
  let line = 0;
  let lineStart = 0;
  const goTo = (offset: number) => {
    for (let next = before.indexOf('\n', lineStart); next !== -1 && next < offset; next = before.indexOf('\n', lineStart)) {
      line += 1;
      lineStart = next + 1;
    }
  };
  for (let at = 0; at < edits.length; at++) {
    const edit = edits[at];
    if (!edit) break;
    goTo(edit.start);
    const from = line;
    let added = before.slice(lineStart, edit.start) + edit.text;
    let end = edit.end;
    let lineEnd = endOfLine(before, end);
    for (let next = edits[at + 1]; next && next.start <= lineEnd; next = edits[at + 1]) {
      added += before.slice(end, next.start) + next.text;
      end = next.end;
      lineEnd = endOfLine(before, end);
      at += 1;
    }
    const taken = before.slice(lineStart, lineEnd).split('\n').length;
    changes.push({ from, to: from + taken, added: (added + before.slice(end, lineEnd)).split('\n') });
  }
  return changes;
}

function endOfLine(text: string, offset: number): number {
  const end = text.indexOf('\n', offset);
  return end === -1 ? text.length : end;
}

/** Changes whose surroundings touch are shown together. */
function toHunks(changes: readonly Change[]): Change[][] {
  const hunks: Change[][] = [];
  for (const change of changes) {
    const last = hunks.at(-1)?.at(-1);
    if (last && change.from - last.to <= 2 * contextLines) hunks.at(-1)?.push(change);
    else hunks.push([change]);
  }
  return hunks;
}
