/** The methods of the Bot API that the simulator knows, with the checks and the words of refusal of the real one. */
import { parseTelegramHtml } from './telegram-api-html.ts';
import { number, object, text, type CallBody, type Params } from './telegram-api-params.ts';
import type { Button, SentMessage, World } from './telegram-api-world.ts';

export type Answer = { ok: true; result: unknown } | { ok: false; error_code: number; description: string; parameters?: Params };

export const ok = (result: unknown): Answer => ({ ok: true, result });
export const no = (code: number, description: string, parameters?: Params): Answer => ({
  ok: false,
  error_code: code,
  description,
  ...(parameters ? { parameters } : {}),
});

const uploads: Record<string, string> = {
  sendPhoto: 'photo',
  sendDocument: 'document',
  sendVoice: 'voice',
  sendAudio: 'audio',
  sendVideo: 'video',
  sendAnimation: 'animation',
  sendSticker: 'sticker',
};
const actions = new Set(['typing', 'upload_photo', 'record_video', 'upload_video', 'record_voice', 'upload_voice', 'upload_document', 'choose_sticker', 'find_location']);

/** Runs one call; getUpdates, webhooks and faults are the server's own. */
export function answerCall(world: World, method: string, body: CallBody): Answer {
  const { params } = body;
  if (method === 'sendMessage') return send(world, method, body, text(params['text']), 4096);
  if (method in uploads) return sendFile(world, method, body);
  if (method === 'editMessageText' || method === 'editMessageCaption') return edit(world, method, params);
  if (method === 'getMe') return ok({ ...world.me, can_join_groups: true, can_read_all_group_messages: false, supports_inline_queries: false });
  if (method === 'sendChatAction') return refusal(world, params) ?? (actions.has(text(params['action'])) ? ok(true) : no(400, 'Bad Request: wrong parameter action in request'));
  if (method === 'answerCallbackQuery') return text(params['callback_query_id']) === '' ? no(400, 'Bad Request: query is too old and response timeout expired or query ID is invalid') : ok(true);
  if (method === 'setMyCommands') return setCommands(world, params);
  if (method === 'getMyCommands') return ok(world.commands);
  if (method === 'setMessageReaction') return react(world, params);
  if (method === 'getFile') return getFile(world, params);
  return no(404, 'Not Found');
}

function refusal(world: World, params: Params): Answer | undefined {
  const chat = number(params['chat_id']);
  if (chat === undefined) return no(400, 'Bad Request: chat_id is empty');
  const moved = world.migrated.get(chat);
  if (moved !== undefined) return no(400, 'Bad Request: group chat was upgraded to a supergroup chat', { migrate_to_chat_id: moved });
  if (!world.chats.has(chat)) return no(400, 'Bad Request: chat not found');
  const closed = world.closed.get(chat);
  if (closed !== undefined) return no(403, `Forbidden: ${closed}`);
  const thread = number(params['message_thread_id']);
  if (thread !== undefined && !world.topics.has(`${chat}:${thread}`)) return no(400, 'Bad Request: message thread not found');
  return undefined;
}

function visible(params: Params, source: string, limit: number): { text: string } | Answer {
  const mode = text(params['parse_mode']).toLowerCase();
  if (mode !== '' && mode !== 'html') return no(400, 'Bad Request: unsupported parse_mode');
  const parsed = mode === 'html' ? parseTelegramHtml(source) : { ok: true as const, text: source };
  if (!parsed.ok) return no(400, parsed.description);
  const shown = parsed.text.trim();
  return shown.length > limit ? no(400, limit === 1024 ? 'Bad Request: message caption is too long' : 'Bad Request: message is too long') : { text: shown };
}

function keyboard(params: Params): Button[][] | Answer {
  const rows = object(params['reply_markup'])['inline_keyboard'];
  if (!Array.isArray(rows)) return [];
  const buttons = (rows as unknown[]).map((row) => (Array.isArray(row) ? (row as Button[]) : []));
  const bad = buttons.flat().some((button) => Buffer.byteLength(text(button.callback_data)) > 64 || text(button.text) === '');
  return bad ? no(400, 'Bad Request: BUTTON_DATA_INVALID') : buttons;
}

function send(world: World, method: string, body: CallBody, source: string, limit: number, file?: SentMessage['file']): Answer {
  const { params } = body;
  const refused = refusal(world, params);
  if (refused) return refused;
  const shown = visible(params, source, limit);
  if ('ok' in shown) return shown;
  if (shown.text === '' && method === 'sendMessage') return no(400, 'Bad Request: message text is empty');
  const buttons = keyboard(params);
  if (!Array.isArray(buttons)) return buttons;
  const chat = number(params['chat_id']) ?? 0;
  const reply = object(params['reply_parameters']);
  const wanted = number(reply['message_id']);
  const replyTo = wanted !== undefined && world.messages.has(`${chat}:${wanted}`) ? wanted : undefined;
  if (wanted !== undefined && replyTo === undefined && reply['allow_sending_without_reply'] !== true) return no(400, 'Bad Request: message to be replied not found');
  const thread = number(params['message_thread_id']);
  const sent: SentMessage = {
    chat,
    messageId: world.nextMessageId(),
    ...(thread === undefined ? {} : { thread }),
    text: shown.text,
    raw: source,
    parseMode: text(params['parse_mode']),
    edits: [],
    ...(replyTo === undefined ? {} : { replyTo }),
    buttons,
    method,
    ...(file ? { file } : {}),
    linkPreview: object(params['link_preview_options'])['is_disabled'] !== true,
    at: Date.now(),
  };
  world.sent.push(sent);
  return ok(remember(world, sent));
}

function remember(world: World, sent: SentMessage): Params {
  const message: Params = {
    message_id: sent.messageId,
    from: world.me,
    chat: world.chats.get(sent.chat),
    date: Math.floor(sent.at / 1000),
    [sent.method === 'sendMessage' ? 'text' : 'caption']: sent.text,
    ...(sent.thread === undefined ? {} : { message_thread_id: sent.thread, is_topic_message: true }),
    ...(sent.buttons.length > 0 ? { reply_markup: { inline_keyboard: sent.buttons } } : {}),
  };
  world.messages.set(`${sent.chat}:${sent.messageId}`, message);
  return message;
}

function sendFile(world: World, method: string, body: CallBody): Answer {
  const field = uploads[method] ?? '';
  const given = text(body.params[field]);
  const file = body.files.get(given.startsWith('attach://') ? given.slice(9) : field);
  if (!file && !world.files.has(given)) return no(400, `Bad Request: there is no ${field} in the request`);
  if (file && file.bytes.length === 0) return no(400, 'Bad Request: file must be non-empty');
  if (method === 'sendPhoto' && file && file.bytes.length > 10 * 1024 * 1024) return no(400, 'Bad Request: PHOTO_INVALID_DIMENSIONS');
  return send(world, method, body, text(body.params['caption']), 1024, file);
}

function edit(world: World, method: string, params: Params): Answer {
  const refused = refusal(world, params);
  if (refused) return refused;
  const chat = number(params['chat_id']);
  const id = number(params['message_id']);
  const message = world.sent.find((sent) => sent.chat === chat && sent.messageId === id);
  if (!message) return world.messages.has(`${chat}:${id}`) ? no(400, "Bad Request: message can't be edited") : no(400, 'Bad Request: message to edit not found');
  if (!world.messages.has(`${chat}:${id}`)) return no(400, 'Bad Request: message to edit not found');
  if (method === 'editMessageText' && message.method !== 'sendMessage') return no(400, 'Bad Request: there is no text in the message to edit');
  const source = text(params[method === 'editMessageText' ? 'text' : 'caption']);
  const shown = visible(params, source, method === 'editMessageText' ? 4096 : 1024);
  if ('ok' in shown) return shown;
  if (shown.text === '' && method === 'editMessageText') return no(400, 'Bad Request: message text is empty');
  const buttons = keyboard(params);
  if (!Array.isArray(buttons)) return buttons;
  const same = message.raw === source && message.parseMode === text(params['parse_mode']) && JSON.stringify(message.buttons) === JSON.stringify(buttons);
  if (same) {
    return no(400, 'Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message');
  }
  message.edits.push(message.text);
  Object.assign(message, { text: shown.text, raw: source, parseMode: text(params['parse_mode']), buttons });
  return ok(remember(world, message));
}

function setCommands(world: World, params: Params): Answer {
  const list = Array.isArray(params['commands']) ? (params['commands'] as { command: string; description: string }[]) : [];
  if (list.length > 100) return no(400, 'Bad Request: BOT_COMMANDS_TOO_MUCH');
  const bad = list.find(({ command, description }) => !/^[a-z0-9_]{1,32}$/.test(command) || description.length < 1 || description.length > 256);
  if (bad) return no(400, 'Bad Request: BOT_COMMAND_INVALID');
  world.commands = list;
  return ok(true);
}

function react(world: World, params: Params): Answer {
  const refused = refusal(world, params);
  if (refused) return refused;
  const key = `${number(params['chat_id'])}:${number(params['message_id'])}`;
  if (!world.messages.has(key)) return no(400, 'Bad Request: message to react not found');
  const first = Array.isArray(params['reaction']) ? object(params['reaction'][0]) : {};
  const emoji = text(first['emoji']);
  if (emoji !== '' && !['👍', '👎', '❤', '🔥', '👀', '🎉', '🤔', '👌', '💯', '🙏'].includes(emoji)) return no(400, 'Bad Request: REACTION_INVALID');
  const message = world.messages.get(key);
  if (message) message['bot_reaction'] = emoji;
  return ok(true);
}

function getFile(world: World, params: Params): Answer {
  const id = text(params['file_id']);
  const file = world.files.get(id);
  if (!file) return no(400, 'Bad Request: wrong file_id or the file is temporarily unavailable');
  if ((file.size ?? 0) > 20 * 1024 * 1024 && !file.path.startsWith('/')) return no(400, 'Bad Request: file is too big');
  return ok({ file_id: id, file_unique_id: `u${id}`, ...(file.size === undefined ? {} : { file_size: file.size }), file_path: file.path });
}
