/** The REST routes: what each call does to the world, and what it answers. Source: https://discord.com/developers/docs/reference. */
import type { UploadedFile } from './discord-api-body.ts';
import { findFault, no, toPinged, toReference, unknownChannel, unknownMessage, type No } from './discord-api-rules.ts';
import { createMessage, findMessage, keepMessage, toGatewayMessage, toRestMessage, type DiscordChannel, type DiscordMessage, type Json, type World } from './discord-api-world.ts';

export interface RestCall {
  query: Record<string, string>;
  body: Json;
  files: UploadedFile[];
}

export interface RestDeps {
  world: World;
  dispatch(type: string, data: Json): void;
}

type Answer = Json | Json[] | null | No;
type Handler = (deps: RestDeps, ids: string[], call: RestCall) => Answer;

export const isNo = (answer: Answer): answer is No => answer !== null && !Array.isArray(answer) && typeof answer['status'] === 'number' && typeof answer['code'] === 'number' && typeof answer['message'] === 'string';

interface Route {
  name: string;
  method: string;
  path: RegExp;
  /** Interaction tokens stand in for the bot's token. */
  isOpen?: true;
  handler: Handler;
}

/** The channel, when the bot may use it. */
function reach(world: World, id: string): DiscordChannel | No {
  const code = world.closed.get(id);
  if (code !== undefined) return no(code === 10003 ? 404 : 403, code, code === 50007 ? 'Cannot send messages to this user' : code === 50013 ? 'Missing Permissions' : 'Missing Access');
  return world.channels.get(id) ?? unknownChannel;
}

const isRefusal = (channel: DiscordChannel | No): channel is No => 'status' in channel;

const send: Handler = ({ world, dispatch }, [id = ''], { body, files }) => {
  const channel = reach(world, id);
  if (isRefusal(channel)) return channel;
  if (channel.type === 15) return no(400, 50008, 'Cannot send messages in a non-text channel');
  if (channel.thread_metadata?.locked) return no(403, 160005, 'Thread is locked');
  const fault = findFault(body, files.length, false);
  if (fault) return fault;
  const nonce = body['nonce'] as string | undefined;
  const known = body['enforce_nonce'] === true && nonce !== undefined ? world.nonces.get(`${id}:${nonce}`) : undefined;
  if (known) return toRestMessage(world, known);
  const reference = toReference(world, id, body);
  if (reference && 'status' in reference) return reference;
  if (channel.thread_metadata) channel.thread_metadata.archived = false;
  const message = createMessage(world, {
    channel: id,
    author: world.me,
    // Discord takes white space away from the ends.
    content: String(body['content'] ?? '').trim(),
    components: (body['components'] as Json[] | undefined) ?? [],
    flags: Number(body['flags'] ?? 0),
    attachments: files.map(({ name, bytes }, index) => ({ id: String(index), filename: name, size: bytes.length, url: 'http://127.0.0.1/none' })),
    ...(reference ? { message_reference: reference } : {}),
    ...(nonce === undefined ? {} : { nonce }),
  });
  keepMessage(world, message);
  if (nonce !== undefined) world.nonces.set(`${id}:${nonce}`, message);
  const answered = reference ? findMessage(world, id, reference.message_id)?.author.id : undefined;
  world.sent.push({
    channel: id,
    id: message.id,
    content: message.content,
    edits: [],
    ...(reference ? { replyTo: reference.message_id } : {}),
    buttons: toButtons(body),
    ...(nonce === undefined ? {} : { nonce }),
    files: files.map(({ name, bytes }) => ({ name, bytes })),
    pinged: toPinged(message.content, body, answered),
    embedsSuppressed: (message.flags & 4) !== 0,
    reactions: [],
    at: Date.now(),
  });
  dispatch('MESSAGE_CREATE', toGatewayMessage(world, message));
  return toRestMessage(world, message);
};

function toButtons(body: Json): { label: string; custom_id: string }[][] {
  return ((body['components'] as { components: { label: string; custom_id: string }[] }[] | undefined) ?? []).map((row) => row.components);
}

const edit: Handler = ({ world, dispatch }, [id = '', messageId = ''], { body, files }) => {
  const channel = reach(world, id);
  if (isRefusal(channel)) return channel;
  const message = findMessage(world, id, messageId);
  if (!message) return unknownMessage;
  if (message.author.id !== world.me.id) return no(403, 50005, 'Cannot edit a message authored by another user');
  if (channel.thread_metadata?.archived) return no(400, 50083, 'Thread is archived');
  const fault = findFault(body, files.length, true);
  if (fault) return fault;
  const seen = world.sent.find((sent) => sent.id === messageId);
  if (typeof body['content'] === 'string') {
    if (seen && seen.content !== body['content'].trim()) seen.edits.push(seen.content);
    message.content = body['content'].trim();
    if (seen) Object.assign(seen, { content: message.content });
  }
  if (body['components'] !== undefined) {
    message.components = body['components'] as Json[];
    if (seen) seen.buttons = toButtons(body);
  }
  if (body['flags'] !== undefined) message.flags = Number(body['flags']);
  if (seen) Object.assign(seen, { embedsSuppressed: (message.flags & 4) !== 0, pinged: [...new Set([...seen.pinged, ...toPinged(message.content, body, undefined)])] });
  message.edited_timestamp = new Date().toISOString();
  dispatch('MESSAGE_UPDATE', toGatewayMessage(world, message));
  return toRestMessage(world, message);
};

const history: Handler = ({ world }, [id = ''], { query }) => {
  const channel = reach(world, id);
  if (isRefusal(channel)) return channel;
  if (channel.type === 15 || channel.type === 4) return no(400, 50024, 'Cannot execute action on this channel type');
  const limit = Number(query['limit'] ?? 50);
  if (!(limit >= 1 && limit <= 100)) return no(400, 50035, 'Invalid Form Body\nlimit[NUMBER_TYPE_MAX]');
  const all = world.messages.get(id) ?? [];
  const after = query['after'];
  const page = after === undefined ? all.slice(-limit) : all.filter((message) => BigInt(message.id) > BigInt(after)).slice(0, limit);
  // Newest first, whatever was asked for.
  return page.toReversed().map((message) => toRestMessage(world, message));
};

const thread: Handler = ({ world, dispatch }, [id = '', messageId = ''], { body }) => {
  const channel = reach(world, id);
  if (isRefusal(channel)) return channel;
  if (channel.type !== 0 && channel.type !== 5) return no(400, 50024, 'Cannot execute action on this channel type');
  if (!findMessage(world, id, messageId)) return unknownMessage;
  if (world.channels.has(messageId)) return no(400, 160004, 'A thread has already been created for this message');
  const name = String(body['name'] ?? '');
  if (name.length < 1 || name.length > 100) return no(400, 50035, 'Invalid Form Body\nname[BASE_TYPE_BAD_LENGTH]');
  const made: DiscordChannel = {
    id: messageId,
    type: channel.type === 5 ? 10 : 11,
    name,
    parent_id: id,
    owner_id: world.me.id,
    last_message_id: null,
    ...(channel.guild_id === undefined ? {} : { guild_id: channel.guild_id }),
    thread_metadata: { archived: false, locked: false, auto_archive_duration: Number(body['auto_archive_duration'] ?? 1440) },
  };
  world.channels.set(made.id, made);
  dispatch('THREAD_CREATE', { ...made, newly_created: true });
  return { ...made };
};

const callback: Handler = ({ world }, [id = ''], { body }) => {
  if (!world.responses.has(id)) return no(404, 10062, 'Unknown interaction');
  if (world.responses.get(id)?.type) return no(400, 40060, 'Interaction has already been acknowledged.');
  world.responses.set(id, { type: Number(body['type']), data: (body['data'] as Json | undefined) ?? {}, isDeleted: false });
  return null;
};

const dropOriginal: Handler = ({ world }, [, token = '']) => {
  const response = world.responses.get(token.replace(/^token-/, ''));
  if (!response || response.isDeleted) return no(404, 10015, 'Unknown Webhook');
  response.isDeleted = true;
  return null;
};

const react: Handler = ({ world }, [id = '', messageId = '', emoji = '']) => {
  if (!findMessage(world, id, messageId)) return unknownMessage;
  world.sent.find((sent) => sent.id === messageId)?.reactions.push(decodeURIComponent(emoji));
  return null;
};

const member: Handler = ({ world }, [guildId = '', userId = '']) => {
  const found = world.guilds.get(guildId)?.members.get(userId);
  return found ? { ...found, user: world.users.get(userId) } : no(404, 10007, 'Unknown Member');
};

const commands: Handler = ({ world }, [application], { body }) => {
  if (application !== world.me.id) return no(404, 10002, 'Unknown Application');
  const list = body as unknown as Json[];
  const isWrong = !Array.isArray(list) || list.length > 100 || list.some(({ name, description }) => !/^[-_\p{Ll}\p{N}]{1,32}$/u.test(String(name)) || String(description).length < 1 || String(description).length > 100);
  if (isWrong) return no(400, 50035, 'Invalid Form Body\nname[APPLICATION_COMMAND_INVALID_NAME]');
  world.commands = list;
  return list;
};

const typing: Handler = ({ world }, [id = '']) => {
  const channel = reach(world, id);
  if (isRefusal(channel)) return channel;
  world.typing.push(id);
  return null;
};

const channelOf: Handler = ({ world }, [id = '']) => {
  const channel = reach(world, id);
  return isRefusal(channel) ? channel : { ...channel };
};

export const routes: Route[] = [
  { name: 'channel', method: 'GET', path: /^\/channels\/(\d+)$/, handler: channelOf },
  { name: 'history', method: 'GET', path: /^\/channels\/(\d+)\/messages$/, handler: history },
  { name: 'message', method: 'GET', path: /^\/channels\/(\d+)\/messages\/(\d+)$/, handler: ({ world }, [id = '', messageId = '']) => toShown(world, findMessage(world, id, messageId)) },
  { name: 'send', method: 'POST', path: /^\/channels\/(\d+)\/messages$/, handler: send },
  { name: 'edit', method: 'PATCH', path: /^\/channels\/(\d+)\/messages\/(\d+)$/, handler: edit },
  { name: 'thread', method: 'POST', path: /^\/channels\/(\d+)\/messages\/(\d+)\/threads$/, handler: thread },
  { name: 'typing', method: 'POST', path: /^\/channels\/(\d+)\/typing$/, handler: typing },
  { name: 'react', method: 'PUT', path: /^\/channels\/(\d+)\/messages\/(\d+)\/reactions\/([^/]+)\/@me$/, handler: react },
  { name: 'unreact', method: 'DELETE', path: /^\/channels\/(\d+)\/messages\/(\d+)\/reactions\/([^/]+)\/@me$/, handler: () => null },
  { name: 'member', method: 'GET', path: /^\/guilds\/(\d+)\/members\/(\d+)$/, handler: member },
  { name: 'commands', method: 'PUT', path: /^\/applications\/(\d+)\/commands$/, handler: commands },
  { name: 'callback', method: 'POST', path: /^\/interactions\/(\d+)\/([^/]+)\/callback$/, isOpen: true, handler: callback },
  { name: 'original', method: 'DELETE', path: /^\/webhooks\/(\d+)\/([^/]+)\/messages\/@original$/, isOpen: true, handler: dropOriginal },
];

function toShown(world: World, message: DiscordMessage | undefined): Answer {
  if (!message) return unknownMessage;
  const reactions = world.sent.find((sent) => sent.id === message.id)?.reactions ?? [];
  return { ...toRestMessage(world, message), reactions: reactions.map((name) => ({ me: true, count: 1, emoji: { id: null, name } })) };
}
