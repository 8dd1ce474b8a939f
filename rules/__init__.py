"""What must not be: rules, their meaning, and the engines that find what breaks them.

Pure computation. Nothing here opens a network connection, reads the clock or the environment, or knows our other
packages.
"""

__reconcile__ = True  # `reconcile doctor` checks this mark: another distribution can silently replace our package.
