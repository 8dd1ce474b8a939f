"""A rule bound to its datasets: its settings, one side for each dataset, and what it consults without comparing it."""
