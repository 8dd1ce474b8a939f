"""The binding of a rule: a digest of every setting that decides which records it cleans, and how.

All settings of the rule, its datasets, their sources and the project count, except the harmless ones named here. So a
setting that is added later counts by itself. Settings with their default value are left out, so that a new version of
Reconcile with more settings changes no binding.
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
"""Raise it when the meaning of settings changes: each rule then has one more first run."""
HARMLESS_IN_RULE = frozenset(
    {"severity", "owner", "runbook", "was", "engine", "approval", "approval_expires", "limits", "retry", "examples"}
)
"""Recipients, approval, limits, the engine (every one gives the same answer), and tests of the rule."""
HARMLESS_IN_DATASET = frozenset({"pii", "display", "link", "was"})
"""They only decide what people see, or how records were named before."""
HARMLESS_IN_SOURCE = frozenset({"url", "replica", "max_parallel", "statement_timeout"})
"""The target itself tells its identity (`in_target`), so the `url`, a `replica` and their passwords may change."""
HARMLESS_IN_PROJECT = frozenset(
    {
        # The binding covers the rule's own datasets, with their timezones, and sources.
        *("timezone", "sources", "datasets", "rules"),
        # The same settings as one text, and the files they came from.
        *("path", "canonical", "release", "files", "warnings", "version", "entries"),
        # Storage, schedules, notifications and limits.
        *("state", "memory", "jobs", "channels", "max_parallel", "grace_stop", "alerts", "retention"),
        *("listen", "listen_hosts", "console"),
        *("traces", "retries", "limits", "maintenance", "undo_window", "encryption_key", "audit", "guard"),
    }
)


def binding_of(project: Project, rule: Rule) -> str:
    """Return the configuration's part of the binding; if it changes, earlier plans are void."""
    action = None if rule.clean is None else (rule.clean.action, rule.clean.version)
    settings = [
        *(FORM, rule.kind, action),
        rule.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude=set(HARMLESS_IN_RULE)),
        *_bound_dataset(project, rule.dataset),
        bound(project, HARMLESS_IN_PROJECT),
    ]
    others = (name for name in rule.configured_datasets if name != rule.dataset)
    return _digest([*settings, *(part for name in others for part in _bound_dataset(project, name))])


def _bound_dataset(project: Project, name: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    dataset = project.datasets[name]
    settings = project.sources[dataset.source].settings
    return bound(dataset, HARMLESS_IN_DATASET), bound(settings, HARMLESS_IN_SOURCE)


def in_target(binding: str, identity: str, schema: str) -> str:
    """Return the binding combined with the target and the schema of the cleaned table.

    The first run under a new value only reports.
    """
    return _digest([binding, identity, schema])


def bound(settings: BaseModel | DatasetConfig | Project, harmless: Collection[str]) -> Mapping[str, Any]:
    """Return all settings that are neither harmless nor at their default, as plain JSON without secrets."""
    if isinstance(settings, BaseModel):
        return settings.model_dump(mode="json", exclude_defaults=True, exclude=set(harmless))
    values = {item.name: getattr(settings, item.name) for item in fields(settings) if item.name not in harmless}
    defaults = {item.name: _default(item) for item in fields(settings)}
    return {name: _plain(value) for name, value in values.items() if value != defaults[name]}


def _plain(value: object) -> Any:
    if isinstance(value, BaseModel):
        return bound(value, ())
    return list(map(_plain, value)) if isinstance(value, (tuple, list)) else to_jsonable_python(value)


def _default(item: Field[Any]) -> object:
    return item.default if item.default_factory is MISSING else item.default_factory()


def _digest(settings: object) -> str:
    return hashlib.sha256(json.dumps(settings, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
