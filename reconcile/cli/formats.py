"""The options that commands share. A command takes a dataclass for a group of them, and its fields are the options.

Those of `Output` come last; `-o`, the format of a result, is with them.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, get_origin, get_type_hints

import typer

from reconcile.cli import output
from reconcile.cli.json_shapes import epilog

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
    "keys": None,
    "users": None,
    "tokens": None,
}
"""The commands that print a list, which can be CSV. With the named argument they do something else."""

_ListFormat = Annotated[
    str | None, typer.Option("-o", "--output", help="Print as table, json or csv.", metavar="FORMAT")
]
_Format = Annotated[str | None, typer.Option("-o", "--output", help="Print as table or json.", metavar="FORMAT")]


def offer(app: typer.Typer, before: str = "") -> None:
    """Give every command of the application the options of its groups, its format and the help about its JSON."""
    if app.registered_callback is not None and app.registered_callback.callback is not None:
        app.registered_callback.callback = _with_options(app.registered_callback.callback, before)
    for command in app.registered_commands:
        if command.callback is not None:
            name = command.name or command.callback.__name__.replace("_", "-")
            words = f"{before} {name}".strip()
            command.callback = _with_options(command.callback, words)
            command.epilog = epilog(words)
    for group in app.registered_groups:
        if group.typer_instance is not None:
            words = f"{before} {group.name}".strip()
            group.epilog = epilog(words)
            offer(group.typer_instance, words)


def _with_options(command: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return the command with the options of its groups; the same command if it has none."""
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, Any] = {
        p.name: p.annotation for p in signature.parameters.values() if dataclasses.is_dataclass(p.annotation)
    }
    if not groups:
        return command
    options = {group_name: list(_options(group)) for group_name, group in groups.items()}

    @functools.wraps(command)
    def run(*, output_format: str | None = None, json: bool = False, **values: Any) -> Any:
        chosen = _chosen(output_format, as_json=json, name=name, values=values)
        values["json"] = chosen != "table"
        with output.as_csv(is_csv=chosen == "csv"):
            for group_name, group in groups.items():
                own_values = {option.name: values.pop(option.name) for option in options[group_name]}
                values[group_name] = group(**own_values)
            return command(**values)

    own = [p for p in signature.parameters.values() if groups.get(p.name) is not output.Output]
    parameters = [option for p in own for option in options.get(p.name, (p.replace(kind=p.KEYWORD_ONLY),))]
    output_format = inspect.Parameter("output_format", inspect.Parameter.KEYWORD_ONLY, default=None)
    parameters.append(output_format.replace(annotation=_ListFormat if name in LISTS else _Format))
    parameters += _options(output.Output)
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return run


def _options(group: Any) -> Iterator[inspect.Parameter]:
    """Yield the fields of a group that are annotated for typer, as parameters."""
    for name, annotation in get_type_hints(group, include_extras=True).items():
        if get_origin(annotation) is Annotated:
            kind = inspect.Parameter.KEYWORD_ONLY
            yield inspect.Parameter(name, kind, default=getattr(group, name, None), annotation=annotation)


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
