/** Is this bot meant, and what is left of the text when its mention is taken out. Offsets are UTF-16 units, as Telegram counts. */
import type { TelegramEntity } from './update.ts';

export interface Me {
  id: number;
  username: string;
}

export interface Mention {
  /** Where the bot is named, in order: `[start, end)`. */
  ranges: [number, number][];
  /** A leading /command for us (or for nobody), for another bot, or none. */
  command: 'ours' | 'other' | 'none';
}

/**
 * The leading command is read from the text, because it may come without an entity. A command that names no bot is ours: with
 * privacy mode on, Telegram passes a group's commands on to the bot they can be meant for.
 */
export function toMention(text: string, entities: readonly TelegramEntity[], me: Me): Mention {
  const name = me.username.toLowerCase();
  const command = /^\/[a-z0-9_-]+(?:@([a-z0-9_]+))?(?=\s|$)/i.exec(text);
  const bot = command?.[1]?.toLowerCase();
  const ranges: [number, number][] = [];
  const add = (start: number, end: number): void => {
    if (start < end && !ranges.some((range) => start < range[1] && end > range[0])) ranges.push([start, end]);
  };
  if (command && bot === name) add(command[0].length - name.length - 1, command[0].length);
  for (const { type, offset, length, user } of entities) {
    const isOurs = type === 'text_mention' ? user?.id === me.id : type === 'mention' && text.slice(offset, offset + length).toLowerCase() === `@${name}`;
    if (isOurs) add(offset, offset + length);
  }
  // Clients always mark a mention, except inside code; other programs that pass messages on may not.
  if (entities.length === 0 && /^\w+$/.test(name)) {
    for (const { index, 0: found } of text.matchAll(new RegExp(`(?<![\\w@/.])@${name}(?!\\w)`, 'gi'))) add(index, index + found.length);
  }
  ranges.sort(([a], [b]) => a - b);
  return { ranges, command: !command ? 'none' : bot === undefined || bot === name ? 'ours' : 'other' };
}

/** The text without the mentions, and without the white space that they leave behind. */
export function stripMention(text: string, { ranges }: Mention): string {
  let kept = '';
  let at = 0;
  for (const [start, end] of ranges) {
    kept += text.slice(at, start);
    at = Math.max(at, end);
    // "hey @bot what" keeps one space of the two; a comma or colon after a leading mention goes with it.
    const after = text.slice(at);
    if (kept.trim() === '') at += /^[,:]?\s*/.exec(after)?.[0].length ?? 0;
    else if (/\s$/.test(kept)) at += /^[ \t]*/.exec(after)?.[0].length ?? 0;
  }
  return (kept + text.slice(at)).trim();
}
