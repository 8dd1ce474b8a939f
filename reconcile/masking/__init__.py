"""Records as people may see them: which columns are masked, findings as public JSON, and records side by side."""
