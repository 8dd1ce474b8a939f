"""Releases: which configuration new runs take, and how people keep it so.

A release is a configuration by the hash of what it says. By itself, the one that was last started or reloaded by
`reconcile serve` is current. Once a person holds one, only a person's promotion changes it: whoever has another
configuration file at hand runs the held release, from the texts that were kept with it.
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
from reconcile.store import Transaction
from reconcile.store import releases as stored
from reconcile.store import runs as stored_runs
from reconcile.store.releases import Current
from rules.document.mistakes import listed, nearest, short

SHORT = 12
_SHOWN = 5


def shortened(release: str) -> str:
    """A release as people read and write it."""
    return release[:SHORT]


class ReleaseNotNamed(Exception):
    """What a person wrote does not name one release; nothing was changed."""


class ReleaseRefused(Exception):
    """The release cannot be run here and now; nothing was run."""


class ReleaseUnknown(ReleaseNotNamed):
    """A person named a release that is not there; nothing was changed."""

    def __init__(self, asked: str, known: Sequence[str]) -> None:
        near = nearest(asked[:SHORT], [shortened(one) for one in known])
        hint = f"did you mean `{near}`?" if near else "`reconcile releases` lists them"
        super().__init__(f"There is no release {short(asked)!r}; {hint}")


class ReleaseAmbiguous(ReleaseNotNamed):
    """What a person wrote is the beginning of several releases; nothing was changed."""

    def __init__(self, asked: str, found: Sequence[str]) -> None:
        some = listed(shortened(one) for one in found[:_SHOWN])
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        super().__init__(f"Several releases begin with {short(asked)!r}: {some}{more}; write more of the one you mean")


class WhichRelease(ReleaseNotNamed):
    """A person wants to hold what runs, and it is not clear what that is; nothing was changed."""

    def __init__(self, now: str, file: str) -> None:
        now, file = shortened(now), shortened(file)
        super().__init__(
            f"Release {now} is current, and the configuration file is release {file}, so say which one to hold: "
            f"reconcile hold {now}, or reconcile hold {file}"
        )


class AnotherIsHeld(ReleaseRefused):
    """A person holds another release than this one; nothing was run with it."""

    def __init__(self, held: Current, ours: str) -> None:
        super().__init__(
            f"{in_words(held)}, so nothing was run with release {shortened(ours)}. "
            f"`reconcile promote {shortened(ours)}` makes that one current"
        )


class ReleaseNotKept(ReleaseRefused):
    """A release that can only run where its file still is, and it is not here; nothing was run."""

    def __init__(self, release: str) -> None:
        super().__init__(
            f"Release {shortened(release)} is current, but its texts were not kept, because a secret stands in them in "
            "clear, or an older version kept it. Put its configuration file back, or make another one current: "
            "reconcile promote. Texts whose secrets are written ${secret:NAME} are kept"
        )


class ReleaseDiffers(ReleaseRefused):
    """The texts of a release say something else in this environment; nothing was run."""

    def __init__(self, release: str, settings: Sequence[str]) -> None:
        where = f" at {listed(settings[:_SHOWN])}" if settings else ""
        super().__init__(
            f"Release {shortened(release)} is current, but in this environment its texts say something else{where}: a "
            "variable has another value than when it was kept, or this is another version of Reconcile. Give the "
            "variables their values of then, or make another release current: reconcile promote"
        )


def in_words(one: Current) -> str:
    """Who holds a release since when, without the last full stop."""
    why = f" ({one.note})" if one.note else ""
    return f"Release {shortened(one.release)} is held by {one.by} since {one.since:%d %b %Y %H:%M} UTC{why}"


# Which one


def current(tx: Transaction) -> Current | None:
    """The release that new runs take; None when no release was ever started by `serve`, held or promoted."""
    return stored.current(tx)


def keep(tx: Transaction, project: Project) -> None:
    """Remember a configuration: what it says, and its texts where no secret stands in them."""
    stored_runs.keep_release(tx, project.release, json.loads(project.canonical), project.files)


def adopt(tx: Transaction, project: Project, by: str) -> Current:
    """A configuration was started or reloaded: it is current now, unless a person holds another one.

    Returns the current one.
    """
    now = stored.current(tx, lock=True)
    if now is not None and now.release == project.release:
        return now
    keep(tx, project)
    if now is not None and now.held:
        return now
    return _change(tx, project.release, now, event="release.adopted", held=False, by=by, note=None)


def promote(tx: Transaction, project: Project, asked: str | None, *, by: str, note: str | None) -> Current:
    """A person makes a release current; without a name that of the configuration file. Held stays held.

    Raises ReleaseUnknown, ReleaseAmbiguous.
    """
    now = stored.current(tx, lock=True)
    release = _named_or_ours(tx, project, asked)
    if now is not None and now.release == release:
        return now
    return _change(tx, release, now, event="release.promoted", held=now is not None and now.held, by=by, note=note)


def hold(tx: Transaction, project: Project, asked: str | None, *, by: str, note: str | None) -> Current:
    """From now on only a person changes what is current: this release, or without a name the one that is.

    Raises ReleaseUnknown, ReleaseAmbiguous, WhichRelease.
    """
    now = stored.current(tx, lock=True)
    if now is not None and asked is None and now.release != project.release and not now.held:
        raise WhichRelease(now.release, project.release)
    release = now.release if now is not None and asked is None else _named_or_ours(tx, project, asked)
    if now is not None and now.held and now.release == release:
        return now
    return _change(tx, release, now, event="release.held", held=True, by=by, note=note)


def free(tx: Transaction, *, by: str, note: str | None) -> Current | None:
    """Who starts or reloads next decides again. None when nothing was held."""
    now = stored.current(tx, lock=True)
    if now is None or not now.held:
        return None
    return _change(tx, now.release, now, event="release.freed", held=False, by=by, note=note)


def _change(
    tx: Transaction, release: str, before: Current | None, *, event: str, held: bool, by: str, note: str | None
) -> Current:
    made = stored.make_current(tx, release, held=held, by=by, note=note)
    body = {"release": release, "before": before.release if before else None, "note": note}
    log.append(tx, by, event, f"release:{release}", body)
    return made


def _named_or_ours(tx: Transaction, project: Project, asked: str | None) -> str:
    """The release of that name, or that of the file, which is kept from here on."""
    release = project.release if asked is None else named(tx, asked, project)
    if release == project.release:
        keep(tx, project)
    return release


def named(tx: Transaction, asked: str, project: Project) -> str:
    """The release that a person means by the beginning of its hash: a kept one, or that of the configuration file.

    Raises ReleaseUnknown, ReleaseAmbiguous.
    """
    known = sorted({*stored.hashes(tx), project.release})
    found = [one for one in known if one.startswith(asked.lower())] if asked else []
    if not found:
        raise ReleaseUnknown(asked, known)
    if len(found) > 1:
        raise ReleaseAmbiguous(asked, found)
    return found[0]


# Running it


def is_kept(tx: Transaction, release: str) -> bool:
    """Whether a release can run where its file is not."""
    return stored.get(tx, release).files is not None


def refuse_another(tx: Transaction, project: Project) -> None:
    """Raises AnotherIsHeld when a person holds another release than this one."""
    now = stored.current(tx)
    if now is not None and now.held and now.release != project.release:
        raise AnotherIsHeld(now, project.release)


def to_run(tx: Transaction, project: Project, environ: Mapping[str, str]) -> Project:
    """The current release as a project: that of the file itself where it is the one, or there is none.

    Its state is the one that the file names. Raises as `project_of`.
    """
    now = stored.current(tx)
    if now is None or now.release == project.release:
        return project
    return replace(project_of(tx, now.release, project.path, environ), state=project.state)


def project_of(tx: Transaction, release: str, main: Path, environ: Mapping[str, str]) -> Project:
    """A release from its kept texts, as if they stood at `main`, with the environment's values of now.

    Raises ReleaseNotKept, ReleaseDiffers, and ConfigProblems where a variable is missing now.
    """
    row = stored.get(tx, release)
    if row.files is None:
        raise ReleaseNotKept(release)
    project = config.load_kept(row.files, main, environ, f"release {shortened(release)}")
    if project.release != release:
        raise ReleaseDiffers(release, _settings_that_differ(row.config, json.loads(project.canonical)))
    return project


def _settings_that_differ(before: Any, now: Any, path: str = "") -> list[str]:
    """Their paths, such as `sources.shop.url`."""
    if isinstance(before, dict) and isinstance(now, dict):
        keys = sorted({*before, *now})
        return [
            one
            for key in keys
            for one in _settings_that_differ(before.get(key), now.get(key), f"{path}.{key}" if path else key)
        ]
    return [] if before == now else [path]


# Reading it


def text_of(row: stored.ReleaseRow) -> str:
    """A release for people: its texts, each under its name where there are several, or what it says without them."""
    if row.files is None:
        return yaml_text(dict(row.config))
    if len(row.files) == 1:
        return next(iter(row.files.values()))
    return "\n".join(f"# {path}\n{text}" for path, text in row.files.items())


def difference(before: Mapping[str, Any], after: Mapping[str, Any], names: tuple[str, str]) -> list[str]:
    """What two configurations say differently, as the lines of a unified diff; their secrets as they were written."""
    old, new = (yaml_text(dict(one)).splitlines() for one in (before, after))
    return list(difflib.unified_diff(old, new, *names, lineterm=""))
