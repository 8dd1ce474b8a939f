"""Rules, their meaning, and the engines that find the records that break them.

Pure computation. Nothing here opens a network connection, reads the clock or the environment, or imports our other
packages.
"""

__reconcile__ = True  # `reconcile doctor` checks this mark: another distribution can silently replace our package.
