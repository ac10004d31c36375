-- A dropped database that is kept for its history has another name. These are the name that it had, when it was dropped, and
-- by whom.
ALTER TABLE databases ADD COLUMN dropped_name text;
ALTER TABLE databases ADD COLUMN dropped_at bigint;
ALTER TABLE databases ADD COLUMN dropped_by text;
