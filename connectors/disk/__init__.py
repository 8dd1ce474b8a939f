"""Files on this machine: paths confined to a root, files opened once, folders that are removed again."""
