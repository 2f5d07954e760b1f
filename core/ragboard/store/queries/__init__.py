"""All database queries, one module for each subject. Functions take a connection and return rows."""
