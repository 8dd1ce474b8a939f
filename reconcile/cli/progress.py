"""Progress of work that reads many records: a moving line on a terminal, else one line per rule."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from reconcile.cli import signals
from reconcile.cli.output import Output
from reconcile.telemetry import visible


@contextlib.contextmanager
def progress(out: Output) -> Iterator[Callable[[str, int], None]]:
    """Show a moving line on a terminal, else one line per rule, nothing with --quiet. Also checks for Ctrl-C."""
    with contextlib.ExitStack() as open_while_it_runs:
        tell = open_while_it_runs.enter_context(_bar(out)) if out.is_interactive else _lines(out)

        def watch(rule: str, read: int) -> None:
            signals.leave()
            tell(rule, read)

        yield watch


def _lines(out: Output) -> Callable[[str, int], None]:
    begun: set[str] = set()

    def tell(rule: str, _read: int) -> None:
        if rule not in begun:
            begun.add(rule)
            out.note(f"checking {rule}")

    return tell


@contextlib.contextmanager
def _bar(out: Output) -> Iterator[Callable[[str, int], None]]:
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TextColumn("{task.fields[read]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=out.progress(), transient=True) as bar:
        task = bar.add_task("starting", total=None, read="")

        def tell(rule: str, read: int) -> None:
            bar.update(task, description=visible.line(f"checking {rule}"), read=f"{read:,} records" if read else "")

        yield tell
