"""YAML as people write it: a tree in which everything knows its line, and mistakes with their place."""
