/** People in front of the simulator: what they write, edit, press and send becomes updates; what they see is what the bot sent. */
import { waitFor } from './wait-for.ts';
import type { Params } from './telegram-api-params.ts';
import { toEntities, type SentMessage, type Update, type World } from './telegram-api-world.ts';

export interface SayOptions {
  /** Id of the message this one answers. */
  replyTo?: number;
  /** The part of that message that is quoted. */
  quote?: string;
  /** Instead of the entities that a client would make. */
  entities?: Params[];
  /** Fields put over the message as they are. */
  extra?: Params;
}

/** One person (or bot) in one chat, or in one topic of it. */
export interface Conversation {
  readonly chat: number;
  /** Writes a message; gives its message id. */
  says(text: string, options?: SayOptions): number;
  /** Sends a message of another kind: `{photo: [...], caption: ...}`. */
  sends(content: Params, options?: SayOptions): number;
  edits(messageId: number, text: string): void;
  deletes(messageId: number): void;
  /** Presses the newest button in this chat that carries this label. */
  presses(label: string): void;
  reacts(messageId: number, emoji: string): void;
  /** Waits for a message not seen before whose text contains or matches; marks it and all before it as seen. */
  shouldSee(text: string | RegExp, ms?: number): Promise<SentMessage>;
  /** Everything the bot has sent here. */
  seen(): SentMessage[];
}

export interface ConversationOptions {
  world: World;
  chat: number;
  user: number;
  thread?: number;
  push(kind: string, content: Params): Update;
}

export function createConversation({ world, chat, user, thread, push }: ConversationOptions): Conversation {
  let cursor = 0;
  const key = (messageId: number): string => `${chat}:${messageId}`;
  const here = (message: SentMessage): boolean => message.chat === chat && (thread === undefined || message.thread === thread);

  function write(content: Params, options: SayOptions = {}): number {
    const id = world.nextMessageId();
    const message: Params = {
      message_id: id,
      from: world.users.get(user),
      chat: world.chats.get(chat),
      date: Math.floor(Date.now() / 1000),
      ...(thread === undefined ? {} : { message_thread_id: thread, is_topic_message: true }),
      ...(options.replyTo === undefined ? {} : { reply_to_message: world.messages.get(key(options.replyTo)) }),
      ...(options.quote === undefined ? {} : { quote: { text: options.quote, position: 0 } }),
      ...content,
      ...options.extra,
    };
    world.messages.set(key(id), message);
    push('message', message);
    return id;
  }

  function withEntities(text: string, options?: SayOptions): Params {
    const entities = options?.entities ?? toEntities(text);
    return { text, ...(entities.length > 0 ? { entities } : {}) };
  }

  return {
    chat,
    says: (text, options) => write(withEntities(text, options), options),
    sends: write,
    edits(messageId, text) {
      const message = { ...world.messages.get(key(messageId)), ...withEntities(text), edit_date: Math.floor(Date.now() / 1000) };
      world.messages.set(key(messageId), message);
      push('edited_message', message);
    },
    deletes: (messageId) => void world.messages.delete(key(messageId)),
    presses(label) {
      for (const message of world.sent.filter(here).toReversed()) {
        const button = message.buttons.flat().find((candidate) => candidate.text === label);
        if (!button) continue;
        const callback = { id: String(world.nextUpdateId()), from: world.users.get(user), chat_instance: '1', data: button.callback_data };
        return void push('callback_query', { ...callback, message: world.messages.get(key(message.messageId)) });
      }
      throw new Error(`no button "${label}" in chat ${chat}`);
    },
    reacts(messageId, emoji) {
      const reaction = { chat: world.chats.get(chat), message_id: messageId, user: world.users.get(user), date: Math.floor(Date.now() / 1000) };
      push('message_reaction', { ...reaction, old_reaction: [], new_reaction: [{ type: 'emoji', emoji }] });
    },
    async shouldSee(text, ms) {
      const matches = (message: SentMessage): boolean => (typeof text === 'string' ? message.text.includes(text) : text.test(message.text));
      const look = (): SentMessage | undefined => world.sent.slice(cursor).find((message) => here(message) && matches(message));
      const found = await waitFor(`${String(text)} in chat ${chat}`, look, ms).catch((error: unknown) => {
        const texts = world.sent.filter(here).map((message) => message.text.slice(0, 200));
        throw new Error(`${error instanceof Error ? error.message : String(error)}; seen there: ${JSON.stringify(texts)}`, { cause: error });
      });
      cursor = world.sent.indexOf(found) + 1;
      return found;
    },
    seen: () => world.sent.filter(here),
  };
}
