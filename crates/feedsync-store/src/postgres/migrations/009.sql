-- Indexes of documents by their fields. `view` is the definition, as in the design document. `reached` is the id of the
-- last document that the index considers, in the order of ids; NULL if it considers all. An index whose `database` is NULL
-- was dropped; its rows are removed piece by piece, then the index. Ids, names and JSON may contain NUL, so they are
-- bytes, in UTF-8.
CREATE TABLE document_indexes (
  id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  database bigint,
  design   bytea  NOT NULL,
  name     bytea  NOT NULL,
  view     bytea  NOT NULL,
  reached  bytea
);
CREATE INDEX document_indexes_by_database ON document_indexes (database, id);

-- A document in an index. `head` and `digest` identify it, as in `documents`. Together with a key, which has at most
-- 1024 bytes, they fit into a row of the primary key.
CREATE TABLE index_rows (
  index_id bigint NOT NULL,
  key      bytea  NOT NULL,
  head     bytea  NOT NULL,
  digest   bytea  NOT NULL,
  PRIMARY KEY (index_id, key, head, digest)
);

-- Number of the indexes of a database, and the version of their rows. With another version than that of the program, the
-- indexes are not used and are built again.
ALTER TABLE databases ADD COLUMN indexes bigint NOT NULL DEFAULT 0;
ALTER TABLE databases ADD COLUMN index_version bigint NOT NULL DEFAULT 0;
