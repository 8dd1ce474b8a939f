"""The command line: a door for people and schedulers. It decides nothing."""

from __future__ import annotations

import sys
from typing import NoReturn

from reconcile.cli import exits


def main() -> NoReturn:
    """Run the command and end the process with its exit code; no traceback ever reaches the user."""
    sys.exit(exits.after_the_last_word(_answer()))


def _answer() -> int:
    if sys.argv[1:] in (["version"], ["--version"]):
        from reconcile import __version__

        print(f"reconcile {__version__}")
        return exits.DONE
    try:
        exits.hear_signals()
        exits.refuse_foreign_packages()
        from reconcile.cli.commands import app

        app(prog_name="reconcile")
    except SystemExit as ended:
        return exits.of_the_parser(ended.code)
    except KeyboardInterrupt:
        return exits.stopped(exits.INTERRUPTED)
    except exits.Terminated:
        return exits.stopped(exits.TERMINATED)
    except Exception as error:  # noqa: BLE001 - the last door: everything becomes one sentence and a code
        return exits.tell(error)
    return exits.DONE
