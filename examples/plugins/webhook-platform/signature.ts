/**
 * The signature that both sides put on what they post: `x-hermes-signature: sha256=<hex>`, the HMAC-SHA256 of
 * `<x-hermes-timestamp>.<body bytes>`. The timestamp, in whole seconds, keeps a recorded request from being good for ever.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** How far the sender's clock may be off, seconds. */
const windowS = 300;

export function sign(secret: string, body: string | Uint8Array, nowMs: number): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1000));
  return { 'x-hermes-timestamp': timestamp, 'x-hermes-signature': toSignature(secret, timestamp, body) };
}

/** Null when the signature is good, else what is wrong with it. */
export function toSignatureFault(secret: string, headers: Record<string, string | undefined>, body: Uint8Array, nowMs: number): string | null {
  const timestamp = headers['x-hermes-timestamp'] ?? '';
  if (!/^\d{1,12}$/.test(timestamp)) return 'x-hermes-timestamp must be the time in whole seconds';
  if (!isEqual(headers['x-hermes-signature'] ?? '', toSignature(secret, timestamp, body))) return 'x-hermes-signature does not fit the body';
  return Math.abs(nowMs / 1000 - Number(timestamp)) <= windowS ? null : 'x-hermes-timestamp is more than five minutes off';
}

function toSignature(secret: string, timestamp: string, body: string | Uint8Array): string {
  return `sha256=${createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex')}`;
}

/** Hashed first: timingSafeEqual takes only buffers of one length. */
function isEqual(given: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}
