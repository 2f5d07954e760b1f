"""Every question to the database, a module a subject: functions take a connection and give rows."""
