/** A line that was typed -> InboundMessage. */
import type { InboundMessage, MessageOptions } from '../../src/contract/message.ts';
import type { CliConfig } from './config.ts';

/** Pure. `chat` is this process's own id, `number` counts its messages. */
export function toInboundMessage(text: string, chat: string, number: number, options: MessageOptions, interactive: boolean, at: number): InboundMessage {
  return {
    key: `${chat}:${number}`,
    kind: 'message',
    address: { platform: 'cli', account: 'local', chat },
    chatType: 'dm',
    sender: { id: 'local', name: 'local', isBot: false },
    text,
    addressed: true,
    messageId: String(number),
    attachments: [],
    at,
    interactive,
    options,
  };
}

/** What the command line asked for; it holds for every message until a chat command asks for something else. */
export function toOptions(config: CliConfig): MessageOptions {
  const { toolsets, model, sessionId } = config;
  return { ...(toolsets ? { toolsets } : {}), ...(model === undefined ? {} : { model }), ...(sessionId === undefined ? {} : { sessionId }) };
}

/** `/new` leaves the session that --resume named, `/model x` the model that --model named. The command itself still gets both. */
export function toLaterOptions(text: string, options: MessageOptions): MessageOptions {
  const { sessionId, model, ...rest } = options;
  const keepsSession = !/^\/(new|reset|resume)\b/i.test(text);
  const keepsModel = !/^\/model\s+\S/i.test(text);
  return { ...rest, ...(sessionId !== undefined && keepsSession ? { sessionId } : {}), ...(model !== undefined && keepsModel ? { model } : {}) };
}
