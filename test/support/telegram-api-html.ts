/** What the Bot API does with `parse_mode: HTML`: checks the markup and gives the visible text, or says what is wrong as the real one does. */

const tags = new Set(['b', 'strong', 'i', 'em', 'u', 'ins', 's', 'strike', 'del', 'span', 'tg-spoiler', 'a', 'tg-emoji', 'code', 'pre', 'blockquote']);
const named: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"' };

export type Parsed = { ok: true; text: string } | { ok: false; description: string };

/** Visible text of Telegram HTML, in the order of https://core.telegram.org/bots/api#html-style; unknown or unbalanced tags are refused. */
export function parseTelegramHtml(html: string): Parsed {
  const open: string[] = [];
  let text = '';
  let at = 0;
  const refuse = (what: string): Parsed => ({ ok: false, description: `Bad Request: can't parse entities: ${what} at byte offset ${Buffer.byteLength(html.slice(0, at))}` });
  while (at < html.length) {
    const char = html.charAt(at);
    if (char === '&') {
      const entity = /^&(?:#x([0-9a-f]+)|#([0-9]+)|([a-z]+));/i.exec(html.slice(at, at + 12));
      const value = entity ? decode(entity) : undefined;
      text += value ?? '&';
      at += value === undefined || !entity ? 1 : entity[0].length;
    } else if (char === '<') {
      const close = html.indexOf('>', at);
      const inside = close === -1 ? '' : html.slice(at + 1, close);
      const tag = /^(\/?)([a-z][a-z-]*)((?:\s+[a-z-]+(?:="[^"<>]*")?)*)\s*$/i.exec(inside);
      const name = tag?.[2]?.toLowerCase() ?? '';
      if (!tag) return refuse('Unexpected end tag or broken start tag');
      if (!tags.has(name)) return refuse(`Unsupported start tag "${name}"`);
      if (name === 'span' && tag[1] === '' && !/class="tg-spoiler"/.test(tag[3] ?? '')) return refuse('Tag "span" must have class "tg-spoiler"');
      if (tag[1] === '') open.push(name);
      else if (open.pop() !== name) return refuse(`Unmatched end tag "${name}"`);
      at = close + 1;
    } else {
      text += char;
      at += 1;
    }
  }
  if (open.length > 0) return refuse(`Can't find end tag corresponding to start tag "${open.at(-1)}"`);
  return { ok: true, text };
}

function decode([, hex, decimal, name]: RegExpExecArray): string | undefined {
  if (name !== undefined) return named[name];
  const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : undefined;
}
