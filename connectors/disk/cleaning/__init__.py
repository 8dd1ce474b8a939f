"""Files as a target: records are found by their id, and a file is exchanged for its next version in one step."""
