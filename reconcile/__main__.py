"""`python -P -m reconcile` is the command `reconcile`."""

import sys

if not sys.flags.safe_path:  # Python put the working directory first, where strangers may have left modules
    del sys.path[0]
    root = __file__.rpartition("/")[0].rpartition("/")[0]
    if root not in sys.path:  # a checkout that is not installed
        sys.path.append(root)

from reconcile.cli import command

command()
