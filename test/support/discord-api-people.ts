/** People in front of the simulator: what they write, edit, press and command becomes events; what they see is what the bot sent. */
import { waitFor } from './wait-for.ts';
import { createMessage, findMessage, keepMessage, toGatewayMessage, type DiscordMessage, type DiscordUser, type Json, type SentMessage, type World } from './discord-api-world.ts';

export interface SayOptions {
  /** Id of the message this one answers. */
  replyTo?: string;
  attachments?: Json[];
  /** Fields put over the message as they are. */
  extra?: Json;
}

/** One person (or bot) in one channel, thread or direct chat. */
export interface Conversation {
  readonly channel: string;
  /** Writes a message; gives its id. `<@bot>` stands for a mention of the bot. */
  says(text: string, options?: SayOptions): string;
  edits(messageId: string, text: string): void;
  deletes(messageId: string): void;
  reacts(messageId: string, emoji: string): void;
  unreacts(messageId: string, emoji: string): void;
  /** Presses the newest button here that carries this label; gives the interaction's id. */
  presses(label: string): string;
  /** Uses a slash command; gives the interaction's id. */
  uses(command: string, args?: string): string;
  /** Waits for a message not seen before whose text contains or matches; marks it and all before it as seen. */
  shouldSee(text: string | RegExp, ms?: number): Promise<SentMessage>;
  /** Everything the bot has sent here. */
  seen(): SentMessage[];
}

export interface ConversationOptions {
  world: World;
  channel: string;
  user: DiscordUser;
  dispatch(type: string, data: Json): void;
}

export function createConversation({ world, channel, user, dispatch }: ConversationOptions): Conversation {
  /** Id of the newest message that was seen. */
  let cursor = '0';
  const here = (message: SentMessage): boolean => message.channel === channel;
  const written = (text: string): string => text.replaceAll('<@bot>', `<@${world.me.id}>`);

  const found = (id: string): DiscordMessage => {
    const message = findMessage(world, channel, id);
    if (!message) throw new Error(`no message ${id} in channel ${channel}`);
    return message;
  };

  /** Where and by whom, as events of this kind say it. */
  const origin = (): Json => {
    const place = world.channels.get(channel);
    const guild = place?.guild_id === undefined ? undefined : world.guilds.get(place.guild_id);
    return guild ? { channel_id: channel, guild_id: guild.id, member: { nick: null, roles: [], ...guild.members.get(user.id), user } } : { channel_id: channel };
  };

  function interact(type: number, data: Json, more: Json = {}): string {
    const id = world.nextId();
    world.responses.set(id, { type: 0, data: {}, isDeleted: false });
    const from = origin();
    const person = from['member'] === undefined ? { user } : {};
    dispatch('INTERACTION_CREATE', { id, application_id: world.me.id, token: `token-${id}`, version: 1, type, data, channel: world.channels.get(channel), ...from, ...person, ...more });
    return id;
  }

  function reaction(type: string, messageId: string, emoji: string): void {
    const { member, ...place } = origin();
    const message = { message_id: messageId, user_id: user.id, emoji: { id: null, name: emoji }, message_author_id: world.me.id };
    dispatch(type, { ...place, ...message, ...(type.endsWith('ADD') && member ? { member } : {}) });
  }

  return {
    channel,
    says(text, { replyTo, attachments, extra } = {}) {
      const message = createMessage(world, {
        channel,
        author: user,
        content: written(text),
        ...(replyTo === undefined ? {} : { message_reference: { message_id: replyTo, channel_id: channel } }),
        ...(attachments ? { attachments } : {}),
        ...extra,
      });
      keepMessage(world, message);
      dispatch('MESSAGE_CREATE', toGatewayMessage(world, message));
      return message.id;
    },
    edits(messageId, text) {
      Object.assign(found(messageId), { content: written(text), edited_timestamp: new Date().toISOString() });
      dispatch('MESSAGE_UPDATE', toGatewayMessage(world, found(messageId)));
    },
    deletes(messageId) {
      const list = world.messages.get(channel) ?? [];
      list.splice(list.indexOf(found(messageId)), 1);
      const index = world.sent.findIndex(({ id }) => id === messageId);
      if (index !== -1) world.sent.splice(index, 1);
      dispatch('MESSAGE_DELETE', { id: messageId, ...origin() });
    },
    reacts: (messageId, emoji) => reaction('MESSAGE_REACTION_ADD', messageId, emoji),
    unreacts: (messageId, emoji) => reaction('MESSAGE_REACTION_REMOVE', messageId, emoji),
    presses(label) {
      for (const message of world.sent.filter(here).toReversed()) {
        const button = message.buttons.flat().find((candidate) => candidate.label === label);
        if (button) return interact(3, { custom_id: button.custom_id, component_type: 2 }, { message: found(message.id) });
      }
      throw new Error(`no button "${label}" in channel ${channel}`);
    },
    uses: (command, args) => interact(2, { id: world.nextId(), name: command, type: 1, options: args === undefined ? [] : [{ name: 'args', type: 3, value: args }] }),
    async shouldSee(text, ms) {
      const matches = ({ content }: SentMessage): boolean => (typeof text === 'string' ? content.includes(text) : text.test(content));
      const look = (): SentMessage | undefined => world.sent.find((message) => here(message) && BigInt(message.id) > BigInt(cursor) && matches(message));
      const seen = await waitFor(`${String(text)} in channel ${channel}`, look, ms).catch((error: unknown) => {
        const texts = world.sent.filter(here).map(({ content }) => content.slice(0, 200));
        throw new Error(`${error instanceof Error ? error.message : String(error)}; seen there: ${JSON.stringify(texts)}`, { cause: error });
      });
      cursor = seen.id;
      return seen;
    },
    seen: () => world.sent.filter(here),
  };
}
