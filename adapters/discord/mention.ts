/** Discord's marks in a text (`<@1>`, `<#2>`, `<:smile:3>`) as people read them, with the mention of this bot taken out. */
import { cleanName } from '../../src/lib/clean-name.ts';

export interface Names {
  /** True for the bot itself and for the role that is its own. */
  isUs(kind: 'user' | 'role', id: string): boolean;
  user(id: string): string | undefined;
  role(id: string): string | undefined;
  channel(id: string): string | undefined;
}

export interface Readable {
  text: string;
  isMentioned: boolean;
}

/** Source: https://discord.com/developers/docs/reference#message-formatting. */
const marks = /<@!?(?<user>\d{1,20})>|<@&(?<role>\d{1,20})>|<#(?<channel>\d{1,20})>|<a?:(?<emoji>\w{1,64}):\d{1,20}>|<\/(?<command>[^:>]{1,100}):\d{1,20}>/g;

export function toReadable(source: string, names: Names): Readable {
  let text = '';
  let at = 0;
  let isMentioned = false;
  for (const match of source.matchAll(marks)) {
    const { user, role, channel, emoji, command } = match.groups ?? {};
    text += source.slice(at, match.index);
    at = match.index + match[0].length;
    if ((user !== undefined && names.isUs('user', user)) || (role !== undefined && names.isUs('role', role))) {
      isMentioned = true;
      // "hey @bot what" keeps one space of the two; a comma or colon after a leading mention goes with it.
      const after = source.slice(at);
      if (text.trim() === '') at += /^[,:]?\s*/.exec(after)?.[0].length ?? 0;
      else if (/\s$/.test(text)) at += /^[ \t]*/.exec(after)?.[0].length ?? 0;
    } else if (user !== undefined) text += `@${cleanName(names.user(user) ?? '') || user}`;
    else if (role !== undefined) text += `@${cleanName(names.role(role) ?? '') || 'role'}`;
    else if (channel !== undefined) text += `#${cleanName(names.channel(channel) ?? '') || channel}`;
    else text += command === undefined ? `:${emoji}:` : `/${command}`;
  }
  return { text: (text + source.slice(at)).trim(), isMentioned };
}
