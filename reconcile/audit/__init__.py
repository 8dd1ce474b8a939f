"""The audit log: append-only, signed at checkpoints, anchored outside, and verified."""
