-- Rows of the views of design documents. A set has the views of one design document: `signature` is a digest of what
-- determines its rows besides the documents, and `reached` is the number of the last change that they follow. `removals`
-- grows with each removal of a document that had rows. A set whose `database` is NULL was dropped; its rows are removed
-- piece by piece, then the set. Ids and JSON are bytes, in UTF-8.
CREATE TABLE view_sets (
  id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  database  bigint,
  signature bytea  NOT NULL,
  reached   bigint NOT NULL DEFAULT 0,
  removals  bigint NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX view_sets_by_database ON view_sets (database, signature);

-- A view: the number of its rows, and whether contents of its nodes may be stored.
CREATE TABLE stored_views (
  view_set     bigint  NOT NULL,
  view         bigint  NOT NULL,
  rows         bigint  NOT NULL DEFAULT 0,
  has_contents boolean NOT NULL DEFAULT false,
  PRIMARY KEY (view_set, view)
);

-- `head` and `digest` identify the document, as in `documents`; `rest` is the rest of its id. A position has at most 1700
-- bytes, which fit into a row of the primary key.
CREATE TABLE view_rows (
  view_set bigint NOT NULL,
  view     bigint NOT NULL,
  position bytea  NOT NULL,
  level    bigint NOT NULL,
  head     bytea  NOT NULL,
  digest   bytea  NOT NULL,
  rest     bytea  NOT NULL,
  key      bytea  NOT NULL,
  value    bytea  NOT NULL,
  PRIMARY KEY (view_set, view, position)
);
CREATE INDEX view_rows_by_document ON view_rows (view_set, head, digest);

-- A row of level n begins a node of each level from 1 to n. The content of a node is the number and the reduction of the
-- rows up to the next node of the level; `rows` is NULL if the content is not stored.
CREATE TABLE view_nodes (
  view_set  bigint NOT NULL,
  view      bigint NOT NULL,
  level     bigint NOT NULL,
  position  bytea  NOT NULL,
  rows      bigint,
  reduction bytea,
  PRIMARY KEY (view_set, view, level, position)
);
