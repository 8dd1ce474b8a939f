"""Where detection executes. Every engine gives the same answer; base.py says what an answer is."""
