"""`test`: run the examples of rules."""

from __future__ import annotations

from typing import Annotated

import typer

from reconcile.cli import exits
from reconcile.cli.output import FILE, Config, Output


def register(app: typer.Typer) -> None:
    app.command(help="Run the examples of rules on every available engine. Change nothing.")(test)


def test(
    out: Output,
    rules: Annotated[
        list[str] | None, typer.Argument(help="The rules; by default all of them.", metavar="RULE")
    ] = None,
    config: Config = FILE,
) -> None:
    from reconcile.cli.opening import load
    from reconcile.views import examples

    with load(config) as application:
        report = examples.run(application, rules or ())
    if out.json:
        out.emit(report.to_json())
    else:
        for line in report.lines():
            if not out.quiet or not line.startswith("ok"):
                out.say(line)
        counts, *remarks = report.summary()
        out.say(counts)
        for remark in remarks:
            out.note(remark)
    for mistake in report.mistakes:
        exits.remark(str(mistake))
    raise typer.Exit(
        exits.first_that_applies(exits.WRONG if report.mistakes else 0, exits.FOUND if report.failed else 0)
    )
