"""Candidates for the last word of a command line, for the completion of shells: asked at every press of Tab."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reconcile.cli.output import FILE

if TYPE_CHECKING:
    from reconcile.config.settings import Project
    from reconcile.findings.states import State

Candidate = tuple[str, str]
"""A word and what it means."""

_CLEANING = ("approve", "keep", "reject", "retry")
"""Commands that make sense only for findings of rules that clean."""
_MOST = 200
"""The most findings that are offered."""
_PLAIN = re.compile(r"[\w.@/=,+-]+")
"""A text that a shell reads as one word without quotes."""


@dataclass
class _Typed:
    """The words before the last one: the command they lead to, and the option that the last one is a value of."""

    command: Any
    path: tuple[str, ...] = ()
    arguments: int = 0
    option: Any = None
    options_ended: bool = False
    config: str = FILE
    names: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.names = {name: p for p in self.command.params for name in (*p.opts, *p.secondary_opts)}

    def take(self, word: str) -> None:
        """Take the next word; bash gives the sign in `--rule=x` as a word of its own."""
        if self.option is not None:
            self._take_value(word)
        elif word.startswith("-") and not self.options_ended:
            self._take_option(word)
        elif word in getattr(self.command, "commands", {}):
            self.command, self.path = self.command.commands[word], (*self.path, word)
            self.__post_init__()
        else:
            self.arguments += 1

    def _take_value(self, word: str) -> None:
        if word != "=":
            self.config = word if self.option.name == "config" else self.config
            self.option = None

    def _take_option(self, word: str) -> None:
        name, sign, value = word.partition("=")
        self.options_ended = word == "--"
        option = self.names.get(name)
        self.option = None if option is None or getattr(option, "is_flag", False) else option
        if sign and self.option is not None:
            self._take_value(value)

    def argument(self) -> Any:
        """Return the argument that the next word is; None if the command takes no more."""
        arguments = [p for p in self.command.params if p.param_type_name == "argument"]
        for place, argument in enumerate(arguments):
            if place == self.arguments or (argument.nargs == -1 and place <= self.arguments):
                return argument
        return None


def candidates(program: Any, words: Sequence[str]) -> list[Candidate]:
    """Return the candidates for the last word. Raises what reading the configuration or the state raises."""
    *before, last = words or ("",)
    is_help = before[:1] == ["help"]
    typed = _Typed(program)
    for word in before[is_help:]:
        typed.take(word)
    last = "" if last == "=" else last
    offered = _subjects(typed) if is_help else _offered(typed, last)
    return [(word, text) for word, text in offered if word.startswith(last) and _PLAIN.fullmatch(word)]


def _subjects(typed: _Typed) -> Iterator[Candidate]:
    """Yield the commands below those typed after `help`, and the topics directly after it."""
    from reconcile.cli.topics import TOPICS

    yield from _commands(typed)
    yield from () if typed.path else ((topic, "") for topic in TOPICS)


def _commands(typed: _Typed) -> Iterator[Candidate]:
    for name, command in getattr(typed.command, "commands", {}).items():
        yield name, str(command.help or "")


def _offered(typed: _Typed, last: str) -> Iterator[Candidate]:
    if typed.option is not None:
        yield from _values(typed, typed.option, last)
    elif last.startswith("-") and not typed.options_ended:
        yield from _options(typed, last)
    else:
        yield from _commands(typed)
        argument = typed.argument()
        yield from () if argument is None else _values(typed, argument, last)


def _options(typed: _Typed, last: str) -> Iterator[Candidate]:
    name, sign, value = last.partition("=")
    if sign and name in typed.names:
        yield from ((f"{name}={word}", text) for word, text in _values(typed, typed.names[name], value))
    else:
        yield from ((option, str(p.help or "")) for option, p in typed.names.items() if option.startswith("-"))
        yield "--help", "Show the help."


def _values(typed: _Typed, parameter: Any, last: str) -> Iterable[Candidate]:
    """Return the values of a parameter; those with the same name mean the same in every command."""
    if typed.path == ("presets",):
        return _presets()
    if parameter.name in _FIXED:
        return [(word, "") for word in _FIXED[parameter.name]()]
    if parameter.name in _NAMED:
        return [(name, "") for name in _NAMED[parameter.name](_project(typed.config))]
    return _findings(typed, last) if parameter.name in ("ids", "finding", "subject") else ()


def _project(file: str) -> Project:
    from reconcile import config

    return config.load(Path(file).expanduser(), os.environ)


def _findings(typed: _Typed, last: str) -> Iterable[Candidate]:
    from reconcile.store import glance

    project, command = _project(typed.config), typed.path[0]
    rules = None if command not in _CLEANING else [name for name, rule in project.rules.items() if rule.clean]
    state = project.state.get_secret_value()
    return glance.findings_in(state, project.directory, _states_for(command), last, _MOST, rules)


def _states_for(command: str) -> Sequence[State]:
    """Return the states of the findings for which the command makes sense."""
    from reconcile.findings.keeper import CHOOSABLE
    from reconcile.findings.states import IN_HAND, LIVE, SETTLED, State

    return {
        "undo": (State.CLEANED, State.PARTLY),
        "reopen": (*SETTLED, State.SNOOZED),
        "quarantine": (State.QUARANTINED,),
        "approve": (*CHOOSABLE, State.APPROVED),
        "keep": CHOOSABLE,
        "split": CHOOSABLE,
        "reject": (State.AWAITING, State.APPROVED),
        "retry": (State.FAILED, State.APPROVED),
    }.get(command, (*LIVE, *IN_HAND))


def _presets() -> Iterable[Candidate]:
    from reconcile.views import presets

    return [(preset.name, preset.description) for preset in presets.every()]


def _severities() -> Iterable[str]:
    from rules.models import Severity

    return Severity.__members__


def _states() -> Iterable[str]:
    from reconcile.findings.states import State

    return [*(state.value for state in State), "waiting", "all"]


def _roles() -> Iterable[str]:
    from reconcile.people.roles import WORDS

    return WORDS


def _formats() -> Iterable[str]:
    from reconcile.cli.formats import FORMATS

    return FORMATS


def _shells() -> Iterable[str]:
    from reconcile.cli.completion import SCRIPTS

    return SCRIPTS


_FIXED: Mapping[str, Callable[[], Iterable[str]]] = {
    "severity": _severities,
    "fail_on": _severities,
    "state": _states,
    "role": _roles,
    "new_role": _roles,
    "output_format": _formats,
    "shell": _shells,
}
_NAMED: Mapping[str, Callable[[Project], Iterable[str]]] = {
    "rule": lambda project: project.rules,
    "rules": lambda project: project.rules,
    "job": lambda project: project.jobs,
    "jobs": lambda project: project.jobs,
    "source": lambda project: project.sources,
    "dataset": lambda project: project.datasets,
    "channel": lambda project: project.channels,
    "target": lambda project: (*project.datasets, *project.sources),
}
