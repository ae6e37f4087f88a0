/**
 * Slash commands and buttons. Discord shows "failed" for one that is not answered within 3 s, so each is answered as soon as it is committed
 * or refused. The answer to a command itself comes as an ordinary message, with the outbox behind it; until then only the person who asked sees
 * "thinking", which goes away with that message. Source: https://discord.com/developers/docs/interactions/receiving-and-responding.
 */
import type { Receipt } from '../../src/contract/adapter.ts';
import type { Log } from '../../src/contract/log.ts';
import { toReason, type DiscordApi } from './api.ts';
import type { DiscordInteraction } from './event.ts';
import { interactionTypes } from './inbound.ts';

export interface Interactions {
  /** Answers one whose message `receive` gets; never rejects. */
  answer(interaction: DiscordInteraction, receive: () => Promise<Receipt | undefined>): Promise<void>;
  /** A message of ours appeared in this channel: nobody waits there any more. */
  settle(channel: string): void;
  /** Takes every "thinking" away. Resolves when that is done. */
  close(): Promise<void>;
}

/** Discord lets an answer be changed for 15 minutes. */
const longestMs = 14 * 60_000;
const callMs = 5000;

const responses = { message: 4, deferredMessage: 5, deferredUpdate: 6 };
const onlyForYou = 1 << 6;
/** Strangers learn nothing; those who are let in learn why a button did nothing. */
const refusals: Record<RefusalReason, string> = {
  not_allowed: 'You cannot do this here.',
  not_addressed: 'You cannot do this here.',
  bot: 'You cannot do this here.',
  not_yours: 'This question is somebody else\'s to answer.',
  unsupported: 'This question is closed.',
};

type RefusalReason = Extract<Receipt, { status: 'refused' }>['reason'];

interface Thinking {
  interaction: DiscordInteraction;
  /** Resolves when Discord knows of it. */
  shown: Promise<void>;
  timer: NodeJS.Timeout;
}

export function createInteractions({ api, log }: { api: DiscordApi; log: Log }): Interactions {
  const thinking = new Set<Thinking>();

  const respond = async ({ id, token }: DiscordInteraction, type: number, data: Record<string, unknown>): Promise<void> => {
    const body = { type, data };
    await api
      .call('POST', `/interactions/${id}/${token}/callback`, { body, signal: AbortSignal.timeout(callMs) })
      .catch((error: unknown) => log.debug('an interaction was not answered', { reason: toReason(error).replaceAll(token, '[token]') }));
  };

  const end = async (one: Thinking): Promise<void> => {
    if (!thinking.delete(one)) return;
    clearTimeout(one.timer);
    await one.shown;
    const { application_id, token } = one.interaction;
    await api
      .call('DELETE', `/webhooks/${application_id}/${token}/messages/@original`, { signal: AbortSignal.timeout(callMs) })
      .catch((error: unknown) => log.debug('a deferred answer was not taken away', { reason: toReason(error).replaceAll(token, '[token]') }));
  };

  const refuse = (interaction: DiscordInteraction, reason: RefusalReason): Promise<void> => respond(interaction, responses.message, { content: refusals[reason], flags: onlyForYou, allowed_mentions: { parse: [] } });

  return {
    async answer(interaction, receive) {
      if (interaction.type === interactionTypes.button) {
        const receipt = await receive();
        return receipt?.status === 'refused' ? refuse(interaction, receipt.reason) : respond(interaction, responses.deferredUpdate, {});
      }
      let show = (): void => undefined;
      const shown = new Promise<void>((resolve) => void (show = resolve));
      // Noted before the command can be answered, because its answer may be quicker than Discord.
      const one: Thinking = { interaction, shown, timer: setTimeout(() => void end(one), longestMs) };
      thinking.add(one);
      const receipt = await receive();
      if (receipt === undefined || receipt.status === 'refused') {
        thinking.delete(one);
        clearTimeout(one.timer);
        if (receipt) await refuse(interaction, receipt.reason);
      } else await respond(interaction, responses.deferredMessage, { flags: onlyForYou });
      show();
    },
    settle(channel) {
      for (const one of thinking) if (one.interaction.channel_id === channel) void end(one);
    },
    close: async () => void (await Promise.all([...thinking].map(end))),
  };
}
