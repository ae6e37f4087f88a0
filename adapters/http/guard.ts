/**
 * Who may come in. The Host check keeps out pages that reach us under a name of their own (DNS rebinding), the Origin check
 * keeps out pages of other origins, the key check everybody else, and the count of failures keeps guessing slow.
 */
import { createHash, timingSafeEqual } from 'node:crypto';

const maxFailures = 10;
const windowMs = 60_000;
const maxAddresses = 10_000;

/**
 * True for loopback names, for the host that we are bound to, and for configured names. `allowed` entries are names, with a
 * port where only that port counts. The port of a loopback name does not matter: a container may publish another one.
 */
export function isAllowedHost(header: string | undefined, boundHost: string, allowed: readonly string[]): boolean {
  const host = splitHost(header);
  if (!host) return false;
  if (['localhost', '127.0.0.1', '[::1]'].includes(host.name)) return true;
  if (!isWildcard(boundHost) && host.name === toHostName(boundHost)) return true;
  return allowed.some((entry) => [host.name, host.whole].includes(entry.toLowerCase()));
}

/**
 * True when a page of this origin is our own page: its host and port are those the request was sent to, or a configured name
 * (a proxy may have changed the Host). A name without a port means the usual port of its scheme and no other.
 */
export function isOwnOrigin(origin: string, hostHeader: string | undefined, allowed: readonly string[]): boolean {
  const own = /^https?:\/\/([^/?#@\s]+)$/i.exec(origin)?.[1]?.toLowerCase();
  if (!own || !splitHost(own)) return false;
  return own === hostHeader?.toLowerCase() || allowed.some((entry) => entry.toLowerCase() === own);
}

/** The name to reach `boundHost` by: loopback for a wildcard, brackets for IPv6. */
export function toHostName(boundHost: string): string {
  if (isWildcard(boundHost)) return '127.0.0.1';
  return boundHost.includes(':') ? `[${boundHost.toLowerCase()}]` : boundHost.toLowerCase();
}

/** One spelling per address: an IPv4 caller on an IPv6 socket is the same caller. */
export function toCanonicalIp(address: string | undefined): string {
  const ip = (address ?? 'unknown').toLowerCase().replace(/%.*$/, '');
  return ip.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/, '');
}

/** Compares in a time that depends on neither value; both are hashed first because lengths must not show either. */
export function isSameSecret(given: string, expected: string): boolean {
  const [a, b] = [given, expected].map((text) => createHash('sha256').update(text).digest());
  return a !== undefined && b !== undefined && timingSafeEqual(a, b);
}

export interface FailureCount {
  /** Whole seconds until this address may try again, 0 when it may now. */
  waitS(ip: string): number;
  failed(ip: string): void;
}

/** Ten failed keys a minute per address; then even the right key waits, or guessing would simply go on. */
export function createFailureCount(now: () => number): FailureCount {
  const failures = new Map<string, { count: number; until: number }>();
  return {
    waitS(ip) {
      const entry = failures.get(ip);
      if (!entry || entry.until <= now() || entry.count < maxFailures) return 0;
      return Math.ceil((entry.until - now()) / 1000);
    },
    failed(ip) {
      const entry = failures.get(ip);
      if (entry && entry.until > now()) {
        entry.count += 1;
        return;
      }
      failures.delete(ip);
      failures.set(ip, { count: 1, until: now() + windowMs });
      // The oldest window ends first, so the first key is the one to forget.
      const oldest = failures.keys().next().value;
      if (failures.size > maxAddresses && oldest !== undefined) failures.delete(oldest);
    },
  };
}

function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

function splitHost(header: string | undefined): { whole: string; name: string } | null {
  const whole = header?.toLowerCase();
  const name = whole && /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/.exec(whole)?.[1];
  return name ? { whole, name } : null;
}
