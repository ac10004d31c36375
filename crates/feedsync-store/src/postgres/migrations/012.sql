-- The history of a database: for how many seconds ended revisions are kept (NULL: not at all), the oldest moment whose
-- state is known, the moment of the last write while a history was kept, and the bytes of bodies that no tree names.
ALTER TABLE databases ADD COLUMN history_seconds bigint;
ALTER TABLE databases ADD COLUMN history_since bigint;
ALTER TABLE databases ADD COLUMN history_last bigint NOT NULL DEFAULT 0;
ALTER TABLE databases ADD COLUMN history_bytes bigint NOT NULL DEFAULT 0;

-- The writes that made the bodies of leaves, while a history is kept.
CREATE TABLE body_origins (
  database bigint NOT NULL,
  number   bigint NOT NULL,
  since    bigint NOT NULL,
  author   bytea,
  PRIMARY KEY (database, number)
);

-- Revisions that were leaves until a write superseded them, by the numbers of their bodies; ids are as in documents. A body
-- whose row is `held` is named by no tree. `since` and `author` are NULL if the revision is older than the history.
CREATE TABLE ended_revisions (
  database bigint  NOT NULL,
  number   bigint  NOT NULL,
  head     bytea   NOT NULL,
  digest   bytea   NOT NULL,
  rest     bytea   NOT NULL,
  revision text    NOT NULL,
  deleted  boolean NOT NULL,
  length   bigint  NOT NULL,
  attached bigint  NOT NULL,
  since    bigint,
  author   bytea,
  ended    bigint  NOT NULL,
  ended_by bytea,
  held     boolean NOT NULL,
  PRIMARY KEY (database, number)
);
CREATE INDEX ended_by_document ON ended_revisions (database, head, digest, ended, number);
CREATE INDEX ended_by_time ON ended_revisions (database, ended, number);
