-- Whether the user may use databases alone.
ALTER TABLE users ADD COLUMN databases_only boolean NOT NULL DEFAULT false;
