"""Maintenance of the state: backup, restore, compaction, erasure, sealing."""
