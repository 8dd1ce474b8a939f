"""A rule that people mostly reject says what would narrow it, from what they rejected and what they confirmed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.world import DELETE, World

pytestmark = pytest.mark.slow

Twins = tuple[str | None, ...]
"""Date of birth, kind and time of two records: the first of each, then the second of each."""

PEOPLE = {
    "source": "shop",
    "table": "people",
    "id": "id",
    "display": ["born", "kind", "at"],
    "columns": {"at": "instant"},
}
SAME: Twins = ("1990", "a", "08:00", "1990", "a", "08:00")


def twins(born: str | None = "1990", kind: str | None = "a", at: str = "08:00", of: str = "a") -> Twins:
    return ("1990", of, "08:00", born, kind, at)


def advice(
    folder: Path,
    rejected: Sequence[Twins],
    confirmed: Sequence[Twins],
    dataset: dict[str, Any] | None = None,
    confirm: str = "approve",
    **rule: Any,
) -> str:
    """What the rule says after people dismissed some findings and had others cleaned, or handled them elsewhere."""
    rule = DELETE | {"dataset": "people", "key": ["name"], "max_share": "100%"} | rule
    world = World.at(folder / "w", twins=rule)
    world.config["datasets"] = {"people": PEOPLE | (dataset or {})}
    world.shop.sql("CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, born TEXT, kind TEXT, at TEXT)")
    for number, values in enumerate((*rejected, *confirmed)):
        for half in (0, 1):
            born, kind, at = (
                "null" if value is None else "'" + value.replace("'", "''") + "'"
                for value in values[3 * half : 3 * half + 3]
            )
            moment = f"'2026-03-01T{at[1:-1]}:00Z'"
            world.shop.sql(f"INSERT INTO people VALUES ({2 * number + half}, 'n{number:02}', {born}, {kind}, {moment})")
    world.run()
    for number, finding in enumerate(sorted(world.command("findings", "--json").json, key=_name)):
        decision = "dismiss" if number < len(rejected) else confirm
        assert world.command(decision, finding["id"]).code == 0
    [view] = world.command("rules", "--json").json
    return str(view["advice"])


def _name(finding: dict[str, Any]) -> str:
    return str(finding["key"]["name"])


@pytest.mark.parametrize(
    ("rejected", "confirmed", "rule", "words"),
    [
        (
            [twins(born="1971"), twins(born="1972"), twins(born="1973"), SAME],
            [SAME],
            {},
            "With `born` in `key`, it would leave out 3 of the 4 rejected, none of the 1 confirmed",
        ),
        (
            [twins(of="it's", kind="it's")] * 4,
            [twins(kind=None)],
            {},
            "With `kind <> 'it''s' or kind is null` in `where`, it would leave out 4 of the 4 rejected",
        ),
        (
            [twins(at="09:00"), twins(at="09:30"), twins(at="11:00")],
            [twins(at="08:04")],
            {"gap": {"at": "5h"}},
            "If `at` may differ by at most 4 min, it would leave out 3 of the 3 rejected",
        ),
    ],
    ids=["key", "where", "gap"],
)
def test_it_names_the_change_that_leaves_out_what_was_rejected_alone(
    tmp_path: Path, rejected: list[Twins], confirmed: list[Twins], rule: dict[str, Any], words: str
) -> None:
    assert words in advice(tmp_path, rejected, confirmed, **rule)


def test_a_change_that_touches_one_confirmed_finding_or_shows_personal_data_is_not_proposed(tmp_path: Path) -> None:
    born = [twins(born="1971"), twins(born="1972"), twins(born="1973")]

    touched = advice(tmp_path / "touched", born, [twins(born="1974")])
    personal = advice(tmp_path / "personal", born, [SAME], {"pii": ["born"]})

    for told in (touched, personal):
        assert told.startswith("People rejected 3 of 4 findings of this rule. Narrow it with `where`")
        assert "born" not in told


def test_nothing_is_proposed_before_somebody_confirmed_a_finding_nor_the_id_and_the_column_of_the_gap(
    tmp_path: Path,
) -> None:
    apart = [twins(at="09:00"), twins(at="09:30"), twins(at="11:00")]

    unconfirmed = advice(tmp_path / "none", [twins(born="1971")] * 4, [])
    by_id = advice(tmp_path / "id", apart, [twins(at="08:04")], {"display": ["id", "at"]}, gap={"at": "5h"})

    assert "Narrow it with `where`" in unconfirmed
    assert "in `key`" not in by_id.partition("To see it")[0]
    assert "If `at` may differ by at most 4 min" in by_id


def test_a_rule_that_people_mostly_confirm_says_nothing(tmp_path: Path) -> None:
    assert advice(tmp_path, [twins(born="1971")] * 2, [SAME] * 2) == "None"


def test_what_was_handled_elsewhere_counts_as_confirmed(tmp_path: Path) -> None:
    born = [twins(born="1971"), twins(born="1972"), twins(born="1973")]

    same = advice(tmp_path / "same", born, [SAME], confirm="handle")
    touched = advice(tmp_path / "touched", born, [twins(born="1974")], confirm="handle")

    assert "With `born` in `key`, it would leave out 3 of the 3 rejected, none of the 1 confirmed" in same
    assert "Narrow it with `where`" in touched


@pytest.mark.parametrize("kind", ["`x`", "y" * 61, "\x07"])
def test_a_value_that_no_condition_should_hold_is_left_out(tmp_path: Path, kind: str) -> None:
    told = advice(tmp_path, [twins(of=kind, kind=kind)] * 4, [SAME])

    assert kind not in told
    assert "Narrow it with `where`" in told
