-- Append-only logs, at most one of a collection. What is known of a log stands here; the bytes of each of
-- its generations stand in a file below this one's directory, `logs/{collection}-{generation}.log`.
-- `length` says how much of the current generation's file is the log; what stands behind it was never
-- committed, and is cut off. A log that was removed remembers its generation.
CREATE TABLE logs (
  collection INTEGER PRIMARY KEY REFERENCES collections (id) ON DELETE CASCADE,
  generation TEXT    NOT NULL,      -- a number that grows, '.', 8 random digits
  length     INTEGER NOT NULL,
  media_type TEXT    NOT NULL,
  removed    INTEGER NOT NULL,
  began      INTEGER NOT NULL,      -- the current generation
  changed    INTEGER NOT NULL
) STRICT;

-- The greatest number of a generation of logs that were dropped with their collections: a log begins later.
ALTER TABLE endpoint ADD COLUMN last_dropped_generation INTEGER NOT NULL DEFAULT 0;

-- Earlier generations whose files are still here.
CREATE TABLE log_generations (
  collection INTEGER NOT NULL REFERENCES logs (collection) ON DELETE CASCADE,
  generation TEXT    NOT NULL,
  length     INTEGER NOT NULL,
  ended      INTEGER NOT NULL,
  PRIMARY KEY (collection, generation)
) STRICT, WITHOUT ROWID;

-- The last appends that had a key, in their order: what was appended, and where it ended.
CREATE TABLE log_keys (
  ordinal    INTEGER PRIMARY KEY,
  collection INTEGER NOT NULL REFERENCES logs (collection) ON DELETE CASCADE,
  key        TEXT    NOT NULL,
  digest     TEXT    NOT NULL,
  length     INTEGER NOT NULL,
  generation TEXT    NOT NULL,
  ends       INTEGER NOT NULL,
  UNIQUE (collection, key)
) STRICT;

-- The snapshot that stands beside a log, and how much of which generation it stands for.
CREATE TABLE log_snapshots (
  collection INTEGER PRIMARY KEY REFERENCES logs (collection) ON DELETE CASCADE,
  generation TEXT    NOT NULL,
  covers     INTEGER NOT NULL,
  media_type TEXT    NOT NULL,
  digest     TEXT    NOT NULL,
  stored     INTEGER NOT NULL,
  content    BLOB    NOT NULL
) STRICT;
