/**
 * Pairing as the store keeps it: requests with hashed codes, wrong codes counted, people who were let in. Each limit is checked and
 * counted in the transaction that acts on it, so that no number of calls at once gets past one.
 */
import type { StoreDatabase } from './database.ts';

/** A code is good this long, and the same person gets no other in that time, ms. */
export const codeMs = 10 * 60_000;
/** Codes that are good at once, per platform. */
const maxPending = 3;
/** Wrong codes after which nothing is approved on the platform for `lockMs`; a wrong code counts as long. */
const maxWrong = 5;
const lockMs = 3600_000;

export interface PairingPerson {
  platform: string;
  user: string;
  /** Display name as the platform gave it, for people only. */
  name: string;
}

export interface HashedCode {
  salt: string;
  hash: string;
}

export type Approval =
  | ({ status: 'approved' } & PairingPerson)
  /** `left`: how many more wrong codes lock approval; 0 when this one did. */
  | { status: 'wrong'; left: number }
  /** No code is looked at before `until`, ms since the epoch. */
  | { status: 'locked'; until: number };

export interface PairingStore {
  /** Whether a request would be kept now; a read, so that a stranger who keeps writing costs no commit. */
  mayAsk(platform: string, user: string, now: number): boolean;
  /** Keeps the request unless this person asked lately or too many codes are good already. Resolves with whether it was kept. */
  ask(person: PairingPerson, code: HashedCode, now: number): Promise<boolean>;
  /** Forgets a request whose code reached nobody. */
  withdraw(platform: string, user: string, hash: string): Promise<void>;
  /** `matches` is asked about each code that is still good. */
  approve(platform: string, matches: (code: HashedCode) => boolean, now: number): Promise<Approval>;
  /** Resolves with whether this person was paired. */
  revoke(platform: string, user: string): Promise<boolean>;
  paired(): (PairingPerson & { pairedAt: number })[];
  pending(now: number): (PairingPerson & { askedAt: number })[];
  locks(now: number): { platform: string; until: number }[];
}

type RequestRow = HashedCode & PairingPerson;

export function createPairingStore({ sql, write }: StoreDatabase): PairingStore {
  const askedSince = sql.prepare('SELECT 1 FROM pairing_requests WHERE platform = ? AND user = ? AND asked_at > ?').pluck();
  const goodCount = sql.prepare('SELECT count(*) FROM pairing_requests WHERE platform = ? AND asked_at > ? AND hash IS NOT NULL').pluck();
  const good = sql.prepare('SELECT platform, user, name, salt, hash FROM pairing_requests WHERE platform = ? AND asked_at > ? AND hash IS NOT NULL');
  const sweep = sql.prepare('DELETE FROM pairing_requests WHERE asked_at <= ?');
  const insert = sql.prepare('INSERT INTO pairing_requests VALUES (@platform, @user, @name, @salt, @hash, @now)');
  const withdraw = sql.prepare('DELETE FROM pairing_requests WHERE platform = ? AND user = ? AND hash = ?');
  const use = sql.prepare('UPDATE pairing_requests SET hash = NULL WHERE platform = ? AND user = ?');
  const guesses = sql.prepare('SELECT wrong, until FROM pairing_guesses WHERE platform = ? AND until > ?');
  const setGuesses = sql.prepare('INSERT INTO pairing_guesses VALUES (?, ?, ?) ON CONFLICT (platform) DO UPDATE SET wrong = excluded.wrong, until = excluded.until');
  const clearGuesses = sql.prepare('DELETE FROM pairing_guesses WHERE platform = ?');
  const pair = sql.prepare('INSERT INTO paired VALUES (?, ?, ?, ?) ON CONFLICT (platform, user) DO UPDATE SET name = excluded.name');
  const unpair = sql.prepare('DELETE FROM paired WHERE platform = ? AND user = ?');
  const allPaired = sql.prepare('SELECT platform, user, name, paired_at AS pairedAt FROM paired ORDER BY platform, paired_at, user');
  const allPending = sql.prepare('SELECT platform, user, name, asked_at AS askedAt FROM pairing_requests WHERE asked_at > ? AND hash IS NOT NULL ORDER BY asked_at, platform, user');
  const allLocks = sql.prepare('SELECT platform, until FROM pairing_guesses WHERE wrong >= ? AND until > ? ORDER BY platform');

  const mayAsk = (platform: string, user: string, now: number) =>
    askedSince.get(platform, user, now - codeMs) === undefined && Number(goodCount.get(platform, now - codeMs)) < maxPending;

  return {
    mayAsk,
    ask: (person, code, now) =>
      write(() => {
        if (!mayAsk(person.platform, person.user, now)) return false;
        sweep.run(now - codeMs);
        insert.run({ ...person, ...code, now });
        return true;
      }),
    withdraw: (platform, user, hash) => write(() => void withdraw.run(platform, user, hash)),

    approve: (platform, matches, now) =>
      write((): Approval => {
        const { wrong, until } = (guesses.get(platform, now) as { wrong: number; until: number } | undefined) ?? { wrong: 0, until: 0 };
        if (wrong >= maxWrong) return { status: 'locked', until };
        const found = (good.all(platform, now - codeMs) as RequestRow[]).find(matches);
        if (!found) {
          setGuesses.run(platform, wrong + 1, now + lockMs);
          return { status: 'wrong', left: maxWrong - wrong - 1 };
        }
        clearGuesses.run(platform);
        use.run(platform, found.user);
        pair.run(platform, found.user, found.name, now);
        return { status: 'approved', platform, user: found.user, name: found.name };
      }),

    revoke: (platform, user) => write(() => unpair.run(platform, user).changes > 0),
    paired: () => allPaired.all() as ReturnType<PairingStore['paired']>,
    pending: (now) => allPending.all(now - codeMs) as ReturnType<PairingStore['pending']>,
    locks: (now) => allLocks.all(maxWrong, now) as ReturnType<PairingStore['locks']>,
  };
}
