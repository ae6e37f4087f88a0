/** The bot's slash commands. They are sent only when they changed, because Discord limits this call by the day. */
import { createHash } from 'node:crypto';
import type { AdapterContext, MenuCommand } from '../../src/contract/adapter.ts';
import type { DiscordApi } from './api.ts';

export interface SlashCommand {
  name: string;
  description: string;
  options: { type: 3; name: 'args'; description: string; required: false }[];
}

/** As Discord takes them: names of 1-32 of `a-z0-9_-`, descriptions of 1-100 characters, 100 at most; each with one optional text. */
export function toSlashCommands(commands: readonly MenuCommand[]): SlashCommand[] {
  const menu = new Map<string, SlashCommand>();
  for (const { name: given, description } of commands) {
    const name = given.toLowerCase();
    if (!/^[a-z0-9_-]{1,32}$/.test(name) || menu.has(name)) continue;
    const options: SlashCommand['options'] = [{ type: 3, name: 'args', description: 'what follows the command', required: false }];
    menu.set(name, { name, description: cut(description.trim()) || name, options });
  }
  return [...menu.values()].slice(0, 100);
}

const cut = (text: string): string => (text.length <= 100 ? text : `${text.slice(0, 98).replace(/\p{Cs}$/u, '')}…`);

export async function publishMenu(api: DiscordApi, { commands, state }: Pick<AdapterContext, 'commands' | 'state'>, applicationId: string, signal: AbortSignal): Promise<void> {
  const menu = toSlashCommands(commands());
  const hash = createHash('sha256').update(JSON.stringify(menu)).digest('hex');
  const key = `menu:${applicationId}`;
  if ((await state.get(key)) === hash) return;
  await api.call('PUT', `/applications/${applicationId}/commands`, { body: menu, signal });
  await state.set(key, hash);
}
