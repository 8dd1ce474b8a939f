"""What processes agree on through the store: leases, pauses, releases, the clock."""
