"""Progress of work that takes long: a moving line on a terminal, else one line per subject."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from reconcile.cli import signals
from reconcile.cli.output import Output
from reconcile.telemetry import visible


@contextlib.contextmanager
def progress(out: Output, verb: str = "checking", things: str = "records") -> Iterator[Callable[[str, int], None]]:
    """Show a moving line on a terminal, else one line per subject, such as a rule, nothing with --quiet.

    Also checks for Ctrl-C.
    """
    with contextlib.ExitStack() as open_while_it_runs:
        tell = open_while_it_runs.enter_context(_bar(out, verb, things)) if out.is_interactive else _lines(out, verb)

        def watch(subject: str, done: int) -> None:
            signals.leave()
            tell(subject, done)

        yield watch


@contextlib.contextmanager
def working(out: Output, doing: str) -> Iterator[None]:
    """Show a moving line that says what is being done, and for how long; on a terminal alone."""
    if not out.is_interactive:
        yield
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=out.progress(), transient=True) as bar:
        bar.add_task(visible.line(doing), total=None)
        yield


def _lines(out: Output, verb: str) -> Callable[[str, int], None]:
    begun: set[str] = set()

    def tell(subject: str, _done: int) -> None:
        if subject not in begun:
            begun.add(subject)
            out.note(f"{verb} {subject}")

    return tell


@contextlib.contextmanager
def _bar(out: Output, verb: str, things: str) -> Iterator[Callable[[str, int], None]]:
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TextColumn("{task.fields[done]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=out.progress(), transient=True) as bar:
        task = bar.add_task("starting", total=None, done="")

        def tell(subject: str, done: int) -> None:
            bar.update(task, description=visible.line(f"{verb} {subject}"), done=f"{done:,} {things}" if done else "")

        yield tell
