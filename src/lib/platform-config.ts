/** The keys that every chat platform's configuration has (SPEC section 2); each adapter's config.ts adds its own to them. */
import { z } from 'zod';

/** An id: a number or a string in YAML, a string from here on. `*` is refused, as is a name. */
export const idSchema = z
  .union([z.string().trim().min(1), z.number().int().refine(Number.isSafeInteger, 'write ids of this size in quotes'), z.bigint()])
  .transform(String)
  .refine((id) => !/^[@#]/.test(id), 'is a name, not an id; names can be changed by anyone, so only ids are compared')
  .refine((id) => id !== '*', 'is not an id; set allow_all: true to let everybody in');

export const idList = z.array(idSchema).default([]);

const replyTo = z.union([z.enum(['off', 'first', 'all']), z.literal(false).transform(() => 'off' as const)]);
const onOff = z.union([z.enum(['auto', 'on', 'off']), z.boolean().transform((on) => (on ? ('on' as const) : ('off' as const)))]);

function isPattern(source: string): boolean {
  try {
    return new RegExp(source, 'i') instanceof RegExp;
  } catch {
    return false;
  }
}

export const chatPlatformShape = {
  enabled: z.boolean().default(true).describe('false switches the platform off although its token is there'),
  allowed_users: idList.describe('ids of people who may write in direct chats and groups'),
  allowed_chats: idList.describe('ids of groups and channels in which everybody may write'),
  group_allowed_users: idList.describe('ids of people who may write in groups only'),
  allow_all: z.boolean().default(false).describe('true lets everybody in'),
  unauthorized_dm: z.enum(['pair', 'ignore']).default('pair').describe('what a stranger\'s direct message gets: a pairing code, or nothing'),
  require_mention: z.boolean().default(true).describe('in groups, answer only when addressed'),
  mention_patterns: z.array(z.string().refine(isPattern, 'must be a regular expression')).default([]).describe('regular expressions that count as a mention, any case'),
  free_response_chats: idList.describe('ids of groups in which no mention is needed'),
  ignored_chats: idList.describe('ids of chats that are never answered'),
  reply_to: replyTo.default('first').describe('which parts of an answer quote the question'),
  reactions: z.boolean().default(false).describe('show progress as a reaction to the question'),
  streaming: onOff.default('auto').describe('edit the answer while it grows; auto means direct chats only'),
  home_chat: z.union([idSchema, z.null()]).default(null).describe('chat for notices and scheduled results'),
  instructions: z.string().default('').describe('text added to the system prompt'),
  chats: z
    .record(z.string(), z.strictObject({ instructions: z.string().optional(), toolsets: z.array(z.string()).optional() }))
    .default({})
    .describe('instructions and toolsets of single chats, by id'),
  tool_progress: z.enum(['auto', 'off', 'new', 'all']).optional().describe('overrides display.tool_progress for this platform'),
};

export type ChatPlatformConfig = { [K in keyof typeof chatPlatformShape]: z.output<(typeof chatPlatformShape)[K]> };
