"""Databases: PostgreSQL, MariaDB and MySQL, SQLite, and every other that SQLAlchemy has a dialect for."""
