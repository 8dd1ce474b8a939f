"""What people see of records: which columns are masked, findings as public JSON, and records side by side."""
