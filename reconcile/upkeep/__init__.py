"""Care for the state: backup, restore, compaction, erasure, sealing."""
