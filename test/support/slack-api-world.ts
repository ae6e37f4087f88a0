/** What Slack's servers remember: people, channels, messages and files of one workspace. */

export interface Params {
  [name: string]: unknown;
}

export interface SlackUser {
  id: string;
  name: string;
  real_name: string;
  is_bot: boolean;
}

export interface SlackChannel {
  id: string;
  type: 'im' | 'mpim' | 'channel' | 'group';
  /** The other person of a direct chat. */
  user?: string;
  /** Why the bot cannot write there, in Slack's word. */
  closed?: string;
}

export interface Button {
  label: string;
  value: string;
  actionId: string;
}

/** A message that the bot sent and Slack accepted, as people see it now. */
export interface SentMessage {
  channel: string;
  ts: string;
  thread?: string;
  /** Visible text after entities and edits. */
  text: string;
  /** The text as the bot wrote it. */
  raw: string;
  blocks: Params[];
  buttons: Button[];
  /** Earlier visible texts, oldest first. */
  edits: string[];
  files: { name: string; bytes: Buffer }[];
  unfurls: boolean;
  mrkdwn: boolean;
  reactions: string[];
  /** ms since the epoch. */
  at: number;
}

export interface Call {
  method: string;
  params: Params;
  at: number;
}

export interface StoredFile {
  id: string;
  name: string;
  bytes: Buffer;
  mimetype: string;
  /** What Slack declares; null: nothing. */
  size: number | null;
  /** Path of its private address. */
  path: string;
}

export interface World {
  team: string;
  me: { userId: string; botId: string; name: string };
  users: Map<string, SlackUser>;
  channels: Map<string, SlackChannel>;
  /** Every message by `channel:ts`, in the platform's JSON. */
  messages: Map<string, Params>;
  sent: SentMessage[];
  calls: Call[];
  files: Map<string, StoredFile>;
  /** Places that were given out for uploads, with what was put there. */
  uploads: Map<string, { name: string; length: number; bytes: Buffer | null }>;
  /** What the real Slack would have let through to people's harm: effective mentions, texts that are cut. */
  violations: string[];
  /** Status lines by `channel:thread`. */
  statuses: Map<string, string>;
  nextStamp(): string;
  nextId(prefix: string): string;
}

export function createWorld(): World {
  let micros = Date.now() * 1000;
  let id = 0;
  const me = { userId: 'U0HERMES', botId: 'B0HERMES', name: 'hermes' };
  return {
    team: 'T0TEST',
    me,
    users: new Map([[me.userId, { id: me.userId, name: me.name, real_name: 'Hermes', is_bot: true }]]),
    channels: new Map(),
    messages: new Map(),
    sent: [],
    calls: [],
    files: new Map(),
    uploads: new Map(),
    violations: [],
    statuses: new Map(),
    nextStamp() {
      micros = Math.max(micros + 1, Date.now() * 1000);
      return `${Math.floor(micros / 1_000_000)}.${String(micros % 1_000_000).padStart(6, '0')}`;
    },
    nextId: (prefix) => `${prefix}${String((id += 1)).padStart(6, '0')}`,
  };
}

export function addUser(world: World, id: string, options: { name?: string; bot?: boolean } = {}): SlackUser {
  const user: SlackUser = { id, name: (options.name ?? id).toLowerCase(), real_name: options.name ?? `User ${id}`, is_bot: options.bot === true };
  world.users.set(id, user);
  world.channels.set(toDm(id), { id: toDm(id), type: 'im', user: id });
  return user;
}

/** The id of somebody's direct chat with the bot. */
export function toDm(userId: string): string {
  return `D${userId.slice(1)}`;
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

export function list(value: unknown): Params[] {
  const read: unknown = typeof value === 'string' ? parse(value) : value;
  return Array.isArray(read) ? (read as Params[]) : [];
}

export function parse(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return undefined;
  }
}
