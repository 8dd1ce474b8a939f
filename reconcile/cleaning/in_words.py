"""The cleaning of a rule in words, for people who do not write rules. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from rules.cleaning import ApprovalPolicy, Limits, Policy
from rules.expressions.words import condition_in_words
from rules.kinds.base import Rule

_REFERENCES = {
    "refuse": "a record that other rows refer to stays as it is",
    "repoint": "rows that refer to the surplus refer to the keeper afterwards",
    "capture": "rows that refer to the surplus are deleted with it",
}
_ASKS: dict[Policy, str] = {
    "none": "without approval",
    "required": "after a person approved the exact plan",
    "two_person": "after two people approved the exact plan",
}


def cleaning_in_words(rule: Rule, unchangeable: Collection[str] = ()) -> Iterator[str]:
    """Yield what the rule changes, when it asks, and its limits; or what it could change.

    `unchangeable` are those of its datasets whose source cannot be changed.
    """
    if rule.clean is None:
        yield "nothing: the rule has no `clean`"
        for dataset, forms in rule.cleanable_forms.items():
            if dataset in unchangeable:
                yield f"records of {dataset} cannot be cleaned: its source can only be read"
            else:
                yield f"with `clean`, records of {dataset}: {', '.join(forms)}"
        return
    yield rule.clean.in_words
    references = _REFERENCES[rule.clean.references]
    yield references.replace("the surplus", "these records") if rule.clean.forms else references
    yield _approval(rule.approval)
    yield _limits(rule.limits)


def _approval(policy: ApprovalPolicy) -> str:
    if policy.when is None:
        return _ASKS[policy.then]
    return f"{_ASKS[policy.then]} if {condition_in_words(policy.when)}, else {_ASKS[policy.otherwise]}"


def _limits(limits: Limits) -> str:
    share = format((limits.share * 100).normalize(), "f")
    amounts = ", ".join(f"{amount} {code}" for code, amount in (limits.money or {}).items())
    money = f", {amounts}" if amounts else ""
    return (
        f"at most {limits.records:,} rows, {share} % of the records{money}, and groups of {limits.group} records, "
        "per run and in 24 hours"
    )
