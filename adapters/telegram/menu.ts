/** The bot's command menu. It is sent only when it changed, because Telegram limits this call hard. */
import { createHash } from 'node:crypto';
import type { AdapterContext, MenuCommand } from '../../src/contract/adapter.ts';
import { toSdkSignal, type TelegramApi } from './api.ts';

/** Commands as Telegram takes them: names of 1-32 of `a-z0-9_`, descriptions of 1-256 characters, 100 at most. */
export function toMenu(commands: readonly MenuCommand[]): { command: string; description: string }[] {
  const menu = new Map<string, string>();
  for (const { name, description } of commands) {
    const command = name.toLowerCase().replaceAll('-', '_');
    if (/^[a-z0-9_]{1,32}$/.test(command) && !menu.has(command)) menu.set(command, description.trim().slice(0, 256) || command);
  }
  return [...menu].slice(0, 100).map(([command, description]) => ({ command, description }));
}

export async function publishMenu(api: TelegramApi, { commands, state }: Pick<AdapterContext, 'commands' | 'state'>, botId: number, signal: AbortSignal): Promise<void> {
  const menu = toMenu(commands());
  const hash = createHash('sha256').update(JSON.stringify(menu)).digest('hex');
  const key = `menu:${botId}`;
  if ((await state.get(key)) === hash) return;
  await api.raw.setMyCommands({ commands: menu }, toSdkSignal(signal));
  await state.set(key, hash);
}
