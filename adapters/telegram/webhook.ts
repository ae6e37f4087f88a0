/**
 * The webhook. Telegram posts an update -> the secret header is compared -> handed over and committed -> 200. Anything but 2xx makes
 * Telegram post it again, so a store that is down answers 503. Without a usable secret there is no route at all.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Route } from '../../src/contract/adapter.ts';
import { toSdkSignal, type TelegramApi } from './api.ts';
import { allowedUpdates } from './update.ts';

export interface WebhookConfig {
  url: string | null;
  secret: string | null;
}

export type WebhookPlan = { url: string; path: string; secret: string } | { missing: string };

/**
 * Where the webhook lives. A url with a path is used as it is; one without gets `/webhooks/telegram/<bot id>`, so that it may simply
 * be the public address of the HTTP server.
 */
export function planWebhook({ url, secret }: WebhookConfig, botId: number): WebhookPlan {
  if (!url) return { missing: 'platforms.telegram.webhook.url is not set: give the public https address of this program, or use mode: polling.' };
  // Telegram's own rule: https://core.telegram.org/bots/api#setwebhook
  if (!secret || !/^[A-Za-z0-9_-]{1,256}$/.test(secret)) {
    return { missing: 'platforms.telegram.webhook.secret must be 1 to 256 letters, digits, _ or -; make one with: openssl rand -hex 32' };
  }
  const address = new URL(url);
  if (address.pathname === '/') address.pathname = `/webhooks/telegram/${botId}`;
  return { url: address.href, path: address.pathname, secret };
}

/** A shorter one could be guessed by somebody who is patient. */
export const isWeak = (secret: string): boolean => secret.length < 32;

export function toWebhookRoute(path: string, secret: string, handOver: (updates: unknown[]) => Promise<void>): Route {
  return {
    method: 'POST',
    path,
    auth: 'self',
    async handle({ headers, body }) {
      if (!isEqual(headers['x-telegram-bot-api-secret-token'] ?? '', secret)) return { status: 401 };
      if (typeof body !== 'object' || body === null) return { status: 400 };
      try {
        await handOver([body]);
        return { status: 200 };
      } catch {
        return { status: 503, headers: { 'retry-after': '5' } };
      }
    },
  };
}

/** Hashed first: timingSafeEqual refuses buffers of unequal length, and the length is a secret too. */
function isEqual(given: string, secret: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(secret));
}

/** Set at every start: Telegram does not tell which secret it has. */
export async function setWebhook(api: TelegramApi, { url, secret }: { url: string; secret: string }, signal: AbortSignal): Promise<void> {
  await api.raw.setWebhook({ url, secret_token: secret, max_connections: 40, allowed_updates: allowedUpdates, drop_pending_updates: false }, toSdkSignal(signal));
}
