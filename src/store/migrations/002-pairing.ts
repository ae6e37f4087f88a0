/** Who asked to be let in, who was, and the count of wrong codes that locks approval. */
export const pairing = `
CREATE TABLE pairing_requests (
  platform TEXT NOT NULL,
  user TEXT NOT NULL,
  name TEXT NOT NULL,
  salt TEXT NOT NULL,
  -- NULL once the code was used: the row then only remembers when this person asked.
  hash TEXT,
  asked_at INTEGER NOT NULL,
  PRIMARY KEY (platform, user)
) STRICT, WITHOUT ROWID;

CREATE TABLE pairing_guesses (
  platform TEXT PRIMARY KEY,
  wrong INTEGER NOT NULL,
  -- Until then the count stands; once it is full, nothing is approved until then.
  until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE paired (
  platform TEXT NOT NULL,
  user TEXT NOT NULL,
  name TEXT NOT NULL,
  paired_at INTEGER NOT NULL,
  PRIMARY KEY (platform, user)
) STRICT, WITHOUT ROWID;
`;
