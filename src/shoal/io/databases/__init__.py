"""One file for each kind of database: connect, read a table or query, fill a new table."""
