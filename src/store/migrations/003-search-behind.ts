/** The search index is filled some entries at a time (search-index.ts), not by a trigger with each of them. */
export const searchBehind = `
CREATE TABLE search_index (
  -- Entries up to this id are in the index; one row.
  up_to INTEGER NOT NULL
) STRICT;
INSERT INTO search_index SELECT coalesce(max(id), 0) FROM entries;

DROP TRIGGER entries_added;
DROP TRIGGER entries_finished;
DROP TRIGGER entries_removed;
CREATE TRIGGER entries_finished AFTER UPDATE OF text ON entries
WHEN new.text IS NOT NULL AND new.id <= (SELECT up_to FROM search_index) BEGIN
  DELETE FROM entries_fts WHERE rowid = old.id;
  INSERT INTO entries_fts(rowid, text) VALUES (new.id, iif(new.role = 'tool', substr(new.text, 1, 2000), new.text));
END;
CREATE TRIGGER entries_removed AFTER DELETE ON entries WHEN old.id <= (SELECT up_to FROM search_index) BEGIN
  DELETE FROM entries_fts WHERE rowid = old.id;
END;
`;
