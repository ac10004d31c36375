-- Find feeds whose times were written while the clock was ahead, without reading all feeds.
CREATE INDEX checked ON feeds (checked) WHERE readers > 0;
CREATE INDEX claimed ON feeds (claimed) WHERE claimed IS NOT NULL;
