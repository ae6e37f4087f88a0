/** Reads HTML as strictly as Telegram does (or more so) and gives the text that is left; throws on anything that it would refuse. */

const known = new Set(['b', 'i', 'u', 's', 'code', 'pre', 'a', 'blockquote']);
const token = /<(\/?)([a-z]+)((?: [a-z]+="[^"<>]*")*)>|&(amp|lt|gt|quot);|[<>&"]/g;
const characters: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"' };

export interface ReadHtml {
  text: string;
  /** Addresses of links. */
  links: string[];
}

export function readTelegramHtml(html: string): ReadHtml {
  const open: string[] = [];
  const links: string[] = [];
  const text = html.replace(token, (found, slash: string | undefined, name: string | undefined, attributes: string | undefined, reference: string | undefined) => {
    if (reference !== undefined) return characters[reference] ?? '';
    if (name === undefined || !known.has(name)) throw new Error(`stray ${found} in ${html}`);
    if (slash === '/') {
      if (attributes !== '' || open.pop() !== name) throw new Error(`unbalanced ${found} in ${html}`);
      return '';
    }
    if (open.includes(name) || open.includes('pre') !== (name === 'code' && open.at(-1) === 'pre')) throw new Error(`${found} inside of ${open.join(' ')} in ${html}`);
    const href = /^ href="((?:https?:\/\/|mailto:)[^"]*)"$/i.exec(attributes ?? '')?.[1];
    const isLanguage = name === 'code' && open.at(-1) === 'pre' && /^ class="language-[\w+#.-]+"$/.test(attributes ?? '');
    if (name === 'a' ? href === undefined : attributes !== '' && !isLanguage) throw new Error(`attributes ${found} in ${html}`);
    if (href !== undefined) links.push(href.replace(/&(amp|lt|gt|quot);/g, (_, reference: string) => characters[reference] ?? ''));
    open.push(name);
    return '';
  });
  if (open.length > 0) throw new Error(`open ${open.join(' ')} in ${html}`);
  return { text, links };
}
