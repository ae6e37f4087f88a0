/**
 * What passes between an adapter and the gateway: an InboundMessage on the way in, an OutboundPart on the way out.
 * Both are plain data that survive JSON, because the inbox and the outbox keep them across a restart.
 */

export type ChatType = 'dm' | 'group' | 'channel' | 'thread';

/** A place on a platform. Every id is a string, exactly as the platform gave it. */
export interface Address {
  platform: string;
  /** The bot's own id there; tells two bots of one platform apart. */
  account: string;
  chat: string;
  thread?: string;
}

export interface Sender {
  /** The platform's immutable id; the only thing that access rules compare. */
  id: string;
  /** Display name, for people only: at most 64 characters, no control characters. */
  name: string;
  isBot: boolean;
  /** Role ids, where the platform has them. */
  roles?: string[];
}

export interface Attachment {
  kind: 'image' | 'audio' | 'voice' | 'video' | 'file' | 'sticker';
  /** What `Adapter.download` needs to find the bytes. Never a path and never shown to the model. */
  ref: string;
  /** Original name, for display only; stored files get names of our own. */
  name: string;
  mime: string;
  /** Bytes as declared by the platform, null when it does not say. */
  size: number | null;
}

export interface InboundMessage {
  /** The platform's event key; unique per (platform, account). The same event redelivered has the same key. */
  key: string;
  kind: 'message' | 'edit' | 'button' | 'reaction' | 'join';
  address: Address;
  chatType: ChatType;
  /** A tenant above the chat (Slack's team id); part of the session key where present. */
  workspace?: string;
  /** The chat that a thread belongs to, where its address is another one: its rules hold for the thread too. */
  parentChat?: string;
  sender: Sender;
  /** Text with the mention of this bot removed. Empty when the message is media alone. */
  text: string;
  /** True when the message is meant for this bot: it mentions it, replies to it, or names it in a command. */
  addressed: boolean;
  /** Id of the message on its platform, for replies and reactions. */
  messageId: string;
  /** The message this one replies to. */
  quote?: { messageId: string; sender: string; text: string };
  attachments: Attachment[];
  /** Messages that share it within one second are one message (Telegram albums). */
  albumId?: string;
  /** Which button of which message was pressed, for kind `button`: the value that the part's button carried. */
  button?: { value: string };
  /** Which reaction was set or taken away, for kind `reaction`. */
  reaction?: { emoji: string; removed: boolean };
  /** The moment on the platform's clock, ms since the epoch. */
  at: number;
  /** False where nobody can answer a question during the turn (HTTP requests, `chat -q`). Default true. */
  interactive?: boolean;
  /** Settings for this message alone, from callers that are trusted with them (HTTP, terminal). */
  options?: MessageOptions;
}

export interface MessageOptions {
  /** History to start a fresh session with: user and assistant texts, oldest first. */
  history?: { role: 'user' | 'assistant'; text: string }[];
  /** Extra text for the system prompt of a fresh session. */
  instructions?: string;
  model?: string;
  /** Toolsets instead of the platform's own. */
  toolsets?: string[];
  /** Continue this session instead of the one that the key leads to. */
  sessionId?: string;
}

export interface Button {
  label: string;
  /** Comes back in InboundMessage.button.value; at most 64 bytes. */
  value: string;
}

export interface OutboundPart {
  address: Address;
  /** Markdown source (or plain text), already within the adapter's limit. */
  text: string;
  format: 'markdown' | 'plain';
  /** Message to reply to; ignored when it is gone. */
  replyTo?: string;
  buttons?: Button[][];
  /** A file to send with this part; `text` is its caption and may be empty. */
  media?: { path: string; name: string; mime: string; kind: Attachment['kind'] };
  /** Stable for ever for one part: platforms with an idempotency key get it. At most 25 characters. */
  idempotencyKey: string;
}
