/**
 * Markdown -> the HTML that Telegram takes (https://core.telegram.org/bots/api#html-style). Tags come from the tree alone and
 * all text is escaped, so nothing that a model writes can break the markup or add to it.
 * Links go to http, https and mailto only: `tg://user` would mention people.
 */
import { layOut } from './layout.ts';
import { withTarget, type Row, type Style } from './style.ts';

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

/** HTML for `parse_mode: 'HTML'`. */
export function renderTelegram(markdown: string): string {
  return layOut(markdown, html);
}

/**
 * What the platform's limit of 4096 is measured in: UTF-16 units after the markup is taken away. Where HTML comes near 32 KiB or 100
 * marks, the share of those that is used up, of 4096: beyond them Telegram refuses the text or drops marks.
 */
export function telegramLength(markdown: string): number {
  const rendered = renderTelegram(markdown);
  const { visible, entities } = count(rendered);
  const bytes = rendered.length > maxBytes / 6 ? Buffer.byteLength(rendered) : 0;
  const share = Math.max(entities / maxEntities, bytes / maxBytes);
  // Short texts are measured as they are seen, so that any text can be cut to any limit.
  return share > 0.5 ? Math.max(visible, Math.ceil(limit * share)) : visible;
}

/** UTF-16 units outside of tags, a reference as one, and tags that end: all text is escaped, so every `<` and `&` is ours. */
function count(rendered: string): { visible: number; entities: number } {
  let visible = 0;
  let entities = 0;
  let at = 0;
  while (at < rendered.length) {
    const code = rendered.charCodeAt(at);
    if (code === 60) {
      if (rendered.charCodeAt(at + 1) === 47) entities += 1;
      at = rendered.indexOf('>', at) + 1;
    } else {
      visible += 1;
      at = code === 38 ? rendered.indexOf(';', at) + 1 : at + 1;
    }
  }
  return { visible, entities };
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
