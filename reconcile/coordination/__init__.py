"""Coordination of processes through the store: leases, pauses, releases, the clock."""
