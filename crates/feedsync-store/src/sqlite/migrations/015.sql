-- The history of a database: for how many seconds ended revisions are kept (NULL: not at all), the oldest moment whose
-- state is known, the moment of the last write while a history was kept, and the bytes of bodies that no tree names.
ALTER TABLE databases ADD COLUMN history_seconds INTEGER;
ALTER TABLE databases ADD COLUMN history_since INTEGER;
ALTER TABLE databases ADD COLUMN history_last INTEGER NOT NULL DEFAULT 0;
ALTER TABLE databases ADD COLUMN history_bytes INTEGER NOT NULL DEFAULT 0;

-- The writes that made the bodies of leaves, while a history is kept.
CREATE TABLE body_origins (
  key    INTEGER PRIMARY KEY,
  since  INTEGER NOT NULL,
  author TEXT
) STRICT;

-- Revisions that were leaves until a write superseded them, by the keys of their bodies. A body whose row is `held` is named
-- by no tree. `since` and `author` are NULL if the revision is older than the history.
CREATE TABLE ended_revisions (
  key      INTEGER PRIMARY KEY,
  database INTEGER NOT NULL,
  document TEXT    NOT NULL,
  revision TEXT    NOT NULL,
  deleted  INTEGER NOT NULL,
  length   INTEGER NOT NULL,
  attached INTEGER NOT NULL,
  since    INTEGER,
  author   TEXT,
  ended    INTEGER NOT NULL,
  ended_by TEXT,
  held     INTEGER NOT NULL
) STRICT;
CREATE INDEX ended_by_document ON ended_revisions (database, document, ended);
CREATE INDEX ended_by_time ON ended_revisions (database, ended);
