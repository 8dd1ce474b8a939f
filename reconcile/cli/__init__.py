"""The command line, for people and schedulers. It decides nothing."""

from __future__ import annotations

import gc
import os
import sys
from typing import NoReturn

from reconcile.cli import exits, signals
from reconcile.telemetry import visible


def command() -> NoReturn:
    """Run `main` as its own process, and end that at once."""
    gc.disable()  # until the project is loaded (see opening): modules are no garbage
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # it looks for them in every installed package
    _keep_libraries_off_the_terminal()
    try:
        main()
    except SystemExit as ended:
        exits.leave(ended.code if isinstance(ended.code, int) else exits.DEFECT)


def _keep_libraries_off_the_terminal() -> None:
    """Send warnings and logs of libraries only to the log of `serve`: they may quote SQL and values."""
    import logging

    logging.getLogger().addHandler(logging.NullHandler())
    logging.captureWarnings(capture=True)


def main() -> NoReturn:
    """Run the command and raise SystemExit with its exit code; no traceback ever reaches the user."""
    if sys.stdout is None:  # the caller closed it
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - as long as the process
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - as long as the process
    with visible.standard_streams():
        code = exits.after_the_last_word(_answer())
    sys.exit(code)


def _answer() -> int:
    if sys.argv[1:] in (["version"], ["--version"]):
        from reconcile import __version__

        print(f"reconcile {__version__}")
        return exits.DONE
    if sys.argv[1:2] == ["__complete"]:  # the scripts of `completion` ask what the last word may be
        from reconcile.cli import completion

        return completion.answer(sys.argv[2:])
    with signals.Signals() as received:
        code = _done(received)
    return code if received.code is None else exits.stopped(received.code)


def _done(received: signals.Signals) -> int:
    try:
        exits.refuse_an_unsafe_python()
        exits.refuse_foreign_packages()
        exits.refuse_what_is_no_text((*sys.argv[1:], os.environ.get("RECONCILE_ACTOR", "")))
        import typer

        from reconcile.cli.commands import program

        try:
            code = program(prog_name="reconcile", standalone_mode=False)
        except typer.TyperException as error:
            return exits.misused(error)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else exits.WRONG if ended.code else exits.DONE
    except (KeyboardInterrupt, signals.Terminated):
        return exits.DONE  # the signal gives the code
    except Exception as error:  # noqa: BLE001 - the last resort: everything becomes one sentence and a code
        return exits.DONE if received.code else exits.tell(error)
    return code if isinstance(code, int) else exits.DONE
