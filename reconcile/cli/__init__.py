"""The command line: a door for people and schedulers. It decides nothing."""

from __future__ import annotations

import sys
from typing import NoReturn

from reconcile.cli import exits


def main() -> NoReturn:
    """Run the command and end the process with its exit code; no traceback ever reaches the user."""
    from reconcile.cli.commands import app

    try:
        exits.refuse_foreign_packages()
        app(prog_name="reconcile")
    except SystemExit as ended:
        sys.exit(ended.code)
    except KeyboardInterrupt:
        print("stopped; what was finished is kept, run it again to go on", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        exits.leave_quietly()
    except Exception as error:  # noqa: BLE001 - the last door: everything becomes one sentence and a code
        sys.exit(exits.tell(error))
    sys.exit(0)
