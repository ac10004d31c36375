-- Indexes of documents by their fields. `view` is the definition, as in the design document. `reached` is the id of the
-- last document that the index considers, in the order of ids; NULL if it considers all. An index whose `database` is NULL
-- was dropped; its rows are removed piece by piece, then the index.
CREATE TABLE document_indexes (
  id       INTEGER PRIMARY KEY AUTOINCREMENT,
  database INTEGER,
  design   TEXT    NOT NULL,
  name     TEXT    NOT NULL,
  view     TEXT    NOT NULL,
  reached  TEXT,
  UNIQUE (database, design, name)
) STRICT;

CREATE TABLE index_rows (
  index_id INTEGER NOT NULL,
  key      BLOB    NOT NULL,
  document TEXT    NOT NULL,
  PRIMARY KEY (index_id, key, document)
) STRICT, WITHOUT ROWID;

-- Number of the indexes of a database, and the version of their rows. With another version than that of the program,
-- the indexes are not used and are built again.
ALTER TABLE databases ADD COLUMN indexes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE databases ADD COLUMN index_version INTEGER NOT NULL DEFAULT 0;
