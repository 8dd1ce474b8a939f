"""`doctor`: what is right, what somebody should look at, and what is broken."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from reconcile.cli import exits
from reconcile.cli.output import FILE, AsJson, Config, NoColor, Output, Quiet

_CODES = {"ok": exits.DONE, "look": exits.FOUND, "broken": exits.FAILED}
_NUMBER = {"ok": 0, "look": 1, "broken": 2}


def register(app: typer.Typer) -> None:
    app.command(help="Check everything without changing anything, and say what to do.")(doctor)


def doctor(config: Config = FILE, json: AsJson = False, quiet: Quiet = False, no_color: NoColor = False) -> None:
    from reconcile.doctor import examine

    out = Output(json, quiet, no_color)
    found = list(examine(Path(config), os.environ))
    worst = max((one.state for one in found), key=lambda state: _NUMBER[state])
    if json:
        out.emit({"state": worst, "checks": [one.to_json() for one in found]})
    else:
        shown = [one for one in found if one.state != "ok" or not quiet]
        for one in sorted(shown, key=lambda one: -_NUMBER[one.state]):
            out.say(f"{one.state:<6}  {one.subject}: {one.sentence}")
    raise typer.Exit(_CODES[worst])
