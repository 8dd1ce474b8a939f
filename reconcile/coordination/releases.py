"""Releases: the configuration that new runs use, and how people hold it.

A release is a configuration, identified by the hash of its content. By default, the one that `reconcile serve` last
started or reloaded is current. Once a person holds one, only a person's promotion changes it: a process with another
configuration file runs the held release, from the texts kept with it.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reconcile import config
from reconcile.audit import log
from reconcile.config.settings import Project
from reconcile.config.written import yaml_text
from reconcile.errors import Refused, Wrong
from reconcile.store import Transaction
from reconcile.store import releases as stored
from reconcile.store import runs as stored_runs
from reconcile.store.releases import Current
from rules.document.mistakes import listed, nearest, short

SHORT = 12
ACTIVE = "active"
"""The name of the current release on the command line."""
_SHOWN = 5


def shortened(release: str) -> str:
    """A release's hash in the short form for people."""
    return release[:SHORT]


class ReleaseRefused(Refused):
    """The release cannot be run here and now; nothing was run."""


class ReleaseUnknown(Wrong):
    """The given name matches no release; nothing was changed."""

    def __init__(self, name: str, releases: Sequence[str]) -> None:
        near = nearest(name[:SHORT], [shortened(release) for release in releases])
        hint = f"did you mean `{near}`?" if near else "`reconcile releases` lists them"
        super().__init__(f"There is no release {short(name)!r}; {hint}")


class ReleaseAmbiguous(Wrong):
    """The given name is the beginning of several releases; nothing was changed."""

    def __init__(self, name: str, releases: Sequence[str]) -> None:
        examples = listed(shortened(release) for release in releases[:_SHOWN])
        more = f" and {len(releases) - _SHOWN} more" if len(releases) > _SHOWN else ""
        super().__init__(f"Several releases begin with {short(name)!r}: {examples}{more}; type more of yours")


class NoneIsActive(Wrong):
    """The command names the active release, but there is none."""

    def __init__(self) -> None:
        super().__init__(
            "No release is active yet: `reconcile serve` or `reconcile promote` makes one active. "
            "`reconcile releases` lists those that ran"
        )


class WhichRelease(Wrong):
    """The current release and that of the configuration file differ; nothing was held."""

    def __init__(self, now: str, file: str) -> None:
        now, file = shortened(now), shortened(file)
        super().__init__(
            f"Release {now} is current, but the configuration file is release {file}. Choose one to hold: "
            f"reconcile hold {now}, or reconcile hold {file}"
        )


class AnotherIsHeld(ReleaseRefused):
    """A person holds another release than this one; nothing was run with it."""

    def __init__(self, held: Current, release: str) -> None:
        super().__init__(
            f"{in_words(held)}, so nothing was run with release {shortened(release)}. "
            f"To make that one current: `reconcile promote {shortened(release)}`"
        )


class ReleaseNotKept(ReleaseRefused):
    """The texts of the current release were not kept, and its file is not here; nothing was run."""

    def __init__(self, release: str) -> None:
        super().__init__(
            f"Release {shortened(release)} is current, but its files were not stored: they contain a plain-text "
            "secret, or an older version recorded it. Restore its configuration file, or make another release current: "
            "reconcile promote. Files that write secrets as ${secret:NAME} are kept"
        )


class ReleaseDiffers(ReleaseRefused):
    """The texts of a release give another configuration in this environment; nothing was run."""

    def __init__(self, release: str, settings: Sequence[str]) -> None:
        where = f" at {listed(settings[:_SHOWN])}" if settings else ""
        super().__init__(
            f"Release {shortened(release)} is current, but in this environment its files give a different configuration"
            f"{where}. A variable changed since it was recorded, or this is another version of Reconcile. Restore the "
            "variables' earlier values, or make another release current: reconcile promote"
        )


def in_words(held: Current) -> str:
    """A held release in words: by whom and since when, without the final full stop."""
    note = f" ({held.note})" if held.note else ""
    return f"Release {shortened(held.release)} is held by {held.by} since {held.since:%d %b %Y %H:%M} UTC{note}"


# Which one


def current(tx: Transaction) -> Current | None:
    """The release that new runs use; None if none was ever started by `serve`, held or promoted."""
    return stored.current(tx)


def keep(tx: Transaction, project: Project) -> None:
    """Record a configuration, and its texts if they contain no secret."""
    stored_runs.keep_release(tx, project.release, json.loads(project.canonical), project.files)


def adopt(tx: Transaction, project: Project, by: str) -> Current:
    """Make a started or reloaded configuration current, unless a person holds another one.

    Returns the current one.
    """
    now = stored.current(tx, lock=True)
    if now is not None and now.release == project.release:
        return now
    keep(tx, project)
    if now is not None and now.held:
        return now
    return _change(tx, project.release, now, event="release.adopted", held=False, by=by, note=None)


def promote(tx: Transaction, project: Project, name: str | None, *, by: str, note: str | None) -> Current:
    """Make a release current for a person; by default that of the configuration file. A hold stays.

    Raises ReleaseUnknown, ReleaseAmbiguous.
    """
    now = stored.current(tx, lock=True)
    release = _named_or_file(tx, project, name)
    if now is not None and now.release == release:
        return now
    return _change(tx, release, now, event="release.promoted", held=now is not None and now.held, by=by, note=note)


def hold(tx: Transaction, project: Project, name: str | None, *, by: str, note: str | None) -> Current:
    """Hold a release, by default the current one: from now on only a person changes the current release.

    Raises ReleaseUnknown, ReleaseAmbiguous, WhichRelease.
    """
    now = stored.current(tx, lock=True)
    if now is not None and name is None and now.release != project.release and not now.held:
        raise WhichRelease(now.release, project.release)
    release = now.release if now is not None and name is None else _named_or_file(tx, project, name)
    if now is not None and now.held and now.release == release:
        return now
    return _change(tx, release, now, event="release.held", held=True, by=by, note=note)


def free(tx: Transaction, *, by: str, note: str | None) -> Current | None:
    """End a hold: the next start or reload makes its release current again. None if nothing was held."""
    now = stored.current(tx, lock=True)
    if now is None or not now.held:
        return None
    return _change(tx, now.release, now, event="release.freed", held=False, by=by, note=note)


def _change(
    tx: Transaction, release: str, previous: Current | None, *, event: str, held: bool, by: str, note: str | None
) -> Current:
    result = stored.make_current(tx, release, held=held, by=by, note=note)
    body = {"release": release, "before": previous.release if previous else None, "note": note}
    log.append(tx, by, event, f"release:{release}", body)
    return result


def _named_or_file(tx: Transaction, project: Project, name: str | None) -> str:
    """The release of that name, by default that of the file, which is recorded."""
    release = project.release if name is None else named(tx, name, project)
    if release == project.release:
        keep(tx, project)
    return release


def named(tx: Transaction, name: str, project: Project) -> str:
    """The release whose hash begins with this: a recorded one, or that of the configuration file.

    Raises ReleaseUnknown, ReleaseAmbiguous.
    """
    hashes = sorted({*stored.hashes(tx), project.release})
    matches = [release_hash for release_hash in hashes if release_hash.startswith(name.lower())] if name else []
    if not matches:
        raise ReleaseUnknown(name, hashes)
    if len(matches) > 1:
        raise ReleaseAmbiguous(name, matches)
    return matches[0]


# Running it


def is_kept(tx: Transaction, release: str) -> bool:
    """Return True if a release can run without its file."""
    return stored.get(tx, release).files is not None


def refuse_another(tx: Transaction, project: Project) -> None:
    """Raise AnotherIsHeld if a person holds another release than this one."""
    now = stored.current(tx)
    if now is not None and now.held and now.release != project.release:
        raise AnotherIsHeld(now, project.release)


def is_path(name: str) -> bool:
    """Return True if a release is given as the path of a configuration file."""
    return "/" in name or name.endswith((".yaml", ".yml"))


def project_named(tx: Transaction, name: str, project: Project, environ: Mapping[str, str]) -> Project:
    """Return a release by the beginning of its hash, or the current one as `active`; `project` is the file's release.

    Raises NoneIsActive, ReleaseUnknown, ReleaseAmbiguous, and the errors of `project_of`.
    """
    if name == ACTIVE:
        now = stored.current(tx)
        if now is None:
            raise NoneIsActive
        name = now.release
    release = named(tx, name, project)
    return project if release == project.release else project_of(tx, release, project.path, environ)


def to_run(tx: Transaction, project: Project, environ: Mapping[str, str]) -> Project:
    """The current release as a project; that of the file itself if it is current or none is.

    Its state is the one that the file names. Raises the errors of `project_of`.
    """
    now = stored.current(tx)
    if now is None or now.release == project.release:
        return project
    return replace(project_of(tx, now.release, project.path, environ), state=project.state)


def project_of(tx: Transaction, release: str, main: Path, environ: Mapping[str, str]) -> Project:
    """A release from its kept texts, as if they were at `main`, with the current values of the environment.

    Raises ReleaseNotKept, ReleaseDiffers, and ConfigProblems if a variable is missing.
    """
    row = stored.get(tx, release)
    if row.files is None:
        raise ReleaseNotKept(release)
    project = config.load_kept(row.files, main, environ, f"release {shortened(release)}")
    if project.release != release:
        raise ReleaseDiffers(release, _differing_settings(row.config, json.loads(project.canonical)))
    return project


def _differing_settings(before: Any, now: Any, path: str = "") -> list[str]:
    """The paths of the settings that differ, such as `sources.shop.url`."""
    if isinstance(before, dict) and isinstance(now, dict):
        keys = sorted({*before, *now})
        return [
            setting
            for key in keys
            for setting in _differing_settings(before.get(key), now.get(key), f"{path}.{key}" if path else key)
        ]
    return [] if before == now else [path]


# Reading it


def text_of(row: stored.ReleaseRow) -> str:
    """A release for people: its texts, each under its name if there are several; without texts, its configuration."""
    if row.files is None:
        return yaml_text(dict(row.config))
    if len(row.files) == 1:
        return next(iter(row.files.values()))
    return "\n".join(f"# {path}\n{text}" for path, text in row.files.items())


def difference(before: Mapping[str, Any], after: Mapping[str, Any], names: tuple[str, str]) -> list[str]:
    """The difference of two configurations as lines of a unified diff; secrets appear as written in the files."""
    old_lines, new_lines = (yaml_text(dict(configuration)).splitlines() for configuration in (before, after))
    return list(difflib.unified_diff(old_lines, new_lines, *names, lineterm=""))
