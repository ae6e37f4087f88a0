/**
 * Slack's message text becomes what a person reads: entities in angle brackets are spelled out, this bot's mention is taken away, and
 * the three escaped characters are themselves again. Source: https://docs.slack.dev/messaging/formatting-message-text.
 */

export interface Reading {
  text: string;
  /** The bot was named. */
  isMention: boolean;
  /** It begins with the mention of somebody else: it is meant for them. */
  isForOther: boolean;
}

export interface Names {
  /** The bot's own user id and name. */
  userId: string;
  name: string;
  /** A person's name as far as it is known; ids stand in for the rest. */
  nameOf(userId: string): string | undefined;
}

const entity = /<([^<>]*)>/g;

export function readText(raw: string, names: Names): Reading {
  const first = /^\s*<@([A-Z0-9]+)/.exec(raw)?.[1];
  let isMention = false;
  let text = '';
  let at = 0;
  for (const { index, 0: whole, 1: inside = '' } of raw.matchAll(entity)) {
    text += unescape(raw.slice(at, index));
    at = index + whole.length;
    if (!isOurs(inside, names.userId)) text += spell(inside, names);
    else {
      isMention = true;
      at += gapBehind(text, raw.slice(at));
    }
  }
  text = (text + unescape(raw.slice(at))).trim();
  // A bare mention with nothing beside it is still a message: it keeps its text.
  if (text === '' && isMention) text = `@${names.name}`;
  return { text, isMention, isForOther: first !== undefined && first !== names.userId };
}

/** `!new` is how commands are written in threads, where Slack takes `/new` for its own. */
export function toSlash(text: string): string {
  return text.replace(/^!(?=[a-z][a-z0-9_-]*(?:\s|$))/i, '/');
}

function isOurs(inside: string, userId: string): boolean {
  return inside === `@${userId}` || inside.startsWith(`@${userId}|`);
}

/** "hey <@bot> what" keeps one space of the two; a comma or colon after a leading mention goes with it. */
function gapBehind(before: string, after: string): number {
  if (before.trim() === '') return /^[,:]?\s*/.exec(after)?.[0].length ?? 0;
  return /\s$/.test(before) ? (/^[ \t]*/.exec(after)?.[0].length ?? 0) : 0;
}

function spell(inside: string, names: Names): string {
  const bar = inside.indexOf('|');
  const target = unescape(bar === -1 ? inside : inside.slice(0, bar));
  const label = bar === -1 ? '' : unescape(inside.slice(bar + 1));
  const rest = target.slice(1);
  if (target.startsWith('@')) return `@${label || names.nameOf(rest) || rest}`;
  if (target.startsWith('#')) return `#${label || rest}`;
  // <!here>, <!subteam^S1|@team>, <!date^1392734382^{date}|Feb 18>
  if (target.startsWith('!')) return label || `@${rest.split('^')[0] ?? ''}`;
  const shown = target.replace(/^mailto:|^tel:/, '');
  return label === '' || label === shown || `http://${label}` === target || `https://${label}` === target ? shown : `${label} (${shown})`;
}

function unescape(escaped: string): string {
  return escaped.replace(/&(amp|lt|gt);/g, (_, name: string) => ({ amp: '&', lt: '<', gt: '>' })[name] ?? '');
}
