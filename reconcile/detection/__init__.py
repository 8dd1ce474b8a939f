"""Step 1: choose the engine for a rule, pass it the records, and get its answer within time limits."""
