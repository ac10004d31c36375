-- People: who may sign in, with what, and what they may do. No password and no token stands here,
-- only what was made of them.

-- `password` is a hash in PHC notation; without one only tokens sign in.
CREATE TABLE users (
  name          TEXT    NOT NULL PRIMARY KEY,
  password      TEXT,
  administrator INTEGER NOT NULL,
  disabled      INTEGER NOT NULL,
  created       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Roles in a collection: reader, editor or owner.
CREATE TABLE grants (
  user       TEXT    NOT NULL REFERENCES users (name) ON DELETE CASCADE,
  collection INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
  role       TEXT    NOT NULL,
  PRIMARY KEY (user, collection)
) STRICT, WITHOUT ROWID;
CREATE INDEX grants_by_collection ON grants (collection);

-- Tokens by the SHA-256 of their text. `session` tokens are browsers'. `role` and `collection` bound
-- what a token allows.
CREATE TABLE tokens (
  digest     TEXT    NOT NULL PRIMARY KEY,
  user       TEXT    NOT NULL REFERENCES users (name) ON DELETE CASCADE,
  session    INTEGER NOT NULL,
  label      TEXT    NOT NULL,
  role       TEXT,
  collection INTEGER REFERENCES collections (id) ON DELETE CASCADE,
  created    INTEGER NOT NULL,
  expires    INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX tokens_by_user ON tokens (user, created);
CREATE INDEX tokens_by_collection ON tokens (collection) WHERE collection IS NOT NULL;

-- Who did what, for as long as it is kept. Names are those of the time.
CREATE TABLE acts (
  place      INTEGER PRIMARY KEY AUTOINCREMENT,
  at         INTEGER NOT NULL,
  user       TEXT,
  address    TEXT,
  action     TEXT    NOT NULL,
  collection TEXT,
  item       TEXT,
  detail     TEXT    NOT NULL
) STRICT;
CREATE INDEX acts_by_user ON acts (user, place);
CREATE INDEX acts_by_collection ON acts (collection, place);
