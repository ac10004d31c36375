-- Whether a store is being moved into this one: until all of it is here, nobody opens it.
ALTER TABLE endpoint ADD COLUMN unfinished boolean NOT NULL DEFAULT false;
