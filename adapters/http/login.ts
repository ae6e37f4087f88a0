/**
 * How the page logs in. A ticket is a one-time secret in a printed link; redeeming it gives the browser a cookie. The cookie's
 * secret is kept as a keyed hash alone, so the store lets nobody in, a restart logs nobody out, and a new key logs everybody out.
 */
import { createHmac, randomBytes } from 'node:crypto';
import type { AdapterContext } from '../../src/contract/adapter.ts';

const ticketMs = 10 * 60_000;
const cookieMs = 30 * 24 * 3_600_000;
const maxTickets = 8;
const maxLogins = 32;
const stateKey = 'logins';

interface Login {
  hash: string;
  at: number;
}

export interface Logins {
  /** Reads the logins of earlier runs; call once before the first question. */
  load(): Promise<void>;
  /** A fresh ticket, good for ten minutes and one use. */
  ticket(): string;
  /** The cookie's secret for a ticket that is good, else null. */
  redeem(ticket: string): Promise<string | null>;
  /** A cookie's secret for a caller who has shown the key. */
  login(): Promise<string>;
  isLoggedIn(secret: string): boolean;
  logout(secret: string): Promise<void>;
}

export function createLogins(key: string, state: AdapterContext['state'], now: () => number): Logins {
  const tickets = new Map<string, number>();
  let logins: Login[] = [];

  const hash = (secret: string) => createHmac('sha256', key).update(secret).digest('base64url');
  const keep = async (next: Login[]) => {
    logins = next;
    await state.set(stateKey, JSON.stringify(next));
  };
  const login = async () => {
    const secret = randomBytes(32).toString('base64url');
    const alive = logins.filter((entry) => entry.at + cookieMs > now());
    await keep([...alive, { hash: hash(secret), at: now() }].slice(-maxLogins));
    return secret;
  };

  return {
    async load() {
      logins = toLogins(await state.get(stateKey));
    },
    ticket() {
      const ticket = randomBytes(32).toString('base64url');
      tickets.set(hash(ticket), now() + ticketMs);
      const oldest = tickets.keys().next().value;
      if (tickets.size > maxTickets && oldest !== undefined) tickets.delete(oldest);
      return ticket;
    },
    async redeem(ticket) {
      const until = tickets.get(hash(ticket));
      // Taken away before anything is awaited: of two requests with one ticket only the first finds it.
      tickets.delete(hash(ticket));
      return until !== undefined && until > now() ? await login() : null;
    },
    login,
    // Looked up by hash: what the time of the comparison tells about a hash says nothing about a secret.
    isLoggedIn: (secret) => logins.some((entry) => entry.hash === hash(secret) && entry.at + cookieMs > now()),
    logout: (secret) => keep(logins.filter((entry) => entry.hash !== hash(secret))),
  };
}

/** Cookies know no ports, so the port is in the name: two daemons on one machine keep their logins apart. */
export function cookieName(port: number): string {
  return `hermes_${port}`;
}

export function toCookie(port: number, secret: string | null): string {
  const life = secret === null ? 0 : cookieMs / 1000;
  return `${cookieName(port)}=${secret ?? ''}; Path=/; Max-Age=${life}; HttpOnly; SameSite=Strict`;
}

export function readCookie(header: string | undefined, name: string): string | null {
  for (const pair of (header ?? '').split(';')) {
    const [key, value] = pair.trim().split('=', 2);
    if (key === name && value) return value;
  }
  return null;
}

function toLogins(text: string | undefined): Login[] {
  if (text === undefined) return [];
  try {
    const rows: unknown = JSON.parse(text);
    return Array.isArray(rows) ? rows.filter(isLogin) : [];
  } catch {
    return [];
  }
}

function isLogin(row: unknown): row is Login {
  return typeof row === 'object' && row !== null && 'hash' in row && typeof row.hash === 'string' && 'at' in row && typeof row.at === 'number';
}
