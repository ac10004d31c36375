-- One life of one store, in the schema `feedsync` of a database. Moments are microseconds since 1970;
-- ids and names are compared by code point (COLLATE "C"); a collection's items hold what arrived,
-- byte for byte. Change nothing by hand while signing with this endpoint's name: two edits signed
-- alike lose one of them.
--
-- The tables that grow are keyed by collection first, so that a sharded PostgreSQL can split them by
-- it. They have no foreign keys: each insert would lock the collection's row once more. Who drops a
-- collection removes its rows from each.

-- Who this endpoint is, one row, written when it is founded. `place` names the server, its timeline,
-- the database and this table: another place means that this is a copy, or a former state put back,
-- which must not go on signing with the same incarnation.
CREATE TABLE endpoint (
  one            smallint PRIMARY KEY CHECK (one = 1),
  name           text     NOT NULL,
  place          text     NOT NULL,
  last_epoch     bigint,              -- when the latest epoch of any collection, dropped or not, began
  next_discarded bigint   NOT NULL,   -- next place in a recoverable list
  next_remote    bigint   NOT NULL
);

-- The lines of edits minted for this endpoint as a whole; the one with the highest ordinal is
-- current, the others have retired.
CREATE TABLE incarnations (
  ordinal bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  by      text   COLLATE "C" NOT NULL UNIQUE,
  began   bigint NOT NULL
);

-- What was ever signed: for each item and own line of edits the highest sequence issued, and the
-- incarnation that was current when the line was first used for it. By item over the whole store,
-- not by collection: an item may live in two collections, and one sequence must never sign two
-- payloads. `shown` is the highest sequence that others had been shown when the line was last
-- extended. Nothing deletes from here.
CREATE TABLE ledger (
  item        text   COLLATE "C" NOT NULL,
  by          text   COLLATE "C" NOT NULL,
  sequence    bigint NOT NULL,
  shown       bigint,
  incarnation text   COLLATE "C" NOT NULL,
  PRIMARY KEY (item, by)
);

-- A collection, its change order and its counts. Ids are never used again. The row is the lock under
-- which the collection changes; it is rewritten with each commit, hence the room beside it.
CREATE TABLE collections (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name        text   COLLATE "C" NOT NULL UNIQUE,
  title       text   NOT NULL,
  format      text   NOT NULL,
  feed_id     text   NOT NULL UNIQUE,
  epoch_began bigint NOT NULL,
  epoch_tail  bigint NOT NULL,
  last        bigint NOT NULL,        -- the last change number
  horizon     bigint NOT NULL,        -- who has seen less than this is out of sync
  sent        bigint NOT NULL,        -- others have been shown changes up to this
  live        bigint NOT NULL,
  deleted     bigint NOT NULL,
  conflicted  bigint NOT NULL,
  created     bigint NOT NULL,
  edited      bigint NOT NULL         -- moment of the last change, its own
) WITH (fillfactor = 20);

CREATE TABLE settings (
  collection bigint NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
  name       text   COLLATE "C" NOT NULL,
  value      text   NOT NULL,
  PRIMARY KEY (collection, name)
);

-- An item and its winner, in change order: what changed last lies together at the end.
-- A history has one update a line, newest first: sequence, when, by and foreign markup between tabs.
CREATE TABLE items (
  collection   bigint  NOT NULL,
  number       bigint  NOT NULL,      -- the change that last touched it
  id           text    COLLATE "C" NOT NULL,
  edited       bigint  NOT NULL,
  created_here boolean NOT NULL,
  origin       bigint  NOT NULL,      -- 0 made here, -1 mixed, else the one remote
  conflicts    bigint  NOT NULL,      -- rows in `conflicts`
  blobs        bigint  NOT NULL,      -- rows in `item_blobs`
  updates      bigint  NOT NULL,
  deleted      boolean NOT NULL,
  noconflicts  boolean,
  history      text    NOT NULL,
  format       text    NOT NULL,
  payload      text    NOT NULL,
  sync_foreign text,
  PRIMARY KEY (collection, number)
);
-- To find an item by its id, and to read a whole collection in an order that edits do not disturb.
CREATE UNIQUE INDEX items_by_id ON items (collection, id);
-- To list what is alive, or in conflict, without reading past all that is not.
CREATE INDEX items_live ON items (collection, number) WHERE NOT deleted;
CREATE INDEX items_conflicted ON items (collection, number) WHERE conflicts > 0;

-- The versions in conflict with an item's winner, under its number.
CREATE TABLE conflicts (
  collection   bigint  NOT NULL,
  number       bigint  NOT NULL,
  ordinal      bigint  NOT NULL,
  updates      bigint  NOT NULL,
  deleted      boolean NOT NULL,
  noconflicts  boolean,
  history      text    NOT NULL,
  format       text    NOT NULL,
  payload      text    NOT NULL,
  sync_foreign text,
  PRIMARY KEY (collection, number, ordinal)
);

-- The ids and vectors of purged items: what they cover is known and gone.
CREATE TABLE purged (
  collection bigint NOT NULL,
  id         text   COLLATE "C" NOT NULL,
  vector     text   NOT NULL,         -- as a history, in no particular order
  PRIMARY KEY (collection, id)
);

-- Items that were dropped when a publisher no longer had them, to be recovered by a person.
CREATE TABLE discarded (
  collection bigint NOT NULL,
  place      bigint NOT NULL,
  id         text   COLLATE "C" NOT NULL,
  at         bigint NOT NULL,
  reason     text   NOT NULL,
  PRIMARY KEY (collection, place)
);

-- Their versions, the winner as ordinal 0.
CREATE TABLE discarded_versions (
  collection   bigint  NOT NULL,
  place        bigint  NOT NULL,
  ordinal      bigint  NOT NULL,
  updates      bigint  NOT NULL,
  deleted      boolean NOT NULL,
  noconflicts  boolean,
  history      text    NOT NULL,
  format       text    NOT NULL,
  payload      text    NOT NULL,
  sync_foreign text,
  PRIMARY KEY (collection, place, ordinal)
);

-- Blobs by their SHA-256. Media is compressed already.
CREATE TABLE blobs (
  digest  bytea  PRIMARY KEY,
  stored  bigint NOT NULL,
  content bytea  NOT NULL
);
ALTER TABLE blobs ALTER COLUMN content SET STORAGE EXTERNAL;

-- Which blobs an item names; they need not be here yet.
CREATE TABLE item_blobs (
  collection bigint NOT NULL,
  number     bigint NOT NULL,
  digest     bytea  NOT NULL,
  PRIMARY KEY (collection, number, digest)
);
CREATE INDEX item_blobs_by_digest ON item_blobs (digest);

CREATE TABLE discarded_blobs (
  collection bigint NOT NULL,
  place      bigint NOT NULL,
  digest     bytea  NOT NULL,
  PRIMARY KEY (collection, place, digest)
);
CREATE INDEX discarded_blobs_by_digest ON discarded_blobs (digest);

-- Feeds elsewhere that a collection is kept in step with, and how far. An address stands once in a
-- collection; no index says so, since an address may be longer than a key of an index.
CREATE TABLE remotes (
  id             bigint  PRIMARY KEY,
  collection     bigint  NOT NULL,
  name           text,
  url            text    NOT NULL,
  changes        text,
  complete       text,
  until          text,
  etag           text,
  last_modified  text,
  pushed         bigint  NOT NULL,
  may_lack       boolean NOT NULL,
  needs_complete boolean NOT NULL,
  read_only      boolean NOT NULL,
  not_before     bigint,
  expires        bigint,
  failures       bigint  NOT NULL,
  failure        text,
  succeeded      bigint,
  every          bigint,            -- a subscription's period in seconds; NULL for all other remotes
  plain          boolean NOT NULL DEFAULT false, -- entries without sync information are imported
  reaches_private boolean NOT NULL DEFAULT false, -- the address may lead into this network
  due            bigint
);
CREATE INDEX remotes_by_collection ON remotes (collection, id);

-- People: who may sign in, with what, and what they may do. No password and no token stands here,
-- only what was made of them. `password` is a hash in PHC notation; without one only tokens sign in.
CREATE TABLE users (
  name          text    COLLATE "C" PRIMARY KEY,
  password      text,
  administrator boolean NOT NULL,
  disabled      boolean NOT NULL,
  created       bigint  NOT NULL
);

-- Roles in a collection: reader, editor or owner.
CREATE TABLE grants (
  user_name  text   COLLATE "C" NOT NULL REFERENCES users (name) ON DELETE CASCADE,
  collection bigint NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
  role       text   NOT NULL,
  PRIMARY KEY (user_name, collection)
);
CREATE INDEX grants_by_collection ON grants (collection);

-- Tokens by the SHA-256 of their text. `session` tokens are browsers'. `role` and `collection` bound
-- what a token allows.
CREATE TABLE tokens (
  digest     bytea   PRIMARY KEY,
  user_name  text    COLLATE "C" NOT NULL REFERENCES users (name) ON DELETE CASCADE,
  session    boolean NOT NULL,
  label      text    NOT NULL,
  role       text,
  collection bigint  REFERENCES collections (id) ON DELETE CASCADE,
  created    bigint  NOT NULL,
  expires    bigint
);
CREATE INDEX tokens_by_user ON tokens (user_name, created);
CREATE INDEX tokens_by_collection ON tokens (collection) WHERE collection IS NOT NULL;
CREATE INDEX tokens_by_expiry ON tokens (expires) WHERE expires IS NOT NULL;

-- Who did what, for as long as it is kept. Names are those of the time. Places are given out when an
-- act is written, not when it is committed, so that collections need not wait for each other.
CREATE TABLE acts (
  place      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at         bigint NOT NULL,
  user_name  text   COLLATE "C",
  address    text,
  action     text   NOT NULL,
  collection text   COLLATE "C",
  item       text   COLLATE "C",
  detail     text   NOT NULL
);
CREATE INDEX acts_by_user ON acts (user_name, place);
CREATE INDEX acts_by_collection ON acts (collection, place);
CREATE INDEX acts_by_moment ON acts (at);
