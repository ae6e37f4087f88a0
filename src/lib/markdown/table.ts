/** Tables of GitHub's dialect: how a row is told apart and cut into cells, and how they are set as text in columns. */

export type Alignment = 'left' | 'right' | 'center' | null;

/** Wider tables would wrap on a phone and on most screens, where columns are of no use any more. */
const maxWidth = 100;

/** True for `|---|:-:|` and its like. */
export function isDelimiterRow(text: string): boolean {
  let dashes = 0;
  for (let index = 0; index < text.length; index += 1) {
    const mark = text[index];
    if (mark === '-') dashes += 1;
    else if (mark !== '|' && mark !== ':' && mark !== ' ' && mark !== '\t') return false;
  }
  return dashes > 0 && splitRow(text).every((cell) => /^:?-+:?$/.test(cell));
}

/** The cells of a row, trimmed; `\|` is a bar inside a cell. */
export function splitRow(text: string): string[] {
  const cells: string[] = [];
  let from = text.startsWith('|') ? 1 : 0;
  let escaped = false;
  for (let index = from; index < text.length; index += 1) {
    const mark = text[index];
    if (mark === '|' && !escaped) {
      cells.push(toCell(text.slice(from, index)));
      from = index + 1;
    }
    escaped = mark === '\\' && !escaped;
  }
  if (from < text.length) cells.push(toCell(text.slice(from)));
  return cells;
}

function toCell(text: string): string {
  return text.includes('\\|') ? text.replaceAll('\\|', '|').trim() : text.trim();
}

export function toAlignments(delimiter: string): Alignment[] {
  return splitRow(delimiter).map((cell) => {
    const left = cell.startsWith(':');
    const right = cell.endsWith(':');
    return left && right ? 'center' : right ? 'right' : left ? 'left' : null;
  });
}

/**
 * Rows of finished cells as lines of text: in columns with a rule under the head, or, where they would be too wide, cells
 * with bars between. Rows may differ in length; no cell is dropped.
 */
export function toTableText(rows: string[][], align: Alignment[]): string {
  const widths: number[] = [];
  for (const row of rows) for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 1, widthOf(cell));
  const total = widths.reduce((sum, width) => sum + width + 3, -3);
  const inColumns = total <= maxWidth;
  const lines = rows.map((row) => (inColumns ? row.map((cell, column) => pad(cell, widths[column] ?? 1, align[column] ?? null)) : row).join(' | ').trimEnd());
  if (inColumns) lines.splice(1, 0, widths.map((width) => '-'.repeat(width)).join('-+-'));
  return lines.join('\n');
}

function pad(cell: string, width: number, align: Alignment): string {
  const missing = width - widthOf(cell);
  if (missing <= 0) return cell;
  const before = align === 'right' ? missing : align === 'center' ? missing >> 1 : 0;
  return ' '.repeat(before) + cell + ' '.repeat(missing - before);
}

const ascii = /^[ -~]*$/;
const zeroWidth = /^[\p{M}\p{Cf}\ufe00-\ufe0f]$/u;
const doubleWidth = /^[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\p{Emoji_Presentation}\u{20000}-\u{3fffd}]$/u;

/** Columns of a fixed-width font that a text takes; a joined emoji counts as one of its parts. */
function widthOf(text: string): number {
  if (ascii.test(text)) return text.length;
  let width = 0;
  let joined = false;
  for (const character of text) {
    if (!zeroWidth.test(character) && !joined) width += doubleWidth.test(character) ? 2 : 1;
    joined = character === '\u200d';
  }
  return width;
}
