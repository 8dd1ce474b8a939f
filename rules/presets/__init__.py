"""Ready-made rules: one YAML file each, with columns that a rule maps to those of its dataset."""
