/**
 * The search index, a few entries behind the transcript. Every transaction that adds to it makes a segment, and FTS5 merges segments
 * ever after: one entry at a time that is the greatest part of a turn's writing, and it grows with the store's age.
 *
 * commitTurn -> keepUp() takes in what waits once there is enough of it; search -> catchUp() takes in the rest first.
 */
import type { StoreDatabase } from './database.ts';

export interface SearchIndex {
  /** For use inside a transaction. */
  keepUp(): void;
  /** In a transaction of its own. */
  catchUp(): void;
}

/** Entries that make a batch: more would save little, and hold the writer up for longer. */
const enough = 20;
const most = 100;

export function createSearchIndex({ sql }: StoreDatabase): SearchIndex {
  const upTo = sql.prepare('SELECT up_to FROM search_index').pluck();
  const newest = sql.prepare('SELECT max(id) FROM entries').pluck();
  // Of a tool's result only the beginning is searchable. One that is still to come is taken in by a trigger when it has come.
  const add = sql.prepare(
    `INSERT INTO entries_fts(rowid, text)
     SELECT id, iif(role = 'tool', substr(text, 1, 2000), text) FROM entries WHERE id > ? AND id <= ? AND text IS NOT NULL`,
  );
  const advance = sql.prepare('UPDATE search_index SET up_to = ?');

  const take = (from: number, to: number) => {
    add.run(from, to);
    advance.run(to);
  };

  return {
    keepUp() {
      const from = Number(upTo.get());
      const waiting = Number(newest.get()) - from;
      if (waiting >= enough) take(from, from + Math.min(waiting, most));
    },
    catchUp() {
      if (Number(newest.get()) <= Number(upTo.get())) return;
      try {
        sql.transaction(() => take(Number(upTo.get()), Number(newest.get()))).immediate();
      } catch {
        // Where nothing can be written now, a search still finds all but the newest.
      }
    },
  };
}
