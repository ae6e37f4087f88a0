/** People in front of the simulator: what they write, edit, press and send becomes events; what they see is what the bot sent. */
import type { Delivery } from './slack-api-delivery.ts';
import type { Params, SentMessage, World } from './slack-api-world.ts';
import { waitFor } from './wait-for.ts';

export interface SayOptions {
  /** The message at the head of the thread. */
  thread?: string;
  /** Fields put over the event as they are. */
  extra?: Params;
}

/** One person (or bot) in one channel. */
export interface Conversation {
  readonly channel: string;
  /** Writes a message, in Slack's own notation; gives its time stamp. */
  says(text: string, options?: SayOptions): string;
  edits(ts: string, text: string): void;
  deletes(ts: string): void;
  /** Presses the newest button in this channel that carries this label. */
  presses(label: string): void;
  reacts(ts: string, name: string): void;
  /** Uses a slash command. */
  commands(command: string, text: string): void;
  joins(): void;
  /** Waits for a message not seen before whose text contains or matches; marks it and all before it as seen. */
  shouldSee(text: string | RegExp, ms?: number): Promise<SentMessage>;
  /** Everything the bot has sent here. */
  seen(): SentMessage[];
}

export interface PeopleDeps {
  world: World;
  delivery: Delivery;
}

/** The frame that Slack puts around every event. */
export function toCallback(world: World, event: Params): Params {
  return { token: 'unused', team_id: world.team, api_app_id: 'A0TEST', type: 'event_callback', event_id: world.nextId('Ev'), event_time: Math.floor(Date.now() / 1000), event };
}

export function createConversation({ world, delivery }: PeopleDeps, channel: string, user: string): Conversation {
  let cursor = 0;
  const key = (ts: string): string => `${channel}:${ts}`;
  const type = world.channels.get(channel)?.type ?? 'channel';
  const place = { channel, channel_type: type };
  const push = (event: Params): void => void delivery.push('events_api', toCallback(world, event));
  const person = () => world.users.get(user);

  return {
    channel,
    says(text, { thread, extra = {} } = {}) {
      const ts = world.nextStamp();
      const parent = thread === undefined ? undefined : world.messages.get(key(thread));
      const bot = person()?.is_bot ? { bot_id: user === world.me.userId ? world.me.botId : `B${user.slice(1)}` } : {};
      const message = { type: 'message', user, text, ts, team: world.team, ...bot, ...(thread === undefined ? {} : { thread_ts: thread, parent_user_id: parent?.['user'] }), ...extra };
      world.messages.set(key(ts), message);
      push({ ...message, ...place, event_ts: ts });
      // A mention is told twice, as another event about the same message.
      if (type !== 'im' && text.includes(`<@${world.me.userId}`)) push({ ...message, type: 'app_mention', channel, event_ts: ts });
      return ts;
    },
    edits(ts, text) {
      const before = world.messages.get(key(ts)) ?? {};
      const message = { ...before, text, edited: { user, ts: world.nextStamp() } };
      world.messages.set(key(ts), message);
      push({ type: 'message', subtype: 'message_changed', ...place, ts: world.nextStamp(), message, previous_message: before });
    },
    deletes(ts) {
      const before = world.messages.get(key(ts));
      world.messages.delete(key(ts));
      world.sent.splice(0, world.sent.length, ...world.sent.filter((sent) => sent.channel !== channel || sent.ts !== ts));
      push({ type: 'message', subtype: 'message_deleted', ...place, ts: world.nextStamp(), deleted_ts: ts, previous_message: before });
    },
    presses(label) {
      for (const sent of world.sent.filter((each) => each.channel === channel).toReversed()) {
        const button = sent.buttons.find((each) => each.label === label);
        if (!button) continue;
        const actions = [{ type: 'button', action_id: button.actionId, block_id: 'x', value: button.value, action_ts: world.nextStamp(), text: { type: 'plain_text', text: label } }];
        const from = { id: user, username: person()?.name, name: person()?.name, team_id: world.team };
        const container = { type: 'message', message_ts: sent.ts, channel_id: channel, is_ephemeral: false };
        const name = type === 'im' ? 'directmessage' : 'test';
        return void delivery.push('interactive', { type: 'block_actions', user: from, team: { id: world.team }, container, channel: { id: channel, name }, message: world.messages.get(key(sent.ts)), actions, trigger_id: world.nextId('tr') });
      }
      throw new Error(`no button "${label}" in ${channel}`);
    },
    reacts(ts, name) {
      push({ type: 'reaction_added', user, reaction: name, item: { type: 'message', channel, ts }, event_ts: world.nextStamp() });
    },
    commands(command, text) {
      const name = type === 'im' ? 'directmessage' : 'test';
      delivery.push('slash_commands', { command, text, trigger_id: world.nextId('tr.'), team_id: world.team, channel_id: channel, channel_name: name, user_id: user, user_name: person()?.name ?? '', response_url: 'http://127.0.0.1:1/none' });
    },
    joins() {
      const ts = world.nextStamp();
      push({ type: 'message', subtype: 'channel_join', ...place, user, ts, event_ts: ts, text: `<@${user}> has joined the channel` });
    },
    async shouldSee(text, ms) {
      const matches = (sent: SentMessage): boolean => (typeof text === 'string' ? sent.text.includes(text) : text.test(sent.text));
      const look = (): SentMessage | undefined => world.sent.slice(cursor).find((sent) => sent.channel === channel && matches(sent));
      const found = await waitFor(`${String(text)} in ${channel}`, look, ms).catch((error: unknown) => {
        const texts = world.sent.filter((sent) => sent.channel === channel).map((sent) => sent.text.slice(0, 200));
        throw new Error(`${error instanceof Error ? error.message : String(error)}; seen there: ${JSON.stringify(texts)}`, { cause: error });
      });
      cursor = world.sent.indexOf(found) + 1;
      return found;
    },
    seen: () => world.sent.filter((sent) => sent.channel === channel),
  };
}
