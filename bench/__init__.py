"""Side-by-side measurements: `make bench` runs them and writes bench/RESULTS.md."""
