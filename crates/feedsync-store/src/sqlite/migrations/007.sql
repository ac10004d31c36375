-- Databases of documents, as CouchDB's replication protocol knows them. One whose name is NULL was dropped: what it
-- held goes piece by piece, then the row.
CREATE TABLE databases (
  id             INTEGER PRIMARY KEY,
  name           TEXT UNIQUE,
  epoch_began    INTEGER NOT NULL,
  epoch_tail     INTEGER NOT NULL,
  created        INTEGER NOT NULL,
  last           INTEGER NOT NULL,    -- change number
  next_body      INTEGER NOT NULL,
  documents      INTEGER NOT NULL,    -- that are there
  deleted        INTEGER NOT NULL,
  purges         INTEGER NOT NULL,
  revisions_kept INTEGER NOT NULL,
  security       TEXT,                -- JSON
  bytes          INTEGER NOT NULL,    -- of all bodies
  superseded     INTEGER NOT NULL     -- of those of revisions that are no leaves
) STRICT;

-- A document: its tree of revisions, and its place in the order of changes. `kind` is '=' and what its only leaf says
-- its `type` is, '' if that says nothing, NULL if the document must be looked at.
CREATE TABLE documents (
  database INTEGER NOT NULL,
  id       TEXT    NOT NULL,
  number   INTEGER NOT NULL,
  deleted  INTEGER NOT NULL,
  kind     TEXT,
  tree     BLOB    NOT NULL,
  PRIMARY KEY (database, id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX document_changes ON documents (database, number, kind);

-- What a revision says: key = database << 40 | number.
CREATE TABLE bodies (
  key         INTEGER PRIMARY KEY,
  text        TEXT NOT NULL,          -- a JSON object
  attachments TEXT                    -- JSON, if there are any
) STRICT;

-- Documents that are not replicated.
CREATE TABLE local_documents (
  database INTEGER NOT NULL,
  id       TEXT    NOT NULL,
  revision INTEGER NOT NULL,
  text     TEXT    NOT NULL,
  PRIMARY KEY (database, id)
) STRICT, WITHOUT ROWID;

-- What attachments hold, by what documents know them by.
CREATE TABLE attachments (
  database INTEGER NOT NULL,
  digest   TEXT    NOT NULL,          -- md5-...
  stored   INTEGER NOT NULL,
  content  BLOB    NOT NULL,
  PRIMARY KEY (database, digest)
) STRICT;

-- Which bodies name them.
CREATE TABLE attachment_uses (
  key    INTEGER NOT NULL,            -- of the body
  digest TEXT    NOT NULL,
  PRIMARY KEY (key, digest)
) STRICT, WITHOUT ROWID;

CREATE INDEX attachment_users ON attachment_uses (digest, key);
