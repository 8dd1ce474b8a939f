"""Findings are judged part by part; the result is the same as judging all of them at once."""

import datetime as dt
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconcile.findings.identity import RuleIdentity, key_text, records_of
from reconcile.findings.judgement import Verdict, judge
from reconcile.findings.known import JudgementPart, Known, NotSame, Outline, parts
from reconcile.findings.states import SETTLED, State
from rules.groups.group import DuplicateGroup
from tests.reconcile.tracking.lives import Life, steps, template
from tests.support.chance import examples
from tests.support.findings import NOON, RULE, SPAN, group

__all__ = ["template"]
Drawn = list[tuple[str, list[int]]]

# Of one run no record is in two groups; what is known may have any records, for keys change.
found_now = st.lists(st.sampled_from("ABC"), max_size=8).map(
    lambda keys: [(key, [2 * n, 2 * n + 1]) for n, key in enumerate(keys)]
)
known_before = st.lists(
    st.tuples(st.sampled_from("ABC"), st.lists(st.integers(0, 16), min_size=2, max_size=4, unique=True)), max_size=8
)
states = st.lists(
    st.sampled_from([State.OPEN, State.DISMISSED, State.HANDLED, State.RESOLVED, State.SNOOZED]), min_size=8, max_size=8
)


def outlines(knowns: Sequence[Known], rule: RuleIdentity) -> list[Outline]:
    return [
        Outline(item.id, sorted(item.followed) if rule.by_records else [key_text(item.key)], len(item.members))
        for item in knowns
    ]


def remembered(drawn: Drawn, states: Sequence[State]) -> list[Known]:
    collected = []
    for n, ((key, members), state) in enumerate(zip(drawn, states, strict=False)):
        names = records_of(group(key, *members))
        settled = frozenset(names) if state in SETTLED else frozenset()
        since = NOON - dt.timedelta(days=n)
        collected.append(Known(f"F-{n}", state, {"order": key}, names[0], frozenset(names), since, settled=settled))
    return collected


def verdicts(judged: Sequence[Verdict]) -> list[str]:
    return sorted(map(repr, judged))


@pytest.mark.parametrize("rule", [RULE, SPAN], ids=["by key", "by records"])
@given(now=found_now, before=known_before, states=states)
def test_parts_come_to_what_all_come_to(rule: RuleIdentity, now: Drawn, before: Drawn, states: list[State]) -> None:
    groups = [group(key, *members) for key, members in now]
    expected = remembered(before, states)
    by_id = {item.id: item for item in expected}
    none = NotSame()

    created = list(parts(groups, outlines(expected, rule), by_records=rule.by_records, most=1))

    judged: list[Verdict] = []
    for part in created:
        some = [groups[number] for number in part.groups]
        judged += judge(rule, some, [by_id[name] for name in part.findings], none, NOON).verdicts
    assert verdicts(judged) == verdicts(judge(rule, groups, expected, none, NOON).verdicts)
    assert sorted(number for part in created for number in part.groups) == list(range(len(groups)))
    assert sorted(name for part in created for name in part.findings) == sorted(by_id)


def test_a_part_is_full_at_so_many_records_and_never_in_the_middle_of_what_belongs_together() -> None:
    groups: list[DuplicateGroup] = [group(f"{n:02}", 2 * n, 2 * n + 1) for n in range(10)]
    expected = remembered([("03", [6, 7]), ("gone", [90, 91])], [State.OPEN, State.OPEN])

    created = list(parts(groups, outlines(expected, RULE), by_records=False, most=8))

    assert created == [
        JudgementPart([0, 1, 2, 3], ["F-0"]),
        JudgementPart([4, 5, 6, 7], []),
        JudgementPart([8, 9], ["F-1"]),
    ]


# Over the life of findings, through the state


@pytest.mark.slow
@pytest.mark.parametrize("by_records", [False, True], ids=["by key", "by records"])
@settings(max_examples=examples(25), deadline=None)
@given(drawn=steps)
def test_a_life_of_findings_is_the_same_judged_one_by_one_and_all_at_once(
    drawn: list[tuple[Any, ...]], by_records: bool, template: Path
) -> None:
    lives: list[Any] = []

    with tempfile.TemporaryDirectory() as name:
        for most in (1, 2, 1_000_000):
            life = Life(template, Path(name) / str(most), most, by_records=by_records)
            for what, *output in drawn:
                life.step(what, *output)
            lives.append(life.all())
            life.store.close()

    for other_life in lives[:-1]:
        assert other_life == lives[-1]
