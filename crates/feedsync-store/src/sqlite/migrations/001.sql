-- One life of one store. Moments are microseconds since 1970; truth is 0 or 1; a collection's items
-- hold what arrived, byte for byte. Change nothing by hand while signing with this endpoint's name:
-- two edits signed alike lose one of them.

-- Who this endpoint is, one row. `place` is where the file was when it was last opened: another place
-- means that this is a copy, and a copy must not go on signing with the same incarnation.
CREATE TABLE endpoint (
  one            INTEGER PRIMARY KEY CHECK (one = 1),
  name           TEXT    NOT NULL,
  place          TEXT    NOT NULL,
  last_epoch     INTEGER,           -- when the latest epoch of any collection, dropped or not, began
  next_discarded INTEGER NOT NULL   -- next place in a recoverable list
) STRICT;

-- The lines of edits minted for this endpoint as a whole; the one with the highest ordinal is
-- current, the others have retired.
CREATE TABLE incarnations (
  ordinal INTEGER PRIMARY KEY,
  "by"    TEXT    NOT NULL UNIQUE,
  began   INTEGER NOT NULL
) STRICT;

-- What was ever signed: for each item and own line of edits the highest sequence issued, and the
-- incarnation that was current when the line was first used for it. By item over the whole store,
-- not by collection: an item may live in two collections, and one sequence must never sign two
-- payloads. `shown` is the highest sequence that others had been shown when the line was last
-- extended. Nothing deletes from here.
CREATE TABLE ledger (
  item        TEXT    NOT NULL,
  "by"        TEXT    NOT NULL,
  sequence    INTEGER NOT NULL,
  shown       INTEGER,
  incarnation TEXT    NOT NULL,
  PRIMARY KEY (item, "by")
) STRICT, WITHOUT ROWID;

-- A collection, its change order and its counts. Ids are never used again, so that a dropped
-- collection's keys cannot come back.
CREATE TABLE collections (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  name        TEXT    NOT NULL UNIQUE,
  title       TEXT    NOT NULL,
  format      TEXT    NOT NULL,
  feed_id     TEXT    NOT NULL UNIQUE,
  epoch_began INTEGER NOT NULL UNIQUE,
  epoch_tail  INTEGER NOT NULL,
  last        INTEGER NOT NULL,     -- the last change number
  horizon     INTEGER NOT NULL,     -- who has seen less than this is out of sync
  sent        INTEGER NOT NULL,     -- others have been shown changes up to this
  live        INTEGER NOT NULL,
  deleted     INTEGER NOT NULL,
  conflicted  INTEGER NOT NULL,
  created     INTEGER NOT NULL,
  edited      INTEGER NOT NULL      -- moment of the last change, its own
) STRICT;

CREATE TABLE settings (
  collection INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
  name       TEXT    NOT NULL,
  value      TEXT    NOT NULL,
  PRIMARY KEY (collection, name)
) STRICT, WITHOUT ROWID;

-- An item and its winner. The key is collection * 2^40 + change number, so that what changed last
-- lies together at the end: reading the last hundred changes touches the same few pages whether the
-- collection has a thousand items or a million.
-- A history has one update a line, newest first: sequence, when, by and foreign markup between tabs.
CREATE TABLE items (
  change_key   INTEGER PRIMARY KEY,
  collection   INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
  id           TEXT    NOT NULL,
  edited       INTEGER NOT NULL,
  created_here INTEGER NOT NULL,
  origin       INTEGER NOT NULL,    -- 0 made here, -1 mixed, else the one remote
  conflicts    INTEGER NOT NULL,    -- rows in `conflicts`
  blobs        INTEGER NOT NULL,    -- rows in `item_blobs`
  updates      INTEGER NOT NULL,
  deleted      INTEGER NOT NULL,
  noconflicts  INTEGER,
  history      TEXT    NOT NULL,
  format       TEXT    NOT NULL,
  payload      TEXT    NOT NULL,
  sync_foreign TEXT,
  CHECK (change_key >> 40 = collection)
) STRICT;

-- To find an item by its id, and to read a whole collection in an order that edits do not disturb.
CREATE UNIQUE INDEX items_by_id ON items (collection, id);
-- To list what is alive, or in conflict, without reading past all that is not.
CREATE INDEX items_live ON items (change_key) WHERE deleted = 0;
CREATE INDEX items_conflicted ON items (change_key) WHERE conflicts > 0;

-- The versions in conflict with an item's winner, beside each other and in the items' order.
CREATE TABLE conflicts (
  change_key   INTEGER NOT NULL REFERENCES items (change_key) ON DELETE CASCADE,
  ordinal      INTEGER NOT NULL,
  updates      INTEGER NOT NULL,
  deleted      INTEGER NOT NULL,
  noconflicts  INTEGER,
  history      TEXT    NOT NULL,
  format       TEXT    NOT NULL,
  payload      TEXT    NOT NULL,
  sync_foreign TEXT,
  PRIMARY KEY (change_key, ordinal)
) STRICT, WITHOUT ROWID;

-- The ids and vectors of purged items: what they cover is known and gone.
CREATE TABLE purged (
  collection INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
  id         TEXT    NOT NULL,
  vector     TEXT    NOT NULL,      -- as a history, in no particular order
  PRIMARY KEY (collection, id)
) STRICT, WITHOUT ROWID;

-- Items that were dropped when a publisher no longer had them, to be recovered by a person.
CREATE TABLE discarded (
  collection INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
  place      INTEGER NOT NULL,
  id         TEXT    NOT NULL,
  at         INTEGER NOT NULL,
  reason     TEXT    NOT NULL,
  PRIMARY KEY (collection, place)
) STRICT, WITHOUT ROWID;

-- Their versions, the winner as ordinal 0.
CREATE TABLE discarded_versions (
  collection   INTEGER NOT NULL,
  place        INTEGER NOT NULL,
  ordinal      INTEGER NOT NULL,
  updates      INTEGER NOT NULL,
  deleted      INTEGER NOT NULL,
  noconflicts  INTEGER,
  history      TEXT    NOT NULL,
  format       TEXT    NOT NULL,
  payload      TEXT    NOT NULL,
  sync_foreign TEXT,
  PRIMARY KEY (collection, place, ordinal),
  FOREIGN KEY (collection, place) REFERENCES discarded (collection, place) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Blobs by their SHA-256.
CREATE TABLE blobs (
  digest  TEXT    NOT NULL PRIMARY KEY,
  stored  INTEGER NOT NULL,
  content BLOB    NOT NULL
) STRICT;

-- Which blobs an item names; they need not be here yet.
CREATE TABLE item_blobs (
  change_key INTEGER NOT NULL REFERENCES items (change_key) ON DELETE CASCADE,
  digest     TEXT    NOT NULL,
  PRIMARY KEY (change_key, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX item_blobs_by_digest ON item_blobs (digest);

CREATE TABLE discarded_blobs (
  collection INTEGER NOT NULL,
  place      INTEGER NOT NULL,
  digest     TEXT    NOT NULL,
  PRIMARY KEY (collection, place, digest),
  FOREIGN KEY (collection, place) REFERENCES discarded (collection, place) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX discarded_blobs_by_digest ON discarded_blobs (digest);

-- Feeds elsewhere that a collection is kept in step with, and how far.
CREATE TABLE remotes (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  collection     INTEGER NOT NULL REFERENCES collections (id) ON DELETE CASCADE,
  name           TEXT,
  url            TEXT    NOT NULL,
  changes        TEXT,
  complete       TEXT,
  until          TEXT,
  etag           TEXT,
  last_modified  TEXT,
  pushed         INTEGER NOT NULL DEFAULT 0,
  may_lack       INTEGER NOT NULL DEFAULT 0,
  needs_complete INTEGER NOT NULL DEFAULT 0,
  read_only      INTEGER NOT NULL DEFAULT 0,
  not_before     INTEGER,
  expires        INTEGER,
  failures       INTEGER NOT NULL DEFAULT 0,
  failure        TEXT,
  succeeded      INTEGER,
  UNIQUE (collection, url)
) STRICT;
