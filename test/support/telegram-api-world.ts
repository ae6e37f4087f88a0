/** What Telegram's servers remember: people, chats, messages and the queue of updates that the bot has not confirmed. */
import type { Params, UploadedFile } from './telegram-api-params.ts';

export interface TelegramUser {
  id: number;
  is_bot: boolean;
  first_name: string;
  last_name?: string;
  username?: string;
}

export interface TelegramChat {
  id: number;
  type: 'private' | 'group' | 'supergroup' | 'channel';
  title?: string;
  username?: string;
  first_name?: string;
  is_forum?: true;
}

export interface Button {
  text: string;
  callback_data?: string;
}

/** A message that the bot sent and Telegram accepted, as people see it now. */
export interface SentMessage {
  chat: number;
  messageId: number;
  thread?: number;
  /** Visible text (or caption) after entities, and after edits. */
  text: string;
  /** The text as the bot wrote it, markup included. */
  raw: string;
  parseMode: string;
  /** Earlier visible texts, oldest first. */
  edits: string[];
  replyTo?: number;
  buttons: Button[][];
  /** The method that made it: sendMessage, sendPhoto ... */
  method: string;
  file?: UploadedFile;
  linkPreview: boolean;
  reaction?: string;
  /** ms since the epoch. */
  at: number;
}

export interface Call {
  method: string;
  params: Params;
  at: number;
}

export interface Update {
  update_id: number;
  [kind: string]: unknown;
}

export interface World {
  me: TelegramUser;
  users: Map<number, TelegramUser>;
  chats: Map<number, TelegramChat>;
  /** Users and groups that the bot may no longer write to, with the words of the 403. */
  closed: Map<number, string>;
  /** Groups that live at another id now. */
  migrated: Map<number, number>;
  topics: Set<string>;
  /** Every message by `chat:message`, in the platform's JSON. */
  messages: Map<string, Params>;
  sent: SentMessage[];
  calls: Call[];
  queue: Update[];
  files: Map<string, { path: string; bytes: Uint8Array; size: number | undefined }>;
  commands: { command: string; description: string }[];
  webhook: { url: string; secret: string; maxConnections: number; allowed: string[] };
  nextMessageId(): number;
  nextUpdateId(): number;
}

export function createWorld(me: TelegramUser): World {
  let message = 0;
  let update = 700_000_000;
  return {
    me,
    users: new Map([[me.id, me]]),
    chats: new Map(),
    closed: new Map(),
    migrated: new Map(),
    topics: new Set(),
    messages: new Map(),
    sent: [],
    calls: [],
    queue: [],
    files: new Map(),
    commands: [],
    webhook: { url: '', secret: '', maxConnections: 40, allowed: [] },
    nextMessageId: () => (message += 1),
    nextUpdateId: () => (update += 1),
  };
}

export function addUser(world: World, id: number, options: { name?: string; username?: string; bot?: boolean } = {}): TelegramUser {
  const user: TelegramUser = { id, is_bot: options.bot === true, first_name: options.name ?? `User ${id}`, username: options.username ?? `user${id}` };
  world.users.set(id, user);
  world.chats.set(id, { id, type: 'private', first_name: user.first_name, ...(user.username === undefined ? {} : { username: user.username }) });
  return user;
}

/** Entities as a Telegram client would attach them: @mentions and the leading /command. */
export function toEntities(text: string): Params[] {
  const entities: Params[] = [];
  const command = /^\/[A-Za-z0-9_]+(?:@[A-Za-z0-9_]+)?(?=\s|$)/.exec(text);
  if (command) entities.push({ type: 'bot_command', offset: 0, length: command[0].length });
  for (const mention of text.matchAll(/(?<![\w@/])@[A-Za-z0-9_]{5,32}/g)) {
    if (command && mention.index < command[0].length) continue;
    entities.push({ type: 'mention', offset: mention.index, length: mention[0].length });
  }
  return entities;
}

/** Drops what `offset` confirms, as the real queue does: an offset that it does not know confirms nothing. */
export function confirm(world: World, offset: number | undefined): void {
  if (offset === undefined || offset === 0) return;
  if (offset < 0) return void (world.queue = world.queue.slice(offset));
  const last = world.queue.findIndex((update) => update.update_id === offset - 1);
  if (last !== -1) world.queue.splice(0, last + 1);
}
