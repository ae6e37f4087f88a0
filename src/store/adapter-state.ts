/** Small durable values of one platform's adapter (menu hashes, last seen message ids), and of the gateway under its own name. */
import type { StoreDatabase } from './database.ts';

export interface KeyedState {
  get(key: string): Promise<string | undefined>;
  set(key: string, value: string): Promise<void>;
  delete(key: string): Promise<void>;
  /** Keys that begin with `prefix`, in key order. */
  list(prefix: string): Promise<{ key: string; value: string }[]>;
}

export type StateOf = (platform: string) => KeyedState;

export function createKeyedState({ sql, write }: StoreDatabase): StateOf {
  const get = sql.prepare('SELECT value FROM adapter_state WHERE platform = ? AND key = ?').pluck();
  const set = sql.prepare('INSERT INTO adapter_state VALUES (?, ?, ?) ON CONFLICT (platform, key) DO UPDATE SET value = excluded.value');
  const remove = sql.prepare('DELETE FROM adapter_state WHERE platform = ? AND key = ?');
  const list = sql.prepare('SELECT key, value FROM adapter_state WHERE platform = ? AND substr(key, 1, length(?)) = ? ORDER BY key');
  return (platform) => ({
    get: async (key) => get.get(platform, key) as string | undefined,
    set: (key, value) => write(() => void set.run(platform, key, value)),
    delete: (key) => write(() => void remove.run(platform, key)),
    list: async (prefix) => list.all(platform, prefix, prefix) as { key: string; value: string }[],
  });
}
