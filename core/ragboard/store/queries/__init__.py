"""Every query of the project, one module a subject: SQL over a connection, typed rows out."""
