/** What Discord refuses about a message, in its own words, and whom a message notifies. */
import { findMessage, type Json, type World } from './discord-api-world.ts';

export interface No {
  status: number;
  code: number;
  message: string;
}

export const no = (status: number, code: number, message: string): No => ({ status, code, message });

export const unknownChannel = no(404, 10003, 'Unknown Channel');
export const unknownMessage = no(404, 10008, 'Unknown Message');

const form = (what: string): No => no(400, 50035, `Invalid Form Body\n${what}`);

/** Null when the message may be posted or edited. `files` are what was uploaded with it. */
export function findFault(body: Json, files: number, isEdit: boolean): No | null {
  const { content = '', nonce, components, allowed_mentions: mentions, flags = 0 } = body;
  if (typeof content !== 'string') return form('content[STRING_TYPE_CONVERT]: not a string');
  if ([...content].length > 2000) return form('content[BASE_TYPE_MAX_LENGTH]: Must be 2000 or fewer in length.');
  if (content.trim() === '' && files === 0 && !isEdit) return no(400, 50006, 'Cannot send an empty message');
  if (nonce !== undefined && (typeof nonce !== 'string' || nonce.length > 25)) return form('nonce[NONCE_TYPE_TOO_LONG]: Must be 25 or fewer in length.');
  if (mentions !== undefined && !isMentions(mentions)) return form('allowed_mentions[MODEL_TYPE_CONVERT]: wrong');
  if (typeof flags !== 'number') return form('flags[NUMBER_TYPE_COERCE]: not a number');
  return components === undefined ? null : findComponentFault(components);
}

function isMentions(value: unknown): boolean {
  const { parse } = value as { parse?: unknown };
  return parse === undefined || (Array.isArray(parse) && parse.every((kind) => ['users', 'roles', 'everyone'].includes(String(kind))));
}

function findComponentFault(components: unknown): No | null {
  if (!Array.isArray(components) || components.length > 5) return form('components[BASE_TYPE_BAD_LENGTH]: Must be between 1 and 5 in length.');
  const buttons = components.map((row: Json) => row['components'] as Json[] | undefined);
  if (components.some((row: Json) => row['type'] !== 1) || buttons.some((row) => !Array.isArray(row) || row.length === 0 || row.length > 5)) {
    return form('components[0].components[BASE_TYPE_BAD_LENGTH]: Must be between 1 and 5 in length.');
  }
  const all = buttons.flatMap((row) => row ?? []);
  const ids = all.map((button) => String(button['custom_id'] ?? ''));
  if (new Set(ids).size !== ids.length) return form('components[COMPONENT_CUSTOM_ID_DUPLICATED]: Component custom id cannot be duplicated');
  const isWrong = all.some(({ type, style, label }, index) => type !== 2 || typeof style !== 'number' || String(label ?? '').length > 80 || ids[index] === '' || (ids[index] ?? '').length > 100);
  return isWrong ? form('components[0].components[0]: wrong') : null;
}

/** The message that is answered; `no` when it must exist and does not. */
export function toReference(world: World, channel: string, body: Json): { message_id: string; channel_id: string } | No | undefined {
  const reference = body['message_reference'] as { message_id?: string; fail_if_not_exists?: boolean } | undefined;
  if (!reference?.message_id) return undefined;
  if (findMessage(world, channel, reference.message_id)) return { message_id: reference.message_id, channel_id: channel };
  return reference.fail_if_not_exists === false ? undefined : form('message_reference[REPLIES_UNKNOWN_MESSAGE]: Unknown message');
}

/** Users, roles and `everyone` that a message notifies, by what it says of mentions. */
export function toPinged(content: string, body: Json, answered: string | undefined): string[] {
  const { parse, replied_user: repliedUser = true } = (body['allowed_mentions'] as { parse?: string[]; replied_user?: boolean } | undefined) ?? {};
  const kinds = parse ?? ['users', 'roles', 'everyone'];
  return [
    ...(kinds.includes('users') ? [...content.matchAll(/<@!?(\d+)>/g)].map(([, id]) => id ?? '') : []),
    ...(kinds.includes('roles') ? [...content.matchAll(/<@&(\d+)>/g)].map(([, id]) => id ?? '') : []),
    ...(kinds.includes('everyone') && /@everyone|@here/.test(content) ? ['everyone'] : []),
    ...(answered !== undefined && repliedUser ? [answered] : []),
  ];
}
