"""Step 3: findings are cleaned. A plan says what would be done, people approve it, and it is done once or never."""
