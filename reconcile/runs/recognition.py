"""Prepare a rule for a run, so that groups which did not change since the last one are recognised and not built."""

from __future__ import annotations

import datetime as dt
import hmac
import json

from reconcile.cleaning.planning.binding import HARMLESS_IN_SOURCE, bound
from reconcile.config.settings import Project
from reconcile.findings.identity import RuleIdentity
from reconcile.store import Transaction, recognised
from rules.groups.recognised import Recognition
from rules.kinds.base import Rule

_FORM = 1
"""Raise it when groups are built otherwise: every group is then built once more."""


def recognising(tx: Transaction, project: Project, rule: Rule, slot: dt.datetime, version: str) -> Rule:
    """Return the rule with the digests of its known groups; a rule that cleans as it is, for it needs every group, and
    one whose `map` looks values up, for equal records may have other keys.

    `version` is that of Reconcile: another one may build other groups.
    """
    if rule.clean is not None or rule.by_records or rule.mapping_datasets:
        return rule
    salt = hmac.digest(tx.store.key, _definition(project, rule, slot, version).encode(), "sha256")
    return rule.recognising(Recognition(salt, recognised.digests(tx, rule.name)))


def _definition(project: Project, rule: Rule, slot: dt.datetime, version: str) -> str:
    """Return a text that differs whenever equal records may make another group, or another finding."""
    datasets = [project.datasets[name] for name in rule.configured_datasets]
    settings = [
        *("reconcile/recognition", _FORM, version, RuleIdentity.of(rule).definition),
        *(rule.name, rule.model_dump(mode="json")),
        *(bound(dataset, ()) for dataset in datasets),
        *(bound(project.sources[dataset.source].settings, HARMLESS_IN_SOURCE) for dataset in datasets),
    ]
    text = json.dumps(settings, sort_keys=True)
    return text + slot.isoformat() if "slot" in text.lower() else text
