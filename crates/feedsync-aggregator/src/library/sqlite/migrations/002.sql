-- Lists by number are read from here alone; what a list tells besides is of the primary key.
CREATE INDEX numbered ON listed (feed, number, published);
