/** The Web API's methods that a bot uses, with the real one's checks. Source: https://docs.slack.dev/reference/methods. */
import { checkBlocks, readMrkdwn } from './slack-api-text.ts';
import { list, text, toDm, type Button, type Params, type SentMessage, type World } from './slack-api-world.ts';

export type Result = { ok: true; [field: string]: unknown } | { ok: false; error: string; [field: string]: unknown };

export interface MethodDeps {
  world: World;
  /** Where this server listens, for addresses of files. */
  url(): string;
  /** A message event of the bot's own doing. */
  echo(event: Params): void;
}

const ok = (fields: Params = {}): Result => ({ ok: true, ...fields });
const no = (error: string, fields: Params = {}): Result => ({ ok: false, error, ...fields });

type Method = (deps: MethodDeps, params: Params) => Result;

export const methods: Record<string, Method> = {
  'auth.test': ({ world: { team, me } }) => ok({ url: 'https://test.slack.com/', team: 'Test', user: me.name, team_id: team, user_id: me.userId, bot_id: me.botId, is_enterprise_install: false }),
  'chat.postMessage': postMessage,
  'chat.update': updateMessage,
  'reactions.add': (deps, params) => react(deps, params, true),
  'reactions.remove': (deps, params) => react(deps, params, false),
  'users.info'({ world }, params) {
    const user = world.users.get(text(params['user']));
    return user ? ok({ user: { ...user, profile: { display_name: '', real_name: user.real_name } } }) : no('user_not_found');
  },
  'assistant.threads.setStatus'({ world }, params) {
    const [channel, thread] = [text(params['channel_id']), text(params['thread_ts'])];
    if (!world.channels.has(channel)) return no('channel_not_found');
    if (!world.messages.has(`${channel}:${thread}`)) return no('invalid_thread_ts');
    world.statuses.set(`${channel}:${thread}`, text(params['status']));
    return ok();
  },
  'files.getUploadURLExternal'({ world, url }, params) {
    const [name, length] = [text(params['filename']), Number(params['length'])];
    if (name === '' || !(length > 0)) return no('invalid_arguments');
    const id = world.nextId('F');
    world.uploads.set(id, { name, length, bytes: null });
    return ok({ upload_url: `${url()}/upload/v1/${id}`, file_id: id });
  },
  'files.completeUploadExternal': completeUpload,
  'files.info'({ world, url }, params) {
    const file = world.files.get(text(params['file']));
    return file ? ok({ file: { id: file.id, name: file.name, ...(file.size === null ? {} : { size: file.size }), url_private_download: `${url()}${file.path}` } }) : no('file_not_found');
  },
};

/** Slack's word for why the bot cannot write there, or undefined. */
function refusedAt(world: World, channel: string, thread: string): string | undefined {
  const place = world.channels.get(channel);
  if (!place) return 'channel_not_found';
  if (place.closed !== undefined) return place.closed;
  return thread !== '' && !world.messages.has(`${channel}:${thread}`) ? 'thread_not_found' : undefined;
}

interface Content {
  raw: string;
  seen: string;
  blocks: Params[];
  buttons: Button[];
}

function readContent(world: World, params: Params, parseDefault: string, limit: number): Content {
  const raw = text(params['text']);
  const blocks = list(params['blocks']);
  const parse = text(params['parse']) || parseDefault;
  const { text: seen, mentions } = readMrkdwn(raw, parse);
  const sections = blocks.flatMap((block) => (block['type'] === 'section' ? [block['text'] as { type: string; text: string; verbatim?: boolean }] : []));
  for (const section of sections) if (section.type === 'mrkdwn') mentions.push(...readMrkdwn(section.text, section.verbatim ? 'none' : 'full').mentions);
  for (const mention of mentions) world.violations.push(`a mention takes effect: ${mention}`);
  if (Buffer.byteLength(raw) > limit) world.violations.push(`a text of ${Buffer.byteLength(raw)} bytes was cut`);
  const buttons = blocks.flatMap((block) =>
    block['type'] === 'actions' ? (block['elements'] as { text: { text: string }; value: string; action_id: string }[]).map((each) => ({ label: each.text.text, value: each.value, actionId: each.action_id })) : [],
  );
  return { raw, seen: seen.slice(0, 4000), blocks, buttons };
}

function postMessage({ world, echo }: MethodDeps, params: Params): Result {
  const given = text(params['channel']);
  const channel = world.users.has(given) ? toDm(given) : given;
  const thread = text(params['thread_ts']);
  const refusal = refusedAt(world, channel, thread);
  if (refusal) return no(refusal);
  const blocks = list(params['blocks']);
  if (text(params['text']) === '' && blocks.length === 0) return no('no_text');
  const wrong = checkBlocks(blocks);
  if (wrong) return no(wrong);
  const content = readContent(world, params, 'none', 4000);
  const unfurls = text(params['unfurl_links']) !== 'false' || text(params['unfurl_media']) !== 'false';
  const sent = put(world, { channel, thread, content, unfurls, mrkdwn: text(params['mrkdwn']) !== 'false', files: [] });
  echo(toEvent(world, sent));
  return ok({ channel, ts: sent.ts, message: world.messages.get(`${channel}:${sent.ts}`) });
}

interface NewMessage {
  channel: string;
  thread: string;
  content: Content;
  unfurls: boolean;
  mrkdwn: boolean;
  files: SentMessage['files'];
}

function put(world: World, { channel, thread, content, unfurls, mrkdwn, files }: NewMessage): SentMessage {
  const ts = world.nextStamp();
  const { raw, seen, blocks, buttons } = content;
  const sent: SentMessage = { channel, ts, ...(thread === '' ? {} : { thread }), text: seen, raw, blocks, buttons, edits: [], files, unfurls, mrkdwn, reactions: [], at: Date.now() };
  world.sent.push(sent);
  world.messages.set(`${channel}:${ts}`, { type: 'message', user: world.me.userId, bot_id: world.me.botId, text: raw, ts, ...(thread === '' ? {} : { thread_ts: thread }), ...(blocks.length > 0 ? { blocks } : {}) });
  world.statuses.delete(`${channel}:${thread}`);
  return sent;
}

function toEvent(world: World, { channel, ts }: SentMessage): Params {
  return { ...world.messages.get(`${channel}:${ts}`), channel, channel_type: world.channels.get(channel)?.type, event_ts: ts };
}

function updateMessage({ world, echo }: MethodDeps, params: Params): Result {
  const [channel, ts] = [text(params['channel']), text(params['ts'])];
  const refusal = refusedAt(world, channel, '');
  if (refusal) return no(refusal);
  const message = world.messages.get(`${channel}:${ts}`);
  const sent = world.sent.find((each) => each.channel === channel && each.ts === ts);
  if (!message) return no('message_not_found');
  if (!sent) return no('cant_update_message');
  if (Buffer.byteLength(text(params['text'])) > 4000) return no('msg_too_long');
  const wrong = checkBlocks(list(params['blocks']));
  if (wrong) return no(wrong);
  const content = readContent(world, params, 'client', 4000);
  const blocks = params['blocks'] === undefined ? sent.blocks : content.blocks;
  sent.edits.push(sent.text);
  Object.assign(sent, { text: content.seen, raw: content.raw, blocks, buttons: params['blocks'] === undefined ? sent.buttons : content.buttons });
  const before = { ...message };
  Object.assign(message, { text: content.raw, blocks, edited: { user: world.me.userId, ts: world.nextStamp() } });
  echo({ type: 'message', subtype: 'message_changed', channel, channel_type: world.channels.get(channel)?.type, ts: world.nextStamp(), message: { ...message }, previous_message: before });
  return ok({ channel, ts, text: content.raw });
}

function react({ world }: MethodDeps, params: Params, isAdded: boolean): Result {
  const [channel, ts, name] = [text(params['channel']), text(params['timestamp']), text(params['name'])];
  const message = world.messages.get(`${channel}:${ts}`);
  if (!message) return no('message_not_found');
  if (!/^[a-z0-9_+'-]+$/.test(name)) return no('invalid_name');
  const all = list(message['bot_reactions']) as unknown as string[];
  if (all.includes(name) === isAdded) return no(isAdded ? 'already_reacted' : 'no_reaction');
  message['bot_reactions'] = isAdded ? [...all, name] : all.filter((each) => each !== name);
  return ok();
}

function completeUpload({ world, echo }: MethodDeps, params: Params): Result {
  const [channel, thread] = [text(params['channel_id']), text(params['thread_ts'])];
  const refusal = refusedAt(world, channel, thread);
  if (refusal) return no(refusal);
  const wanted = list(params['files']).map((file) => ({ id: text(file['id']), upload: world.uploads.get(text(file['id'])) }));
  if (wanted.length === 0 || wanted.some(({ upload }) => !upload?.bytes || upload.bytes.length !== upload.length)) return no('file_not_found');
  const files = wanted.map(({ upload }) => ({ name: upload?.name ?? '', bytes: upload?.bytes ?? Buffer.alloc(0) }));
  const content = readContent(world, { text: params['initial_comment'] }, 'none', 4000);
  // A caption's links are always unfurled.
  const sent = put(world, { channel, thread, content, unfurls: /<https?:/.test(content.raw), mrkdwn: true, files });
  echo({ ...toEvent(world, sent), subtype: 'file_share', files: wanted.map(({ id }) => ({ id })) });
  return ok({ files: wanted.map(({ id }) => ({ id, title: '' })) });
}
