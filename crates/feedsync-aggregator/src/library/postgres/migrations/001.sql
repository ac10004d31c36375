-- Articles of the feeds of a hub, for all its nodes. Times are milliseconds since 1970. Texts of feeds are bytes, since
-- they may contain NUL, which a text of PostgreSQL cannot.

-- The last number of each kind that was assigned. Its row is locked until a transaction that assigns numbers commits, so
-- that numbers become visible in their order.
CREATE TABLE counters (
  kind text   PRIMARY KEY,
  last bigint NOT NULL
);
INSERT INTO counters (kind, last) VALUES ('feeds', 0), ('articles', 0);

CREATE TABLE feeds (
  number        bigint  PRIMARY KEY,
  key           bytea   NOT NULL UNIQUE,    -- SHA-256 of the address
  address       text    NOT NULL,
  newest        bigint,                     -- sort date of its newest article
  articles      bigint  NOT NULL DEFAULT 0, -- number of its articles
  readers       bigint  NOT NULL DEFAULT 0, -- number of its subscriptions
  abandoned     bigint,                     -- when a reader left it last
  due           bigint  NOT NULL,
  claimed       bigint,                     -- a node polls it, until then
  every         bigint  NOT NULL DEFAULT 0,
  checked       bigint,
  changed       bigint,
  etag          bytea,
  last_modified bytea,
  digest        bytea,
  failures      bigint  NOT NULL DEFAULT 0,
  fault         bytea,
  gone          boolean NOT NULL DEFAULT false,
  redirect      text,
  requested     bigint,                     -- interval that it requests, in seconds
  idle_hours    bigint  NOT NULL DEFAULT 0,
  idle_days     bigint  NOT NULL DEFAULT 0,
  title         bytea,
  site          bytea,
  description   bytea,
  icon          bytea,
  hub           bytea,
  topic         bytea
);
CREATE INDEX feeds_due ON feeds (due, number) WHERE readers > 0;
CREATE INDEX feeds_checked ON feeds (checked) WHERE readers > 0;
CREATE INDEX feeds_claimed ON feeds (claimed) WHERE claimed IS NOT NULL;
CREATE INDEX feeds_abandoned ON feeds (abandoned, number) WHERE readers = 0;

-- Identification state of the articles of a feed, as JSON.
CREATE TABLE identification_states (
  feed  bigint PRIMARY KEY REFERENCES feeds (number) ON DELETE CASCADE,
  state text   NOT NULL
);

CREATE TABLE readers (
  id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name bytea  NOT NULL UNIQUE
);

CREATE TABLE subscriptions (
  reader bigint NOT NULL,
  feed   bigint NOT NULL,
  PRIMARY KEY (reader, feed)
);

-- Articles without their contents. Lists are read from the indexes alone.
CREATE TABLE articles (
  number    bigint  PRIMARY KEY,
  feed      bigint  NOT NULL,
  shown     bigint  NOT NULL, -- sort date
  published bigint  NOT NULL,
  received  bigint  NOT NULL,
  changed   bigint,
  present   boolean NOT NULL, -- the last document of the feed contains it
  digest    bytea   NOT NULL, -- of its contents
  name      bytea   NOT NULL
);
CREATE UNIQUE INDEX articles_named ON articles (feed, name);
CREATE INDEX articles_listed ON articles (feed, shown, number) INCLUDE (published);
CREATE INDEX articles_numbered ON articles (feed, number) INCLUDE (shown, published);
CREATE INDEX articles_received ON articles (received, number);
CREATE INDEX articles_present ON articles (feed) WHERE present;

-- Contents of articles. Enclosures and categories are JSON.
CREATE TABLE texts (
  number       bigint   PRIMARY KEY REFERENCES articles (number) ON DELETE CASCADE,
  updated      bigint,
  title        bytea,
  link         bytea,
  author       bytea,
  base         bytea,
  enclosures   text,
  categories   text,
  summary      bytea,
  content_type bytea    NOT NULL,
  content      bytea,
  words        tsvector NOT NULL,
  is_long      boolean  NOT NULL -- not all positions of its words are known
);
CREATE INDEX texts_words ON texts USING gin (words);

-- Icons of sites; without bytes if a site has none.
CREATE TABLE icons (
  origin     text   PRIMARY KEY,
  checked    bigint NOT NULL,
  media_type text,
  bytes      bytea
);

-- Hosts whose servers asked not to be polled for some time.
CREATE TABLE holds (
  host  bytea  PRIMARY KEY, -- SHA-256 of host and port, in lower case
  until bigint NOT NULL
);
