/**
 * The newest message of each channel that needs no second look. Discord confirms nothing and repeats nothing to a new session, so these ids
 * are all that tells, after a restart, which messages were missed. An id is written after its message was committed, never before.
 */
import type { AdapterContext } from '../../src/contract/adapter.ts';
import { compareIds } from './snowflake.ts';

/** `dm` and `talk`: somebody was answered there. `quiet`: a channel that is visible and has not been used. */
export type ChannelKind = 'dm' | 'talk' | 'quiet';

export interface SeenChannel {
  channel: string;
  /** Id of the newest message that was seen to. */
  id: string;
  kind: ChannelKind;
  /** Its server, unless it is a direct chat: a channel's history does not tell it, and without it a server's message would look private. */
  guild?: string | undefined;
}

export interface Seen {
  /** Reads what a former process left. */
  load(): Promise<void>;
  get(channel: string): SeenChannel | undefined;
  /** Newest first. */
  list(): SeenChannel[];
  /** A message was committed; resolves after the id is written. */
  keep(channel: string, id: string, kind: ChannelKind, guild?: string): Promise<void>;
  /** A message needs nothing (refused, a notice). Written with flush() alone: strangers cost no commit. */
  pass(channel: string, id: string): void;
  /** Writes what pass() only noted. */
  flush(): Promise<void>;
}

const prefix = 'seen:';
/**
 * Channels remembered; every thread is one, so without a bound they would only ever grow. Quiet ones make room first, then the
 * ones longest without a message.
 */
const most = 1000;

export function createSeen(state: AdapterContext['state']): Seen {
  const channels = new Map<string, SeenChannel>();
  /** Under which number a channel is written. */
  const slots = new Map<string, number>();
  const unwritten = new Set<string>();

  const oldest = (isWanted: (seen: SeenChannel) => boolean): string | undefined =>
    [...channels.values()].filter(isWanted).reduce<SeenChannel | undefined>((a, b) => (a && compareIds(a.id, b.id) <= 0 ? a : b), undefined)?.channel;

  /** Undefined: there is no room, and nothing that matters less. */
  const takeSlot = (kind: ChannelKind): number | undefined => {
    if (slots.size < most) return slots.size;
    const leaving = oldest((seen) => seen.kind === 'quiet') ?? (kind === 'quiet' ? undefined : oldest(() => true));
    if (leaving === undefined) return undefined;
    const slot = slots.get(leaving);
    for (const kept of [channels, slots, unwritten]) kept.delete(leaving);
    return slot;
  };

  const write = (channel: string): Promise<void> => {
    unwritten.delete(channel);
    const seen = channels.get(channel);
    return seen ? state.set(`${prefix}${slots.get(channel)}`, [channel, seen.id, seen.kind, ...(seen.guild === undefined ? [] : [seen.guild])].join(' ')) : Promise.resolve();
  };

  const advance = (channel: string, id: string, kind: ChannelKind, guild?: string): void => {
    const before = channels.get(channel);
    if (!before) {
      const slot = takeSlot(kind);
      if (slot === undefined) return;
      slots.set(channel, slot);
    }
    channels.set(channel, { channel, id: before && compareIds(before.id, id) > 0 ? before.id : id, kind, guild: guild ?? before?.guild });
  };

  return {
    async load() {
      for (const { key, value } of await state.list(prefix)) {
        const [channel = '', id = '', kind = 'quiet', guild] = value.split(' ');
        slots.set(channel, Number(key.slice(prefix.length)));
        channels.set(channel, { channel, id, kind: kind as ChannelKind, guild });
      }
    },
    get: (channel) => channels.get(channel),
    list: () => [...channels.values()].sort((a, b) => compareIds(b.id, a.id)),
    async keep(channel, id, kind, guild) {
      const before = channels.get(channel);
      advance(channel, id, kind, guild);
      const after = channels.get(channel);
      if (before?.id !== after?.id || before?.kind !== after?.kind || unwritten.has(channel)) await write(channel);
    },
    pass(channel, id) {
      const before = channels.get(channel);
      if (!before || compareIds(id, before.id) <= 0) return;
      advance(channel, id, before.kind);
      unwritten.add(channel);
    },
    flush: async () => void (await Promise.all([...unwritten].map(write))),
  };
}
