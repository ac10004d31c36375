-- A dropped database that is kept for its history has another name. These are the name that it had, when it was dropped, and
-- by whom. `named_at` is when it got the name that it has; NULL: when it was created.
ALTER TABLE databases ADD COLUMN dropped_name TEXT;
ALTER TABLE databases ADD COLUMN dropped_at INTEGER;
ALTER TABLE databases ADD COLUMN dropped_by TEXT;
ALTER TABLE databases ADD COLUMN named_at INTEGER;
CREATE INDEX dropped_databases ON databases (dropped_name, dropped_at) WHERE dropped_name IS NOT NULL;
