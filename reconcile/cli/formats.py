"""`-o`, `--output`: the format of a result. Every command with `--json` gets it, from here alone."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any

import typer

from reconcile.cli import options, output

FORMATS = ("table", "json", "csv")
LISTS: Mapping[str, str | None] = {
    "findings": None,
    "rules": None,
    "runs": None,
    "jobs": None,
    "releases": None,
    "messages": None,
    "quarantine": "subject",
    "audit": None,
    "presets": "name",
    "target": None,
    "users": None,
    "tokens": None,
}
"""The commands that print a list, which can be CSV. With the named argument they do something else."""

_ListFormat = Annotated[
    str | None, typer.Option("-o", "--output", help="Print as table, json or csv.", metavar="FORMAT")
]
_Format = Annotated[str | None, typer.Option("-o", "--output", help="Print as table or json.", metavar="FORMAT")]


def offer(app: typer.Typer, before: str = "") -> None:
    """Give every command of the application the options of its groups, and its format if it can print JSON."""
    if app.registered_callback is not None and app.registered_callback.callback is not None:
        app.registered_callback.callback = _with_options(app.registered_callback.callback, before)
    for command in app.registered_commands:
        if command.callback is not None:
            name = command.name or command.callback.__name__.replace("_", "-")
            command.callback = _with_options(command.callback, f"{before} {name}".strip())
    for group in app.registered_groups:
        if group.typer_instance is not None:
            offer(group.typer_instance, f"{before} {group.name}".strip())


def _with_options(command: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return the command with the options of its groups; the same command if it has none."""
    signature = inspect.signature(command, eval_str=True)
    if not any(map(options.is_group, signature.parameters.values())):
        return command

    @functools.wraps(command)
    def run(*, output_format: str | None = None, json: bool = False, **values: Any) -> Any:
        chosen = _chosen(output_format, as_json=json, name=name, values=values)
        with output.as_csv(is_csv=chosen == "csv"):
            return command(**options.gathered(signature, values | {"json": chosen != "table"}))

    parameters = list(_parameters(signature, _ListFormat if name in LISTS else _Format))
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return run


def _parameters(signature: inspect.Signature, option: Any) -> Iterator[inspect.Parameter]:
    """Yield the parameters of a command, with the format before `--json`."""
    for parameter in options.expanded(signature):
        if parameter.name == "json":
            kind = inspect.Parameter.KEYWORD_ONLY
            yield inspect.Parameter("output_format", kind, default=None, annotation=option)
        yield parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)


def _chosen(text: str | None, *, as_json: bool, name: str, values: Mapping[str, Any]) -> str:
    """Return the format; raises BadParameter before the command does anything."""
    from rules.document.mistakes import suggestion

    if text is None:
        return "json" if as_json else "table"
    if text not in FORMATS:
        raise typer.BadParameter(f"{text!r} is not a format; {suggestion(text, FORMATS)}", param_hint="--output")
    if as_json and text != "json":
        raise typer.BadParameter(f"{text} cannot be combined with --json", param_hint="--output")
    if text == "csv" and not _is_list(name, values):
        raise typer.BadParameter(f"`reconcile {name}` prints no list here; use -o json", param_hint="--output")
    return text


def _is_list(name: str, values: Mapping[str, Any]) -> bool:
    argument = LISTS.get(name)
    return name in LISTS and (argument is None or values.get(argument) is None)
