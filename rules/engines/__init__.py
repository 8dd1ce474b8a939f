"""Detection engines. Every engine gives the same answer; base.py defines it."""
