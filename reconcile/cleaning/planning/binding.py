"""The binding of a rule: a digest of every setting that decides which records it cleans, and what becomes of them.

Settings are not listed one by one: all of the rule, its dataset, their source and the project count, except the ones
named here, which are known to be harmless. A setting that is added later counts by itself. Settings that have their
default are left out, so that a new version of Reconcile with more settings changes no binding.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from reconcile.config.settings import DatasetConfig, Project
from rules.kinds.base import Rule

FORM = 1
"""Raise it when the same settings come to mean something else: each rule then has one more first run."""
HARMLESS_IN_RULE = frozenset(
    {"severity", "owner", "runbook", "was", "engine", "approval", "approval_expires", "limits", "retry"}
)
"""Who is told and asked, how much may be done, and where it is computed: every engine gives the same answer."""
HARMLESS_IN_DATASET = frozenset({"pii"})
"""Which values people see."""
HARMLESS_IN_SOURCE = frozenset({"url", "max_parallel", "statement_timeout"})
"""Which database a `url` leads to is told by the database itself (`in_target`): a password may change."""
HARMLESS_IN_PROJECT = frozenset(
    {
        # Bound by what the rule uses of them: its dataset, which holds its timezone, and its source.
        *("timezone", "sources", "datasets", "rules"),
        # The same settings as one text, and where they were read.
        *("path", "canonical", "release", "files", "warnings", "version"),
        # Where things are kept, when they run, who is told, and how much may be done.
        *("state", "memory", "jobs", "channels", "max_parallel", "grace_stop", "alerts", "retention"),
        *("listen", "listen_hosts"),
        *("traces", "retries", "limits", "maintenance", "undo_window", "encryption_key", "audit"),
    }
)


def binding_of(project: Project, rule: Rule) -> str:
    """The binding as far as the configuration tells: after a change, plans that were made before are void."""
    dataset = project.datasets[rule.dataset]
    action = None if rule.clean is None else (rule.clean.action, rule.clean.version)
    settings = [
        *(FORM, rule.kind, action),
        rule.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude=set(HARMLESS_IN_RULE)),
        bound(dataset, HARMLESS_IN_DATASET),
        bound(project.sources[dataset.source].settings, HARMLESS_IN_SOURCE),
        bound(project, HARMLESS_IN_PROJECT),
    ]
    return _digest(settings)


def in_target(binding: str, identity: str, schema: str) -> str:
    """The binding together with the database it was applied in, and the schema of the cleaned table there.

    The first run with another one only tells.
    """
    return _digest([binding, identity, schema])


def bound(settings: BaseModel | DatasetConfig | Project, harmless: Collection[str]) -> Mapping[str, Any]:
    """All settings that are not harmless and do not have their default, as plain JSON. The text of a secret is left
    out."""
    if isinstance(settings, BaseModel):
        return settings.model_dump(mode="json", exclude_defaults=True, exclude=set(harmless))
    values = {one.name: getattr(settings, one.name) for one in fields(settings) if one.name not in harmless}
    defaults = {one.name: _default(one) for one in fields(settings)}
    return {name: _plain(value) for name, value in values.items() if value != defaults[name]}


def _plain(value: object) -> Any:
    if isinstance(value, BaseModel):
        return bound(value, ())
    return list(map(_plain, value)) if isinstance(value, (tuple, list)) else to_jsonable_python(value)


def _default(one: Field[Any]) -> object:
    return one.default if one.default_factory is MISSING else one.default_factory()


def _digest(settings: object) -> str:
    return hashlib.sha256(json.dumps(settings, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
