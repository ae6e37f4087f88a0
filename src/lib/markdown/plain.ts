/** Markdown -> text without any markup, for a platform that refused the marked-up one, and for terminals and logs. */
import { layOut } from './layout.ts';
import { bareStyle, type Style } from './style.ts';

const plain: Style = {
  ...bareStyle,
  codeBlock: (raw) => raw,
  quote: (rows) => rows.map((row) => (row.code ? row : { ...row, text: `> ${row.text}` })),
};

export function renderPlain(markdown: string): string {
  return layOut(markdown, plain);
}
