/**
 * Slack. payload (socket-mode.ts or webhook.ts) -> toInboundMessage() -> receive() -> committed -> acknowledged; and the other way an
 * OutboundPart -> outbound.ts -> Web API -> SendOutcome. This file opens and closes it all.
 */
import type { Adapter, AdapterContext, AdapterStatus, Receive, SendOutcome } from '../../src/contract/adapter.ts';
import { HermesError } from '../../src/contract/errors.ts';
import type { OutboundPart } from '../../src/contract/message.ts';
import { createSlackApi, toReason } from './api.ts';
import type { SlackConfig } from './config.ts';
import { toPayload } from './event.ts';
import { createGestures } from './gestures.ts';
import { toInboundMessage, type Known, type Me } from './inbound.ts';
import { createNames } from './names.ts';
import { editPart, sendPart, splitText } from './outbound.ts';
import { toMissingScopes } from './scopes.ts';
import { startSocketMode, type SocketModeTiming } from './socket-mode.ts';
import { createThreads } from './threads.ts';
import { toWebhookRoute } from './webhook.ts';

/** What this adapter reads of its configuration; the rest is the gateway's. */
export type SlackSettings = Pick<SlackConfig, 'bot_token' | 'app_token' | 'mode' | 'signing_secret' | 'api_root'>;

const usual: SocketModeTiming = { backoff: { baseMs: 1000, capMs: 60_000, jitter: 0.25 }, openMs: 15_000, pingMs: 10_000, closeMs: 1000, steadyMs: 10_000, drainMs: 5000 };

interface Run {
  abort: AbortController;
  /** Takes the webhook's route away, or lets go of the token. */
  leave(): void;
  /** What still runs in the background; never rejects. */
  work: Promise<unknown>;
}

export function createSlackAdapter(config: SlackSettings, context: AdapterContext, timing: SocketModeTiming = usual): Adapter {
  const { log, report } = context;
  let current: Run | undefined;
  let isRefused = false;

  const api = createSlackApi({ botToken: config.bot_token, appToken: config.app_token, apiRoot: config.api_root, log, onRefused: turnOff });
  const threads = createThreads(context.state);
  const names = createNames(api, log);
  const gestures = createGestures(api, log);

  /** A refused token: nothing can be taken or answered before a restart. */
  function turnOff(reason: string): void {
    isRefused = true;
    report({ state: 'off', reason });
    current?.abort.abort();
    current?.leave();
  }

  async function start(receive: Receive): Promise<void> {
    await stop();
    const missing = toMissing(config);
    if (missing) return report({ state: 'off', reason: missing });
    const run: Run = { abort: new AbortController(), leave: () => undefined, work: Promise.resolve() };
    current = run;
    isRefused = false;
    report({ state: 'starting' });
    try {
      await open(run, receive);
    } catch (error) {
      await stop();
      if (isRefused) return;
      throw new HermesError('ADAPTER_OFF', `Slack cannot be used yet: ${toReason(error)}. It is tried again by itself.`);
    }
  }

  async function open(run: Run, receive: Receive): Promise<void> {
    const { signal } = run.abort;
    const [me] = await Promise.all([identify(signal), threads.load()]);
    signal.throwIfAborted();
    const up: AdapterStatus = { state: 'up', account: me.userId, detail: `@${me.name} in ${me.teamId} by ${config.mode}` };
    const handle = (type: string, payload: unknown): Promise<void> => handOver(type, payload, me, receive, signal);
    if (config.mode === 'http') {
      run.leave = context.mount(toWebhookRoute({ signingSecret: config.signing_secret, handle, now: Date.now }));
    } else {
      run.leave = context.claimToken(`${config.api_root} ${config.app_token}`);
      const socket = await startSocketMode({ openConnection: api.openConnection, handle, up, report, log, timing }, signal);
      run.work = socket.done;
    }
    if (!signal.aborted) report(up);
  }

  async function identify(signal: AbortSignal): Promise<Me> {
    const { user_id: userId, bot_id: botId, team_id: teamId, user, response_metadata: facts } = await api.call(signal, (web) => web.auth.test({}));
    if (!userId || !teamId) throw new Error('Slack does not say who the bot is');
    const missing = toMissingScopes(facts?.scopes);
    if (missing.length > 0) log.warn('the Slack app lacks scopes; add them on its page "OAuth & Permissions" and install it again', { missing });
    return { userId, botId: botId ?? '', teamId, name: user ?? userId };
  }

  /** In the order of arrival: receive() gives a message its place before it first waits. Rejects when it could not be kept. */
  async function handOver(type: string, payload: unknown, me: Me, receive: Receive, signal: AbortSignal): Promise<void> {
    const known: Known = { me, now: Date.now(), isCommand, nameOf: names.of, isInThread: threads.has, saidIn: threads.saidIn };
    const message = type === 'events_api' || type === 'slash_commands' || type === 'interactive' ? toInboundMessage(type, payload, known) : null;
    if (!message) return noteOther(type, payload, me);
    const receipt = await receive(message);
    if (receipt.status === 'refused') return void (receipt.reason === 'not_yours' && gestures.refuse(message.address, message.sender.id, signal));
    const { chat, thread } = message.address;
    // Before the confirmation: a death in between brings the event again, and this with it.
    if (message.chatType === 'thread' && message.addressed && thread !== undefined) await threads.join(chat, thread);
    void names.learn(message.sender.id, signal);
  }

  function isCommand(name: string): boolean {
    return context.commands().some((command) => command.name.toLowerCase() === name);
  }

  /** Payloads that start nothing; where the bot was added is said, because that is how an operator finds a channel's id. */
  function noteOther(type: string, json: unknown, me: Me): void {
    const payload = toPayload(type, json);
    if (payload?.type === 'rate_limited') return log.warn('Slack drops events: the app gets more than 30,000 an hour from this workspace. Take event subscriptions away that are not needed.');
    const event = payload?.type === 'events_api' ? payload.body.event : undefined;
    const isJoin = event?.type === 'member_joined_channel' || (event?.type === 'message' && event.subtype?.endsWith('_join') === true);
    if (isJoin && 'user' in event && event.user === me.userId) log.info('the bot was added to a channel', { chat: event.channel });
    else log.debug('an event was passed over', { type });
  }

  async function stop(): Promise<void> {
    const run = current;
    current = undefined;
    run?.abort.abort();
    run?.leave();
    await run?.work;
    api.close();
  }

  async function send(part: OutboundPart, signal: AbortSignal): Promise<SendOutcome> {
    const outcome = await sendPart(api, part, signal);
    const { chat, thread } = part.address;
    // In a direct chat everything is meant for the bot; in a channel what it writes opens, or keeps, a thread of its own.
    if (outcome.status === 'sent' && /^[CG]/.test(chat)) await threads.wrote(chat, thread ?? outcome.messageId, part.text);
    return outcome;
  }

  return {
    platform: 'slack',
    hint: 'You are talking on Slack. Write short messages in plain Markdown; in channels you answer in a thread.',
    // Edits count against a limit of about one a second for a channel.
    pace: { previewDmMs: 1200, previewGroupMs: 3000 },
    start,
    stop,
    split: splitText,
    send,
    edit: (messageId, part, signal) => editPart(api, messageId, part, signal),
    typing: gestures.typing,
    download: (attachment, maxBytes, signal) => api.download(attachment, maxBytes, signal),
    react: gestures.react,
  };
}

/** The line for the first setting without which this mode cannot work. */
function toMissing({ bot_token: bot, app_token: app, mode, signing_secret: secret }: SlackSettings): string | undefined {
  if (bot === '') return 'No bot token. Install the app in your workspace, copy the "Bot User OAuth Token" (xoxb-...) and set SLACK_BOT_TOKEN.';
  if (mode === 'socket' && app === '') return 'No app token. Make one with the scope connections:write on the app\'s page "Basic Information" and set SLACK_APP_TOKEN (xapp-...), or use mode: http.';
  if (mode === 'http' && secret === '') return 'No signing secret. Copy it from the app\'s page "Basic Information", set SLACK_SIGNING_SECRET and restart; until then no events are taken.';
  return undefined;
}
