"""Due times, slots, maintenance windows and retry delays. Pure: no clock, no store."""
