-- Rows of the views of design documents. A set has the views of one design document: `signature` is a digest of what
-- determines its rows besides the documents, and `reached` is the number of the last change that they follow. `removals`
-- grows with each removal of a document that had rows. A set whose `database` is NULL was dropped; its rows are removed
-- piece by piece, then the set.
CREATE TABLE view_sets (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  database  INTEGER,
  signature BLOB    NOT NULL,
  reached   INTEGER NOT NULL DEFAULT 0,
  removals  INTEGER NOT NULL DEFAULT 0,
  UNIQUE (database, signature)
) STRICT;

-- A view: the number of its rows, and whether contents of its nodes may be stored.
CREATE TABLE stored_views (
  view_set     INTEGER NOT NULL,
  view         INTEGER NOT NULL,
  rows         INTEGER NOT NULL DEFAULT 0,
  has_contents INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (view_set, view)
) STRICT, WITHOUT ROWID;

CREATE TABLE view_rows (
  view_set INTEGER NOT NULL,
  view     INTEGER NOT NULL,
  position BLOB    NOT NULL,
  level    INTEGER NOT NULL,
  document TEXT    NOT NULL,
  key      TEXT    NOT NULL,
  value    TEXT    NOT NULL,
  PRIMARY KEY (view_set, view, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX view_rows_by_document ON view_rows (view_set, document);

-- A row of level n begins a node of each level from 1 to n. The content of a node is the number and the reduction of the
-- rows up to the next node of the level; `rows` is NULL if the content is not stored.
CREATE TABLE view_nodes (
  view_set  INTEGER NOT NULL,
  view      INTEGER NOT NULL,
  level     INTEGER NOT NULL,
  position  BLOB    NOT NULL,
  rows      INTEGER,
  reduction TEXT,
  PRIMARY KEY (view_set, view, level, position)
) STRICT, WITHOUT ROWID;
