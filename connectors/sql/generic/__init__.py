"""Databases without a reader of our own, read through their SQLAlchemy dialect."""
