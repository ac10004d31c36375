-- What the feeds of a hub say. Moments are milliseconds since 1970; truth is 0 or 1. All of it can be
-- fetched again, as far as feeds still tell it.

-- A feed that somebody reads or has read. Numbers are never used again. What lists need comes first.
CREATE TABLE feeds (
  number        INTEGER PRIMARY KEY AUTOINCREMENT,
  address       TEXT    NOT NULL UNIQUE,
  newest        INTEGER,                    -- `shown` of its newest article
  articles      INTEGER NOT NULL DEFAULT 0, -- how many it has
  readers       INTEGER NOT NULL DEFAULT 0, -- rows in `subscriptions`
  abandoned     INTEGER,                    -- when somebody left it last
  due           INTEGER NOT NULL,           -- when it is to be polled
  claimed       INTEGER,                    -- somebody is polling it, until then
  every         INTEGER NOT NULL DEFAULT 0,
  checked       INTEGER,
  changed       INTEGER,
  etag          TEXT,
  last_modified TEXT,
  digest        BLOB,
  failures      INTEGER NOT NULL DEFAULT 0,
  fault         TEXT,
  gone          INTEGER NOT NULL DEFAULT 0,
  led_to        TEXT,
  wished        INTEGER,                    -- seconds that it wants to be left alone
  idle_hours    INTEGER NOT NULL DEFAULT 0, -- a bit for each hour in which it does not change
  idle_days     INTEGER NOT NULL DEFAULT 0, -- and for each day
  title         TEXT,
  site          TEXT,
  icon          TEXT,
  hub           TEXT,
  topic         TEXT,
  description   TEXT
) STRICT;

-- Who is to be polled next.
CREATE INDEX due ON feeds (due) WHERE readers > 0;

-- Those that nobody reads.
CREATE INDEX abandoned ON feeds (abandoned) WHERE readers = 0;

-- What tells which article is which, as JSON; written when a document is new.
CREATE TABLE remembered (
  feed     INTEGER PRIMARY KEY REFERENCES feeds (number) ON DELETE CASCADE,
  articles TEXT    NOT NULL
) STRICT;

-- Who reads anything.
CREATE TABLE readers (
  id   INTEGER PRIMARY KEY,
  name TEXT    NOT NULL UNIQUE
) STRICT;

CREATE TABLE subscriptions (
  reader INTEGER NOT NULL,
  feed   INTEGER NOT NULL,
  PRIMARY KEY (reader, feed)
) STRICT, WITHOUT ROWID;

-- An article, without what it says. Numbers are never used again. `digest` is of what it says, so that what
-- comes again is known without being read.
CREATE TABLE articles (
  number    INTEGER PRIMARY KEY AUTOINCREMENT,
  feed      INTEGER NOT NULL,
  shown     INTEGER NOT NULL,  -- where it stands in time
  received  INTEGER NOT NULL,
  changed   INTEGER,
  present   INTEGER NOT NULL,  -- the last document told it
  digest    BLOB    NOT NULL,
  name      TEXT    NOT NULL
) STRICT;

CREATE UNIQUE INDEX named ON articles (feed, name);

-- Which article came last before a moment.
CREATE INDEX received ON articles (received);

CREATE INDEX present ON articles (feed) WHERE present = 1;

-- The same articles in the order of lists, which are read from here alone. `shown` is the earlier of
-- `published` and `received`.
CREATE TABLE listed (
  feed      INTEGER NOT NULL,
  shown     INTEGER NOT NULL,
  number    INTEGER NOT NULL,
  published INTEGER NOT NULL,
  PRIMARY KEY (feed, shown, number)
) STRICT, WITHOUT ROWID;

-- What articles say. Lists of enclosures and categories are JSON.
CREATE TABLE texts (
  number       INTEGER PRIMARY KEY REFERENCES articles (number) ON DELETE CASCADE,
  updated      INTEGER,
  title        TEXT,
  link         TEXT,
  author       TEXT,
  base         TEXT,
  enclosures   TEXT,
  categories   TEXT,
  summary      TEXT,
  content_type TEXT NOT NULL,
  content      TEXT
) STRICT;

-- The words of articles, by number. The texts themselves are not kept here.
CREATE VIRTUAL TABLE words USING fts5 (
  title, plain,
  content = '', contentless_delete = 1,
  tokenize = "unicode61 remove_diacritics 2"
);

-- Pictures of sites; without bytes where a site has none.
CREATE TABLE icons (
  origin     TEXT    PRIMARY KEY,
  checked    INTEGER NOT NULL,
  media_type TEXT,
  bytes      BLOB
) STRICT;
