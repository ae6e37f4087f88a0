/**
 * Telegram. update (poll.ts or webhook.ts) -> toInboundMessage() -> receive() -> committed -> confirmed; and the other way an
 * OutboundPart -> outbound.ts -> Bot API -> SendOutcome. This file opens and closes it all.
 */
import type { Adapter, AdapterContext, AdapterStatus, Receive } from '../../src/contract/adapter.ts';
import { HermesError } from '../../src/contract/errors.ts';
import type { InboundMessage } from '../../src/contract/message.ts';
import { createTelegramApi, toErrorCode, toReason, toSdkSignal, toSendOutcome } from './api.ts';
import type { TelegramConfig } from './config.ts';
import { toInboundMessage, type Me } from './inbound.ts';
import { publishMenu } from './menu.ts';
import { editPart, sendPart, splitText, toChat } from './outbound.ts';
import { refusedToken, runPolling, type PollTiming } from './poll.ts';
import { toUpdate } from './update.ts';
import { isWeak, planWebhook, setWebhook, toWebhookRoute } from './webhook.ts';

/** What this adapter reads of its configuration; the rest is the gateway's. */
export type TelegramSettings = Pick<TelegramConfig, 'token' | 'api_root' | 'mode' | 'webhook'>;

const usual: PollTiming = { backoff: { baseMs: 1000, capMs: 60_000, jitter: 0.25 }, conflictLogMs: 60_000 };

interface Run {
  abort: AbortController;
  /** Takes the webhook's route away, or lets go of the token. */
  leave(): void;
  /** What still runs in the background; never rejects. */
  work: Promise<unknown>;
}

export function createTelegramAdapter(config: TelegramSettings, context: AdapterContext, timing: PollTiming = usual): Adapter {
  const { log, report } = context;
  const api = createTelegramApi({ token: config.token, apiRoot: config.api_root });
  let current: Run | undefined;

  async function start(receive: Receive): Promise<void> {
    await stop();
    if (config.token === '') return report({ state: 'off', reason: 'No bot token. Get one from @BotFather and set TELEGRAM_BOT_TOKEN.' });
    const run: Run = { abort: new AbortController(), leave: () => undefined, work: Promise.resolve() };
    current = run;
    report({ state: 'starting' });
    try {
      await open(run, receive);
    } catch (error) {
      await stop();
      throw new HermesError('ADAPTER_OFF', `Telegram cannot be used yet: ${toReason(error)}. It is tried again by itself.`);
    }
  }

  async function open(run: Run, receive: Receive): Promise<void> {
    const { signal } = run.abort;
    const bot = await api.raw.getMe(toSdkSignal(signal)).catch((error: unknown) => (isRefusedToken(error) ? null : Promise.reject(error)));
    if (!bot) return report({ state: 'off', reason: refusedToken });
    const me: Me = { id: bot.id, username: bot.username };
    const up: AdapterStatus = { state: 'up', account: String(me.id), detail: `@${me.username} by ${config.mode}` };
    const handOver = (updates: unknown[]): Promise<void> => receiveAll(updates, me, receive, signal);
    run.work = publishMenu(api, context, me.id, signal).catch((error: unknown) => log.warn('the command menu was not set', { reason: toReason(error) }));
    if (config.mode === 'webhook') {
      const plan = planWebhook(config.webhook, me.id);
      if ('missing' in plan) return report({ state: 'off', reason: plan.missing });
      if (isWeak(plan.secret)) log.warn('platforms.telegram.webhook.secret is short; make a longer one with: openssl rand -hex 32');
      run.leave = context.mount(toWebhookRoute(plan.path, plan.secret, handOver));
      await setWebhook(api, plan, signal);
    } else {
      run.leave = context.claimToken(`${config.api_root} ${config.token}`);
      run.work = Promise.all([run.work, runPolling({ api, handOver, up, report, log, timing }, signal)]);
    }
    report(up);
  }

  /** In order within a chat, chats side by side: one commit of the store then takes the whole batch. */
  async function receiveAll(updates: unknown[], me: Me, receive: Receive, signal: AbortSignal): Promise<void> {
    const chats = new Map<string, Promise<void>>();
    for (const update of updates) {
      await followMigration(update);
      const message = toInboundMessage(update, me, Date.now());
      if (!message) noteOther(update);
      else chats.set(message.address.chat, (chats.get(message.address.chat) ?? Promise.resolve()).then(() => receiveOne(update, message, receive, signal)));
    }
    const failed = (await Promise.allSettled(chats.values())).find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
  }

  async function receiveOne(update: unknown, message: InboundMessage, receive: Receive, signal: AbortSignal): Promise<void> {
    const receipt = await receive(message);
    const isOthers = receipt.status === 'refused' && receipt.reason === 'not_yours';
    const press = message.kind === 'button' && (receipt.status !== 'refused' || isOthers) ? toUpdate(update)?.callback_query : undefined;
    // Takes the spinner off the button. A stranger's press gets no call, and a failure here changes nothing.
    if (press) void api.raw.answerCallbackQuery({ callback_query_id: press.id, ...(isOthers ? { text: 'This question is somebody else\'s to answer.' } : {}) }, toSdkSignal(signal)).catch((error: unknown) => log.debug('a button press was not answered', { reason: toReason(error) }));
  }

  /** A group that became a supergroup keeps its sessions; people may write there before anything was sent to the old id. */
  async function followMigration(json: unknown): Promise<void> {
    const moved = toUpdate(json)?.message;
    if (moved?.migrate_to_chat_id === undefined) return;
    const [from, to] = [String(moved.chat.id), String(moved.migrate_to_chat_id)];
    await context.chatMoved(from, to);
    log.warn(`the group ${from} is ${to} now; change it where the configuration names it`, { from, to });
  }

  /** Updates that start nothing; where the bot was added is said, because that is how an operator finds a group's id. */
  function noteOther(json: unknown): void {
    const change = toUpdate(json)?.my_chat_member;
    if (!change) return log.debug('an update was passed over');
    log.info('the bot\'s place in a chat changed', { chat: String(change.chat.id), by: String(change.from.id), now: change.new_chat_member.status });
  }

  async function stop(): Promise<void> {
    const run = current;
    current = undefined;
    run?.abort.abort();
    run?.leave();
    await run?.work;
    api.close();
  }

  /** For calls whose failure changes nothing. */
  const quietly = (call: Promise<unknown>): Promise<void> => call.then(() => undefined, (error: unknown) => log.debug('a call failed', { reason: toReason(error) }));

  return {
    platform: 'telegram',
    hint: 'You are talking on Telegram. Write short messages in plain Markdown; tables are shown as fixed-width text.',
    // Edits count as messages, of which a group bears 20 a minute and a direct chat about one a second.
    pace: { previewDmMs: 1200, previewGroupMs: 3500 },
    start,
    stop,
    split: splitText,
    send: (part, signal) => sendPart(api, part, signal),
    edit: (messageId, part, signal) => editPart(api, messageId, part, signal),
    typing: (address, signal) => api.raw.sendChatAction({ ...toChat(address), action: 'typing' }, toSdkSignal(signal)).then(() => undefined, toSendOutcome),
    download: (attachment, maxBytes, signal) => api.download(attachment.ref, maxBytes, signal),
    react: (address, messageId, emoji, signal) =>
      quietly(api.raw.setMessageReaction({ chat_id: address.chat, message_id: Number(messageId), reaction: toReaction(emoji) }, toSdkSignal(signal))),
  };
}

/** Told of getMe alone: another method's 404 is one that this Bot API server does not have. */
function isRefusedToken(error: unknown): boolean {
  const code = toErrorCode(error);
  return code === 401 || code === 404;
}

type Reaction = NonNullable<Parameters<ReturnType<typeof createTelegramApi>['raw']['setMessageReaction']>[0]['reaction']>;

/** Telegram refuses emoji that it does not offer as reactions; an empty one takes the reaction away. */
function toReaction(emoji: string): Reaction {
  return emoji === '' ? [] : [{ type: 'emoji', emoji: emoji as never }];
}
