/**
 * Markdown -> Slack's mrkdwn (https://docs.slack.dev/messaging/formatting-message-text). `&`, `<` and `>` of the text are escaped
 * everywhere, code included, and the only angle brackets in the result are links to http, https and mailto that are made
 * here: `<!channel>`, `<!subteam^...>` or `<@U...>` in a text stay text.
 * A mark inside a word needs a boundary, so a zero-width space is put outside of it. Signs that merely look like marks
 * (`2 * 3`, `snake_case`) are left as they are: an invisible character in them would spoil what people copy.
 */
import { layOut } from './layout.ts';
import { withTarget, type Style } from './style.ts';

const signs = { strong: '*', emphasis: '_', strike: '~' } as const;
const boundary = '\u200b';
const linkable = /^(?:https?:\/\/|mailto:)/i;
const word = /[\p{L}\p{N}\p{Cs}]/u;

const mrkdwn: Style = {
  text: escape,
  open: (mark, before) => (word.test(before) ? boundary : '') + signs[mark],
  close: (mark, after) => signs[mark] + (word.test(after) ? boundary : ''),
  marksPerLine: true,
  // A backtick cannot be escaped inside code; such code is shown as text, which loses its look alone.
  code: (raw) => (raw.includes('`') || raw.trim() === '' ? escape(raw) : `\`${escape(raw)}\``),
  codeBlock: (raw) => `\`\`\`\n${escape(raw).replace(/``(?=`)/g, `\`\`${boundary}`)}\n\`\`\``,
  link: toLink,
  url: (raw) => toLink(raw, '', ''),
  // Code cannot stand in a quote there: it interrupts it.
  quote: (rows, depth) => rows.map((row) => (row.code ? row : { ...row, text: `${depth > 0 ? '&gt;' : '>'} ${row.text}` })),
};

/** mrkdwn for `chat.postMessage` and `chat.update`. */
export function renderSlack(markdown: string): string {
  return layOut(markdown, mrkdwn);
}

/** Bytes of the rendered text in UTF-8: `chat.update` counts them, and `chat.postMessage` counts no more than that. */
export function slackLength(markdown: string): number {
  return Buffer.byteLength(renderSlack(markdown));
}

function toLink(url: string, _label: string, plain: string): string {
  if (!linkable.test(url)) return withTarget(url, plain, escape);
  // These three end the address or the link; they are written as URLs write them.
  const target = escape(url.replace(/[|<>\s]/g, encodeURIComponent));
  const label = plain.replace(/\s+/g, ' ').trim();
  return label === '' || label === target ? `<${target}>` : `<${target}|${label}>`;
}

function escape(raw: string): string {
  if (!/[&<>]/.test(raw)) return raw;
  return raw.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
}
