-- Why subscriptions are paused: what the last round failed at.
ALTER TABLE keeping ADD COLUMN failed_location TEXT;
ALTER TABLE keeping ADD COLUMN failed_status INTEGER;
