"""`presets`: ready-made rules."""

from __future__ import annotations

from typing import Annotated

import typer

from reconcile.cli.output import Output


def register(app: typer.Typer) -> None:
    app.command(help="List ready-made rules, or print one as YAML.")(presets)


def presets(
    out: Output,
    name: Annotated[str | None, typer.Argument(help="The preset to print.", metavar="NAME")] = None,
) -> None:
    from reconcile.views import presets as view

    if name is None:
        if out.json:
            out.emit([view.to_json(preset) for preset in view.every()])
        else:
            out.table(("preset", "finds"), [(preset.name, preset.description) for preset in view.every()])
        return
    preset = view.named(name)
    if out.json:
        out.emit({**view.to_json(preset), "yaml": preset.text})
    else:
        out.block(preset.text.rstrip("\n"))
