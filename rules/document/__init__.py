"""YAML as a tree of nodes with positions, and mistakes with their positions."""
