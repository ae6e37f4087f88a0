/**
 * Whole sessions are taken away: their turns, their entries, what the search index knows of them. One session is one transaction, so that
 * the writer is never held up for long. A session in which a turn runs stays.
 */
import type { StoreDatabase } from './database.ts';

export interface Retention {
  /** `busy`: a turn runs in it. */
  remove(id: string): Promise<'removed' | 'busy' | 'unknown'>;
  /** Ids of sessions last used before this moment, the oldest first; live ones too. */
  unusedSince(before: number, limit: number): string[];
  /** Bytes of the database file that hold something. */
  size(): number;
}

export function createRetention({ sql, write }: StoreDatabase): Retention {
  const isRunning = sql.prepare("SELECT 1 FROM turns WHERE session_id = ? AND state = 'running' LIMIT 1").pluck();
  const remove = sql.prepare('DELETE FROM sessions WHERE id = ?');
  const unused = sql.prepare('SELECT id FROM sessions WHERE last_active_at < ? ORDER BY last_active_at LIMIT ?').pluck();
  const pages = sql.prepare('SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size').pluck();
  return {
    remove: (id) =>
      write(() => {
        if (isRunning.get(id) !== undefined) return 'busy';
        return remove.run(id).changes > 0 ? 'removed' : 'unknown';
      }),
    unusedSince: (before, limit) => unused.all(before, limit) as string[],
    size: () => Number(pages.get()),
  };
}
