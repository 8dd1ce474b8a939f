"""`doctor`: checks that are ok, with a warning or with an error."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from reconcile.cli import exits
from reconcile.cli.output import FILE, Config, Output

_CODES = {"ok": exits.DONE, "warning": exits.FOUND, "error": exits.FAILED}
_NUMBER = {"ok": 0, "warning": 1, "error": 2}


def register(app: typer.Typer) -> None:
    app.command(help="Check everything, change nothing, and say what to do.")(doctor)


def doctor(
    out: Output,
    config: Config = FILE,
    every: Annotated[bool, typer.Option("--all", help="Also list passed checks.")] = False,
) -> None:
    from notifications.wording.words import plural
    from reconcile.doctor import examine

    diagnoses = list(examine(Path(config), os.environ))
    worst = max((diagnosis.state for diagnosis in diagnoses), key=lambda state: _NUMBER[state])
    if out.json:
        out.emit({"state": worst, "checks": [diagnosis.to_json() for diagnosis in diagnoses]})
    else:
        shown = [diagnosis for diagnosis in diagnoses if diagnosis.state != "ok" or every]
        for diagnosis in sorted(shown, key=lambda diagnosis: -_NUMBER[diagnosis.state]):
            out.say(f"{diagnosis.state:<6}  {diagnosis.subject}: {diagnosis.sentence}")
        if not out.quiet and (rest := len(diagnoses) - len(shown)):
            out.say(f"ok      {plural(rest, 'check', 'checks')} passed; --all lists them")
    raise typer.Exit(_CODES[worst])
