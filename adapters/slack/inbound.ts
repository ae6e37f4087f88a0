/**
 * A Slack event, slash command or press of a button becomes an InboundMessage, or null when it is not for us: our own message, a kind
 * that we do not handle, or not an event at all. Pure, and never throws whatever the JSON holds.
 *
 * A message in a channel is answered in the thread under it, so it is taken as the first of that thread from the start.
 * A mention comes twice, as `message` and as `app_mention` with another event id; both have the key of the message itself.
 */
import type { Attachment, ChatType, InboundMessage, Sender } from '../../src/contract/message.ts';
import { cleanName } from '../../src/lib/clean-name.ts';
import { toPayload, type BareMessage, type JoinEvent, type MessageEvent, type PayloadType, type ReactionEvent, type SlackCallback, type SlackCommand, type SlackFile, type SlackPress } from './event.ts';
import { readText, toSlash } from './text.ts';

/** Who we are, by `auth.test`. */
export interface Me {
  userId: string;
  botId: string;
  teamId: string;
  name: string;
}

/** What is known beside the event. */
export interface Known {
  me: Me;
  /** ms since the epoch, where Slack gives no time (slash commands). */
  now: number;
  isCommand(name: string): boolean;
  /** A person's name as far as it was learned. */
  nameOf(userId: string): string | undefined;
  /** Has the bot been called to this thread, or does it take part in it? */
  isInThread(channel: string, thread: string): boolean;
  /** What we said in the message that opened the thread. */
  saidIn(channel: string, thread: string): string | undefined;
}

/** `type` is what Socket Mode calls the payload; HTTP bodies are sorted by webhook.ts. */
export function toInboundMessage(type: PayloadType, json: unknown, known: Known): InboundMessage | null {
  const payload = toPayload(type, json);
  if (payload?.type === 'events_api') return toEvent(payload.body, known);
  if (payload?.type === 'slash_commands') return toCommand(payload.body, known);
  if (payload?.type === 'interactive') return toButton(payload.body, known);
  return null;
}

function toEvent({ event, team_id: team }: SlackCallback, known: Known): InboundMessage | null {
  const workspace = team ?? known.me.teamId;
  if ('item' in event) return toReaction(event, workspace, known);
  if (event.type === 'member_joined_channel') return toJoin(event, event.event_ts, workspace, known);
  const { subtype = '' } = event;
  if (subtype === 'message_changed') return event.message ? toEdit(event, event.message, workspace, known) : null;
  if (subtype === 'channel_join' || subtype === 'group_join') return event.user ? toJoin({ ...event, user: event.user }, event.ts, workspace, known) : null;
  const isWritten = ['', 'file_share', 'thread_broadcast', 'me_message', 'bot_message'].includes(subtype);
  return isWritten ? toMessage(event, event, workspace, known) : null;
}

type Place = Pick<MessageEvent, 'channel' | 'channel_type'>;

function toMessage(place: Place, message: BareMessage, workspace: string, known: Known): InboundMessage | null {
  const { me } = known;
  const sender = toSender(message, known);
  if (!sender || sender.id === me.userId || (message.bot_id !== undefined && message.bot_id === me.botId)) return null;
  const { text, isMention, isForOther } = readText(message.text ?? '', { ...me, nameOf: known.nameOf });
  const attachments = (message.files ?? []).flatMap((file) => (file ? toAttachment(file) : []));
  const quote = toQuote(place.channel, message, known);
  if (text === '' && attachments.length === 0 && !quote) return null;
  const isDm = isDirect(place);
  const isReply = message.thread_ts !== undefined && message.thread_ts !== message.ts;
  const thread = isReply ? message.thread_ts : isDm ? undefined : message.ts;
  const isOurThread = isReply && (message.parent_user_id === me.userId || known.isInThread(place.channel, message.thread_ts ?? ''));
  return {
    key: `message:${place.channel}:${message.ts}`,
    kind: 'message',
    ...toPlace(place.channel, isDm ? 'dm' : 'thread', thread, workspace, me),
    sender,
    text: toSlash(text),
    addressed: isDm || isMention || (isOurThread && !isForOther),
    messageId: message.ts,
    ...(quote ? { quote } : {}),
    attachments,
    at: toMs(message.ts),
  };
}

/** Slack also reports as a change that it put the preview of a link under a message; only people set `edited` anew. */
function toEdit(event: MessageEvent, changed: BareMessage, workspace: string, known: Known): InboundMessage | null {
  const { edited } = changed;
  if (!edited || edited.ts === event.previous_message?.edited?.ts) return null;
  const message = toMessage(event, changed, workspace, known);
  return message && { ...message, key: `edit:${event.channel}:${changed.ts}:${edited.ts}`, kind: 'edit', at: toMs(edited.ts) };
}

function toPlace(channel: string, chatType: ChatType, thread: string | undefined, workspace: string, me: Me): Pick<InboundMessage, 'address' | 'chatType' | 'workspace'> {
  return { address: { platform: 'slack', account: me.userId, chat: channel, ...(thread === undefined ? {} : { thread }) }, chatType, workspace };
}

/** `app_mention` does not say the channel's type; only direct chats have ids with a D. */
function isDirect({ channel, channel_type: type }: Place): boolean {
  return type === 'im' || channel.startsWith('D');
}

function toSender(message: BareMessage, known: Known): Sender | null {
  const id = message.user ?? message.bot_id;
  if (id === undefined) return null;
  const { user_profile: profile } = message;
  const written = profile?.display_name || profile?.real_name || message.username || message.bot_profile?.name;
  return { ...toPerson(id, written, known), isBot: message.bot_id !== undefined || id === 'USLACKBOT' };
}

function toPerson(id: string, written: string | undefined, known: Known): Sender {
  return { id, name: cleanName(written ?? '') || known.nameOf(id) || id, isBot: false };
}

/** Our own message at the head of a thread, or a message that was shared into this one. */
function toQuote(channel: string, message: BareMessage, { me, nameOf, saidIn }: Known): InboundMessage['quote'] {
  const { thread_ts: thread } = message;
  const said = thread === undefined || thread === message.ts ? undefined : saidIn(channel, thread);
  if (thread !== undefined && said !== undefined) return { messageId: thread, sender: me.name, text: said };
  const shared = message.attachments?.find((each) => each?.is_share || each?.is_msg_unfurl);
  if (!shared) return undefined;
  const author = cleanName(shared.author_name ?? '') || nameOf(shared.author_id ?? '') || shared.author_id || '';
  return { messageId: shared.ts ?? '', sender: author, text: readText(shared.text ?? '', { ...me, nameOf }).text };
}

/** Files that were deleted, or are hidden by the workspace's plan, have no bytes. */
function toAttachment(file: SlackFile): Attachment[] {
  if (file.mode === 'tombstone' || file.mode === 'hidden_by_limit') return [];
  const kind = toKind(file);
  const name = cleanName(file.name ?? '') || cleanName(file.title ?? '') || kind;
  return [{ kind, ref: file.url_private_download ?? file.url_private ?? file.id, name, mime: file.mimetype || 'application/octet-stream', size: file.size ?? null }];
}

function toKind({ subtype, mimetype = '' }: SlackFile): Attachment['kind'] {
  if (subtype === 'slack_audio') return 'voice';
  if (subtype === 'slack_video') return 'video';
  const kind = /^(image|audio|video)\//.exec(mimetype)?.[1];
  return kind === 'image' || kind === 'audio' || kind === 'video' ? kind : 'file';
}

/**
 * `/hermes status` is the command /status, `/hermes anything else` is a text. A slash command that is itself named like one
 * of ours (`/new`, where the app's owner has registered it) is that command.
 */
function toCommand(body: SlackCommand, known: Known): InboundMessage {
  const said = readText(body.text ?? '', { ...known.me, nameOf: known.nameOf }).text;
  const name = body.command.replace(/^\/+/, '').toLowerCase();
  const isDm = body.channel_name === 'directmessage' || isDirect({ channel: body.channel_id });
  return {
    key: `command:${body.trigger_id}`,
    kind: 'message',
    ...toPlace(body.channel_id, isDm ? 'dm' : 'channel', undefined, body.team_id ?? known.me.teamId, known.me),
    sender: toPerson(body.user_id, body.user_name, known),
    text: known.isCommand(name) ? `/${name} ${said}`.trim() : toCommandText(said, known),
    addressed: true,
    messageId: body.trigger_id,
    attachments: [],
    at: known.now,
  };
}

function toCommandText(said: string, known: Known): string {
  if (said === '') return '/help';
  const first = /^[a-z][a-z0-9_-]*(?=\s|$)/i.exec(said)?.[0].toLowerCase();
  return first !== undefined && known.isCommand(first) ? `/${said}` : toSlash(said);
}

/** The press must lead to the session in which the question was asked, so a question's own thread does not count as its place. */
function toButton({ team, user, channel, message, container, actions }: SlackPress, known: Known): InboundMessage | null {
  const [action] = actions;
  if (!action || user.id === known.me.userId) return null;
  const root = message.thread_ts ?? container?.thread_ts;
  const thread = root === message.ts ? undefined : root;
  const chatType = channel.name === 'directmessage' || isDirect({ channel: channel.id }) ? 'dm' : thread === undefined ? 'channel' : 'thread';
  return {
    key: `action:${channel.id}:${message.ts}:${action.action_ts}`,
    kind: 'button',
    ...toPlace(channel.id, chatType, thread, team?.id ?? known.me.teamId, known.me),
    sender: toPerson(user.id, user.name ?? user.username, known),
    text: '',
    addressed: true,
    messageId: message.ts,
    attachments: [],
    button: { value: action.value },
    at: toMs(action.action_ts),
  };
}

function toReaction(event: ReactionEvent, workspace: string, known: Known): InboundMessage | null {
  const { user, item, reaction, event_ts: stamp } = event;
  if (user === known.me.userId) return null;
  const isDm = isDirect(item);
  return {
    key: `reaction:${item.channel}:${item.ts}:${stamp}`,
    kind: 'reaction',
    ...toPlace(item.channel, isDm ? 'dm' : 'channel', undefined, workspace, known.me),
    sender: toPerson(user, undefined, known),
    text: '',
    addressed: isDm,
    messageId: item.ts,
    attachments: [],
    reaction: { emoji: `:${reaction}:`, removed: event.type === 'reaction_removed' },
    at: toMs(stamp),
  };
}

function toJoin({ user, channel }: Pick<JoinEvent, 'user' | 'channel'>, stamp: string, workspace: string, known: Known): InboundMessage | null {
  if (user === known.me.userId) return null;
  const sender = toPerson(user, undefined, known);
  return {
    key: `join:${channel}:${user}:${stamp}`,
    kind: 'join',
    ...toPlace(channel, 'channel', undefined, workspace, known.me),
    sender,
    text: sender.name,
    addressed: false,
    messageId: stamp,
    attachments: [],
    at: toMs(stamp),
  };
}

/** Whole milliseconds; the rest of a time stamp only tells messages apart. */
function toMs(stamp: string): number {
  return Math.floor(Number(stamp) * 1000);
}
