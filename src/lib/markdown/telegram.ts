/**
 * Markdown -> the HTML that Telegram takes (https://core.telegram.org/bots/api#html-style). Tags come from the tree alone and
 * all text is escaped, so nothing that a model writes can break the markup or add to it.
 * Links go to http, https and mailto only: `tg://user` would mention people.
 */
import { layOut } from './layout.ts';
import { bareStyle, withTarget, type Row, type Style } from './style.ts';

const tags = { strong: 'b', emphasis: 'i', strike: 's' } as const;
const linkable = /^(?:https?:\/\/|mailto:)/i;

/** Beyond these Telegram cuts or refuses: bytes of a request's text before parsing, and marks per message. */
const maxBytes = 32_768;
const maxEntities = 100;
const limit = 4096;

const html: Style = {
  text: escape,
  open: (mark) => `<${tags[mark]}>`,
  close: (mark) => `</${tags[mark]}>`,
  marksPerLine: false,
  code: (raw) => `<code>${escape(raw)}</code>`,
  codeBlock(raw, lang) {
    const code = escape(raw);
    return /^[\w+#.-]{1,32}$/.test(lang) ? `<pre><code class="language-${lang}">${code}</code></pre>` : `<pre>${code}</pre>`;
  },
  link(url, label) {
    if (!linkable.test(url)) return withTarget(url, label, escape);
    return `<a href="${escape(url)}">${label || escape(url)}</a>`;
  },
  // Telegram finds addresses itself.
  url: escape,
  quote(rows, depth) {
    // Quotes neither nest there nor stand in a line; an inner one shows its sign.
    if (depth > 0) return rows.map((row) => (row.code ? row : { ...row, text: `&gt; ${row.text}` }));
    return wrap(rows, '<blockquote>', '</blockquote>');
  },
};

/** The same text as a reader sees it, to be counted. */
const visible: Style = {
  ...bareStyle,
  codeBlock: (raw) => raw,
  link: (url, label, plain) => (linkable.test(url) ? label || url : withTarget(url, plain, (raw) => raw)),
  quote: (rows, depth) => (depth > 0 ? rows.map((row) => (row.code ? row : { ...row, text: `> ${row.text}` })) : rows),
};

/** HTML for `parse_mode: 'HTML'`. */
export function renderTelegram(markdown: string): string {
  return layOut(markdown, html);
}

/**
 * What the platform's limit of 4096 is measured in: UTF-16 units after the markup is taken away. More than the limit also
 * where the HTML is over 32 KiB or has over 100 marks, of which Telegram would drop the rest.
 */
export function telegramLength(markdown: string): number {
  const length = layOut(markdown, visible).length;
  const rendered = renderTelegram(markdown);
  const entities = rendered.split('</').length - 1;
  return entities > maxEntities || Buffer.byteLength(rendered) > maxBytes ? Math.max(length, limit + 1) : length;
}

function wrap(rows: Row[], before: string, after: string): Row[] {
  const wrapped = rows.map((row) => ({ ...row }));
  const first = wrapped[0];
  const last = wrapped.at(-1);
  if (first) first.text = before + first.text;
  if (last) last.text += after;
  return wrapped;
}

function escape(raw: string): string {
  if (!/[&<>"]/.test(raw)) return raw;
  return raw.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;');
}
