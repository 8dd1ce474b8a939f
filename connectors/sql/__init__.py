"""Databases: PostgreSQL, MariaDB and MySQL, SQLite, and every other with a SQLAlchemy dialect."""
