"""What people decide, whatever the door: one service with one request and one result, and the same checks."""
