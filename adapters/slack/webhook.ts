/**
 * Events over HTTP. Slack posts -> the signature over the raw bytes is checked -> handed over and committed -> 200. Anything else makes Slack
 * post it again, so a store that is down answers 503. Without a signing secret there is no route at all.
 * Source: https://docs.slack.dev/authentication/verifying-requests-from-slack.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Route, RouteReply, RouteRequest } from '../../src/contract/adapter.ts';

/** Where Bolt apps listen by default, so that an app's settings need no change. */
export const webhookPath = '/slack/events';
/** A signed request older, or further ahead of our clock, than this is a replay. */
const windowSeconds = 300;

export interface WebhookOptions {
  signingSecret: string;
  handle(type: string, payload: unknown): Promise<void>;
  /** ms since the epoch. */
  now(): number;
}

export function toWebhookRoute({ signingSecret, handle, now }: WebhookOptions): Route {
  return {
    method: 'POST',
    path: webhookPath,
    auth: 'self',
    async handle(request): Promise<RouteReply> {
      if (!isSigned(request, signingSecret, now())) return { status: 401 };
      const post = readPost(request);
      if (!post) return { status: 400 };
      if ('challenge' in post) return { status: 200, headers: { 'content-type': 'text/plain' }, body: post.challenge };
      try {
        await handle(post.type, post.payload);
        return { status: 200 };
      } catch {
        return { status: 503, headers: { 'retry-after': '5' } };
      }
    },
  };
}

function isSigned({ headers, rawBody }: RouteRequest, secret: string, now: number): boolean {
  const stamp = headers['x-slack-request-timestamp'] ?? '';
  if (!/^\d{1,12}$/.test(stamp) || Math.abs(now / 1000 - Number(stamp)) > windowSeconds) return false;
  const expected = `v0=${createHmac('sha256', secret).update(`v0:${stamp}:`).update(rawBody).digest('hex')}`;
  return isEqual(headers['x-slack-signature'] ?? '', expected);
}

/** Hashed first: timingSafeEqual refuses buffers of unequal length. */
function isEqual(given: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

type Post = { challenge: string } | { type: string; payload: unknown };

/** Events are JSON; slash commands and interactions are forms. `ssl_check` only asks whether somebody is there. */
function readPost({ body, rawBody }: RouteRequest): Post | null {
  if (isRecord(body)) {
    const { type, challenge } = body;
    return type === 'url_verification' && typeof challenge === 'string' ? { challenge } : { type: 'events_api', payload: body };
  }
  const form = Object.fromEntries(new URLSearchParams(Buffer.from(rawBody).toString()));
  if (form['ssl_check'] !== undefined) return { challenge: '' };
  if (form['command'] !== undefined) return { type: 'slash_commands', payload: form };
  return form['payload'] === undefined ? null : { type: 'interactive', payload: parse(form['payload']) };
}

function isRecord(body: unknown): body is Record<string, unknown> {
  return typeof body === 'object' && body !== null && !Array.isArray(body);
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return undefined;
  }
}
