-- Databases of documents, as CouchDB's replication protocol knows them. One whose name is NULL was dropped: what it
-- held goes piece by piece, then the row. Ids and JSON may hold any character, NUL too: they are bytes, in UTF-8.
CREATE TABLE databases (
  id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name           text   COLLATE "C" UNIQUE,
  epoch_began    bigint NOT NULL,
  epoch_tail     bigint NOT NULL,
  created        bigint NOT NULL,
  last           bigint NOT NULL,     -- change number
  next_body      bigint NOT NULL,
  documents      bigint NOT NULL,     -- that are there
  deleted        bigint NOT NULL,
  purges         bigint NOT NULL,
  revisions_kept bigint NOT NULL,
  security       bytea,               -- JSON
  bytes          bigint NOT NULL,     -- of all bodies
  superseded     bigint NOT NULL      -- of those of revisions that are no leaves
) WITH (fillfactor = 20);

-- A document: its tree of revisions, and its place in the order of changes. Its id is longer than a key of an index
-- may be: `head` holds the first 1024 bytes, `rest` what is behind them, and `digest` the SHA-256 of that if it is
-- anything. `kind` is '=' and what its only leaf says its `type` is, '' if that says nothing, NULL if the document
-- must be looked at.
CREATE TABLE documents (
  database bigint  NOT NULL,
  head     bytea   NOT NULL,
  digest   bytea   NOT NULL,
  rest     bytea   NOT NULL,
  number   bigint  NOT NULL,
  deleted  boolean NOT NULL,
  kind     bytea,
  tree     bytea   NOT NULL,
  PRIMARY KEY (database, head, digest)
) WITH (fillfactor = 90);

-- Changes of a kind are passed over without looking at the documents.
CREATE UNIQUE INDEX document_changes ON documents (database, number) INCLUDE (kind, head);

-- What a revision says.
CREATE TABLE bodies (
  database    bigint NOT NULL,
  number      bigint NOT NULL,
  text        bytea  NOT NULL,        -- a JSON object
  attachments bytea,                  -- JSON, if there are any
  PRIMARY KEY (database, number)
);

-- Documents that are not replicated, by the SHA-256 of their ids.
CREATE TABLE local_documents (
  database bigint NOT NULL,
  digest   bytea  NOT NULL,
  id       bytea  NOT NULL,
  revision bigint NOT NULL,
  text     bytea  NOT NULL,
  PRIMARY KEY (database, digest)
);

-- What attachments hold, by what documents know them by.
CREATE TABLE attachments (
  database bigint NOT NULL,
  digest   text   COLLATE "C" NOT NULL, -- md5-...
  stored   bigint NOT NULL,
  content  bytea  NOT NULL,
  PRIMARY KEY (database, digest)
);
ALTER TABLE attachments ALTER COLUMN content SET STORAGE EXTERNAL;

-- Which bodies name them.
CREATE TABLE attachment_uses (
  database bigint NOT NULL,
  number   bigint NOT NULL,           -- of the body
  digest   text   COLLATE "C" NOT NULL,
  PRIMARY KEY (database, number, digest)
);
CREATE INDEX attachment_users ON attachment_uses (database, digest);
