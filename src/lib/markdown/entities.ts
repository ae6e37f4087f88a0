/** Character references (`&amp;`, `&#39;`, `&#x2014;`) as they occur in answers. An unknown one stays as it is written. */

const named: Record<string, string> = {
  amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0', shy: '', copy: '©', reg: '®', trade: '™', hellip: '…', mdash: '—',
  ndash: '–', lsquo: '‘', rsquo: '’', ldquo: '“', rdquo: '”', laquo: '«', raquo: '»', bull: '•', middot: '·', times: '×', divide: '÷',
  plusmn: '±', deg: '°', micro: 'µ', para: '¶', sect: '§', euro: '€', pound: '£', yen: '¥', cent: '¢', frac12: '½', frac14: '¼',
  frac34: '¾', sup2: '²', sup3: '³', larr: '←', rarr: '→', uarr: '↑', darr: '↓', harr: '↔', le: '≤', ge: '≥', ne: '≠', infin: '∞',
  asymp: '≈', check: '✓', ouml: 'ö', auml: 'ä', uuml: 'ü', Ouml: 'Ö', Auml: 'Ä', Uuml: 'Ü', szlig: 'ß', eacute: 'é', egrave: 'è', ccedil: 'ç',
};
const reference = /&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([a-zA-Z]\w{1,7}));/y;

/** The reference that starts at `from` and what it stands for, or null. */
export function readEntity(text: string, from: number): { value: string; to: number } | null {
  reference.lastIndex = from;
  const match = reference.exec(text);
  if (match === null) return null;
  const name = match[3];
  const value = name === undefined ? toCharacter(Number.parseInt(match[1] ?? match[2] ?? '', match[1] === undefined ? 16 : 10)) : Object.hasOwn(named, name) ? named[name] : undefined;
  return value === undefined ? null : { value, to: from + match[0].length };
}

function toCharacter(code: number): string {
  const isCharacter = code >= 32 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
  return code === 9 || code === 10 || isCharacter ? String.fromCodePoint(code) : '\ufffd';
}
