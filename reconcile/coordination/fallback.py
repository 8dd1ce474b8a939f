"""The release kept in the state, for commands that need only the state when the configuration file is wrong.

Only the address of the state is then read from the file, however broken its text is; without one, the default is used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from reconcile import config
from reconcile.config import ConfigProblems
from reconcile.config.secrets import Resolver
from reconcile.config.sections import SECTIONS
from reconcile.config.settings import DEFAULT_STATE, Project, TopSettings
from reconcile.config.values import parse_state
from reconcile.config.written import yaml_text
from reconcile.coordination import releases
from reconcile.store import REVISION, Store
from reconcile.store import releases as stored
from reconcile.store.releases import ReleaseRow
from rules.document.mistakes import Mistake, Position, nearest
from rules.document.reading import known_keys
from rules.document.tree import MapNode, ScalarNode, parse, read

_STATE_LINE = re.compile(r"(?m)^state:.*$")


@dataclass(frozen=True)
class Fallback:
    """The project to use instead of a file with these problems. `called` names it, `used` describes it."""

    project: Project
    problems: tuple[Mistake, ...]
    called: str
    used: str

    @property
    def sentence(self) -> str:
        """The reason for its use, in one line."""
        first, *others = self.problems
        problem = f"{first}{f' (and {len(others)} more: reconcile check)' if others else ''}"
        return f"{problem}{'' if problem.endswith(('.', '?')) else '.'} {self.used}"


def instead_of(path: Path, wrong: ConfigProblems, environ: Mapping[str, str]) -> Fallback:
    """The current release, else that of the latest run; the state alone if neither can be read.

    Raises ConfigProblems if the state's address is unknown or there is no state; StoreError.
    """
    address = _state(path, environ)
    if address is None:
        start = Position(str(path), 1, 1)
        hint = "The state's address can't be read from this file. Write `state: …` into a file and name it with -c"
        raise ConfigProblems([*wrong.problems, Mistake.at(start, hint)])
    alone = config.state_alone(path, address)
    where, revision = Store.found_at(alone.state.get_secret_value(), alone.directory)
    if revision is None:
        raise wrong
    row = _release(alone) if revision == REVISION else None
    project = None if row is None else _project(row, path, environ)
    if row is None or project is None:
        called, used = "the state alone", f"the state alone ({where}), because the state has no readable release"
    else:
        called = f"release {row.release[:12]}, which the state keeps"
        used = f"release {row.release[:12]} of {row.first_seen:%Y-%m-%d %H:%M} UTC, kept in the state ({where})"
    project = alone if project is None else replace(project, state=alone.state)
    return Fallback(project, wrong.problems, called, f"This command uses {used}")


def to_serve(path: Path, wrong: ConfigProblems, environ: Mapping[str, str]) -> Project:
    """The release that `serve` goes on with when its file has mistakes: the current one, exactly as it was taken up.

    Raises `wrong` if none is current; with the reason added, if it cannot be read back as it was; StoreError.
    """
    address = _state(path, environ)
    if address is None:
        raise wrong
    alone = config.state_alone(path, address)
    _, revision = Store.found_at(alone.state.get_secret_value(), alone.directory)
    if revision != REVISION:
        raise wrong
    with Store.open(alone.state.get_secret_value(), alone.directory) as store, store.read() as tx:
        now = stored.current(tx)
        if now is None:
            raise wrong
        try:
            return replace(releases.project_of(tx, now.release, path, environ), state=alone.state)
        except (releases.ReleaseRefused, ConfigProblems) as error:
            start = Position(str(path), 1, 1)
            reason = str(error).splitlines()[0].rstrip(".")
            hint = f"The current release {releases.shortened(now.release)} can't be used instead: {reason}"
            raise ConfigProblems([*wrong.problems, Mistake.at(start, hint)]) from error


def _release(project: Project) -> ReleaseRow | None:
    with Store.open(project.state.get_secret_value(), project.directory) as store, store.read() as tx:
        now = stored.current(tx)
        release = stored.of_latest_run(tx) if now is None else now.release
        return None if release is None else stored.get(tx, release)


def _project(row: ReleaseRow, path: Path, environ: Mapping[str, str]) -> Project | None:
    """The release from its texts; if they need a missing variable, from the configuration as it was recorded."""
    label = f"release {row.release[:12]}"
    for texts in (row.files, {path.name: yaml_text(dict(row.config))}):
        if texts is not None:
            try:
                project = config.load_kept(texts, path, environ, label, sets_aside=True)
            except ConfigProblems:
                continue  # a variable of these texts is missing; the recorded configuration needs none
            return replace(project, release=row.release)
    return None


def _state(path: Path, environ: Mapping[str, str]) -> str | None:
    """The state's address from the file, or the default if it has none; None if it cannot be read."""
    try:
        document = read(path)
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return DEFAULT_STATE
    except OSError:
        return None
    root = document.root
    if not isinstance(root, MapNode):
        lines = set(_STATE_LINE.findall(text))
        root = parse(lines.pop() if len(lines) == 1 else "", str(path)).root
        if lines:
            return None
    entries = root.entries if isinstance(root, MapNode) else {}
    if "state" not in entries:
        keys = (*known_keys(TopSettings), "include", *SECTIONS)
        misspelt = any(nearest(key, keys) == "state" for key in entries if key not in keys)
        return None if misspelt else DEFAULT_STATE
    return _address(entries["state"].node, path, environ)


def _address(node: object, path: Path, environ: Mapping[str, str]) -> str | None:
    resolver = Resolver(environ, path.parent)
    filled = resolver.resolve(node) if isinstance(node, ScalarNode) else None
    text = filled.text if isinstance(filled, ScalarNode) and not resolver.problems else None
    try:
        return None if text is None else str(parse_state(text))
    except ValueError:
        return None
