-- Whether the user may use databases alone.
ALTER TABLE users ADD COLUMN databases_only INTEGER NOT NULL DEFAULT 0;
