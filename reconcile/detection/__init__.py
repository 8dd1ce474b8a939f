"""Step 1: choose the engine for a rule, give it the records, and get its answer within limits."""
