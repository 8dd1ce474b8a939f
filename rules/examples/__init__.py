"""Examples of a rule: records, and the groups that it must find in them. Pure; engines run elsewhere."""
