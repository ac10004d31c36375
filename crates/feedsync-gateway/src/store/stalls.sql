-- Why edits wait: the status that put one off, the time of the first such response, and the error that reports it.
ALTER TABLE edit ADD COLUMN status INTEGER;
ALTER TABLE edit ADD COLUMN since INTEGER;
ALTER TABLE edit ADD COLUMN error INTEGER;

-- Nobody was told of what is held so far: it is tried again, and then told.
UPDATE edit SET progress = 'doubtful' WHERE progress = 'held';
