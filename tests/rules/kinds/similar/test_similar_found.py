"""Kind similar: what each setting changes in the groups that a rule finds."""

from __future__ import annotations

import datetime as dt
import random
import tracemalloc
from decimal import Decimal
from typing import Any

import pytest

from rules.engines.base import MoneyColumns, Skipped, Unanswerable
from rules.kinds.base import DoesNotFit
from rules.values import Type
from tests.support.similar import ADA, COMPARE, PEOPLE, STRANGERS, TWIN, detect, groups, ids, person

RENAMED = {"shop": {"name": "full_name", "phone": "telephone"}}
THIRD = ADA | {"id": "a3", "name": "Ada Lovlace"}


def renamed(row: dict[str, Any], **values: Any) -> dict[str, Any]:
    """The record as the shop has it."""
    names = RENAMED["shop"]
    return {names.get(name, name): value for name, value in row.items()} | values


def test_a_record_written_differently_is_found_and_says_what_it_shares() -> None:
    [group] = groups(PEOPLE)

    assert [member.id for member in group.members] == [("a1",), ("a2",)]
    assert group.key == {"born": "1985-12-10"}
    [link] = group.links
    assert link.bridge
    assert link.detail is not None
    assert "phone ends in the same digits" in link.detail
    assert link.weight is not None
    assert link.weight > 0


def test_a_group_shows_its_key_as_the_keeper_has_it_and_is_known_by_what_is_compared() -> None:
    other_forms = TWIN | {"email": "ADA@example.com", "born": "10.12.1985"}

    [group] = groups([*STRANGERS, ADA | {"email": "Ada@Example.com"}, other_forms])

    assert group.key == {"email": "Ada@Example.com", "born": "1985-12-10"}
    assert group.identity_key == {"email": "ada@example.com", "born": "1985-12-10"}


@pytest.mark.slow
def test_the_order_of_rows_changes_nothing() -> None:
    expected = [(group.members, group.key, group.links) for group in groups([*PEOPLE, THIRD])]

    for seed in range(3):
        rows = [*PEOPLE, THIRD]
        random.Random(seed).shuffle(rows)
        assert [(group.members, group.key, group.links) for group in groups(rows)] == expected


@pytest.mark.slow
def test_records_that_differ_in_a_veto_are_not_the_same_and_an_empty_value_vetoes_nothing() -> None:
    other_day, no_day = ({"born": value} for value in ("1985-12-11", None))

    assert ids([*STRANGERS, ADA, TWIN | other_day]) == [["a1", "a2"]]
    assert ids([*STRANGERS, ADA, TWIN | other_day], veto=["born"]) == []
    assert ids([*STRANGERS, ADA, ADA | {"id": "a2"} | no_day], veto=["born"]) == [["a1", "a2"]]


def test_a_column_that_counts_less_or_only_if_equal_can_leave_twins_apart() -> None:
    assert ids(PEOPLE) == [["a1", "a2"]]
    assert ids(PEOPLE, weights={"name": 0, "born": 0}) == []
    assert ids(PEOPLE, levels={"phone": ["same"], "name": ["same"], "born": ["same"]}) == [["a1", "a2"]]
    other_day = {"born": "1985-12-11"}
    assert ids([*STRANGERS, ADA, TWIN | other_day], levels={"born": ["same"], "phone": ["same"]}) == []


def test_a_veto_needs_two_cells_without_a_common_value() -> None:
    both, second = (
        ADA | {"id": "a2", "phone": phone} for phone in ("+1 212 5550100; +44 20 7946 0123", "+1 212 5550100")
    )

    assert ids([*STRANGERS, ADA, both], veto=["phone"]) == [["a1", "a2"]]
    assert ids([*STRANGERS, ADA, second], veto=["phone"]) == []


@pytest.mark.slow
def test_only_records_that_meet_the_condition_take_part() -> None:
    assert ids([*PEOPLE, THIRD], where="id <> 'a2'") == [["a1", "a3"]]
    assert ids(PEOPLE, where="id <> 'a2'") == []


@pytest.mark.slow
def test_pairs_of_except_are_not_the_same_and_the_others_stay_together() -> None:
    assert ids(PEOPLE, **{"except": [["a1", "a2"]]}) == []
    assert ids([*PEOPLE, THIRD], **{"except": [["a1", "a2"]]}) == [["a1", "a3"]]


@pytest.mark.slow
def test_the_keeper_is_the_smallest_id_or_what_keep_says() -> None:
    noted = TWIN | {"note": "pays by invoice"}

    assert ids([*STRANGERS, ADA, noted]) == [["a1", "a2"]]
    assert ids([*STRANGERS, ADA, noted], keep=["most_complete"]) == [["a2", "a1"]]
    assert ids([*STRANGERS, ADA, noted], keep=[{"last": "id"}]) == [["a2", "a1"]]


@pytest.mark.slow
def test_distinct_having_and_minimum_leave_out_groups() -> None:
    assert ids(PEOPLE, distinct="email") == [["a1", "a2"]]
    assert ids(PEOPLE, distinct="born") == []
    assert ids(PEOPLE, having="records > 2") == []
    assert ids(PEOPLE, having="count_distinct(email) = 2") == [["a1", "a2"]]
    assert ids(PEOPLE, minimum=3) == []
    assert ids([*PEOPLE, THIRD], minimum=3) == [["a1", "a2", "a3"]]


def test_the_money_at_risk_is_that_of_the_surplus() -> None:
    rows = [row | {"balance": Decimal(10 * number)} for number, row in enumerate(PEOPLE)]

    [group] = groups(rows, data={"money": MoneyColumns("balance", currency="EUR")})

    assert group.money == {"EUR": Decimal(90)}


def test_records_without_an_id_are_found() -> None:
    rows = [{name: value for name, value in row.items() if name != "id"} for row in PEOPLE]

    [group] = groups(rows, data={"id": ()})

    assert sorted(str(member.values["name"]) for member in group.members) == ["Ada Lovelace", "Lovelace, Ada"]


def test_a_record_without_any_compared_value_is_skipped_and_counted() -> None:
    empty = dict.fromkeys(COMPARE) | {"id": "e1", "city": "Berlin"}

    detection = detect([*PEOPLE, empty, empty | {"id": "e2"}])

    assert detection.read == len(PEOPLE) + 2
    assert detection.skipped == (Skipped("name, email, phone, born", "null", 2),)
    assert [len(group.members) for group in detection.groups] == [2]


@pytest.mark.slow
def test_a_rule_whose_groups_hold_too_many_records_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rules.kinds.similar.implausible.FEW", 1)

    with pytest.raises(Unanswerable, match=r"more than 1 of 10 records \(`max_share`\)"):
        detect(PEOPLE, max_share="10%")
    assert ids(PEOPLE, max_share="20%") == [["a1", "a2"]]


# Several datasets


@pytest.mark.slow
def test_columns_with_other_names_are_compared_across_datasets() -> None:
    shop = [renamed(TWIN, id="7"), renamed(person("8", "Zoe Quist"))]

    [group] = groups({"crm": [*STRANGERS, ADA], "shop": shop}, columns=RENAMED)

    assert [(member.dataset, member.id) for member in group.members] == [(None, ("a1",)), ("shop", ("7",))]
    assert set(COMPARE) <= set(group.surplus[0].values)


@pytest.mark.slow
@pytest.mark.parametrize("one_to_one", [False, True])
def test_a_column_can_be_a_date_in_one_dataset_and_a_text_or_an_instant_in_another(one_to_one: bool) -> None:
    day = dt.date(1985, 12, 10)
    crm = [row | {"born": dt.date(1950 + number, 1, 2)} for number, row in enumerate(STRANGERS)] + [ADA | {"born": day}]
    instant = dt.datetime(1985, 12, 10, 9, tzinfo=dt.UTC)

    for born, kind in (("1985-12-10", Type.TEXT), (instant, Type.INSTANT)):
        types = {"crm": {"born": Type.DATE}, "shop": {"born": kind}}
        [group] = groups({"crm": crm, "shop": [TWIN | {"born": born}]}, types=types, one_to_one=one_to_one)

        [link] = group.links
        assert "same born" in str(link.detail)


def test_ids_that_are_equal_in_two_datasets_are_two_records() -> None:
    [group] = groups({"crm": [*STRANGERS, ADA | {"id": "1"}], "shop": [TWIN | {"id": "1"}]})

    assert [(member.dataset, member.id) for member in group.members] == [(None, ("1",)), ("shop", ("1",))]


@pytest.mark.slow
def test_twins_inside_a_dataset_are_found_unless_the_dataset_must_differ() -> None:
    data = {"crm": PEOPLE, "shop": [person("8", "Zoe Quist")]}

    assert ids(data) == [["a1", "a2"]]
    assert ids(data, distinct="dataset") == []


@pytest.mark.slow
def test_one_to_one_gives_each_record_at_most_one_partner() -> None:
    data = {"crm": [*STRANGERS, ADA, TWIN], "shop": [ADA | {"id": "b1"}, person("8", "Zoe Quist")]}

    assert ids(data) == [["a1", "a2", "b1"]]
    assert ids(data, one_to_one=True) == [["a1", "b1"]]


def test_each_dataset_can_have_a_condition_in_its_own_names() -> None:
    data = {"crm": [*STRANGERS, ADA], "shop": [renamed(TWIN, id="7"), renamed(ADA, id="9")]}

    grouped = ids(data, columns=RENAMED, where={"shop": "full_name <> 'Ada Lovelace'"})

    assert grouped == [["a1", "7"]]


@pytest.mark.slow
def test_except_names_records_of_their_datasets() -> None:
    data = {"crm": [*STRANGERS, ADA], "shop": [TWIN | {"id": "a1"}]}

    assert ids(data) == [["a1", "a1"]]
    assert ids(data, **{"except": [["a1", {"shop": "a1"}]]}) == []


def test_the_preferred_dataset_is_kept() -> None:
    data = {"crm": [*STRANGERS, ADA], "shop": [TWIN]}

    assert ids(data, keep=[{"prefer": {"dataset": ["shop", "crm"]}}]) == [["a2", "a1"]]


def test_dataset_is_a_column_if_a_rule_compares_only_one_dataset() -> None:
    rows = [row | {"dataset": Decimal(number)} for number, row in enumerate(PEOPLE)]
    types = {"things": {"dataset": Type.DECIMAL}}

    assert ids(rows, types=types, distinct="dataset", keep=[{"max": "dataset"}]) == [["a2", "a1"]]
    assert ids(rows, types=types, having="min(dataset) = 0") == []


# Mistakes that only the columns of a dataset show


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"compare": {"nmae": "name"}},
            "`compare` names `nmae`, but dataset `things` has no such column; did you mean",
        ),
        ({"keep": [{"first": "creatd"}]}, "`keep` names `creatd`, which no dataset of the rule has"),
        ({"distinct": "vendor"}, "`distinct` names `vendor`, which no dataset of the rule has"),
        ({"having": "sum(amount) > 1"}, "`having` names `amount`, which no dataset of the rule has"),
        ({"distinct": "dataset"}, "`distinct` names `dataset`, which no dataset of the rule has"),
        ({"having": "count_distinct(dataset) > 1"}, "`having` names `dataset`, which no dataset of the rule has"),
        ({"keep": [{"prefer": {"dataset": ["crm"]}}]}, "`keep` names `dataset`, which no dataset of the rule has"),
        (
            {"compare": {"balance": "date"}},
            "`balance` of dataset `things` is of type decimal, which cannot be compared",
        ),
        ({"where": "colour = 'red'"}, "where"),
    ],
)
def test_a_setting_that_does_not_fit_the_columns_is_told_in_one_sentence(
    settings: dict[str, Any], sentence: str
) -> None:
    rows = [row | {"balance": Decimal(1)} for row in PEOPLE]

    with pytest.raises(DoesNotFit) as misfit:
        detect(rows, **settings)

    [told] = misfit.value.mistakes
    assert sentence in told


def test_a_column_that_one_of_several_datasets_lacks_is_told_with_that_dataset() -> None:
    shop = [{name: value for name, value in TWIN.items() if name != "phone"}]

    with pytest.raises(DoesNotFit) as misfit:
        detect({"crm": PEOPLE, "shop": shop})

    [told] = misfit.value.mistakes
    assert told.startswith("`compare` names `phone`, but dataset `shop` has no such column")


@pytest.mark.slow
def test_a_higher_threshold_finds_fewer() -> None:
    assert ids(PEOPLE, threshold="1%")
    assert ids(PEOPLE, threshold="99.9999999%") == []


@pytest.mark.slow
def test_block_compares_only_records_that_agree_in_one_of_its_lists() -> None:
    assert ids(PEOPLE, block=[["name"]]) == []
    assert ids(PEOPLE, block=[["name"], ["born"]]) == [["a1", "a2"]]


def test_a_list_of_block_that_too_many_records_share_is_counted() -> None:
    detection = detect(PEOPLE, compare=COMPARE | {"city": "city"}, block=[["city"]], max_block=2)

    assert detection.skipped == (Skipped("city", "shared by more than 2 records", len(PEOPLE), whole=False),)


def test_a_date_is_the_same_in_every_form() -> None:
    rows = [*STRANGERS, ADA, TWIN | {"born": "10.12.1985"}]

    [group] = groups(rows, veto=["born"])

    assert "same born" in group.links[0].detail


@pytest.mark.slow
def test_an_excepted_partner_leaves_its_place_to_another_one() -> None:
    crm = [*STRANGERS, ADA, THIRD]
    pairs = [["a1", {"shop": "b1"}]]

    grouped = ids({"crm": crm, "shop": [ADA | {"id": "b1"}]}, one_to_one=True, **{"except": pairs})

    assert grouped == [["a3", "b1"]]


def test_very_long_words_need_no_more_memory_than_they_are_long() -> None:
    """A column can hold what is no text, such as a picture in base64."""
    letters = random.Random(1).choices("abcdefghij", k=8000)
    long = "".join(letters)
    texts = {"a1": long, "a2": f"{long[:100]}z{long[101:]}", "a3": long[::-1]}
    rows = [{"id": identifier, "name": text} for identifier, text in texts.items()]

    tracemalloc.start()
    grouped = ids(rows, compare={"name": "text"})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert grouped == [["a1", "a2"]]
    assert peak < 64_000_000


@pytest.mark.parametrize("length", [59, 60, 61, 200])
@pytest.mark.parametrize("place", [0, 19, 20, 30, 58])
def test_one_typo_in_a_long_word_is_a_typo(length: int, place: int) -> None:
    word = "".join(random.Random(length).choices("abcdefghij", k=length))
    typos = [word[:place] + word[place + 1 :], f"{word[:place]}z{word[place:]}", f"{word[:place]}z{word[place + 1 :]}"]

    for typo in typos:
        rows = [{"id": "a1", "name": word}, {"id": "a2", "name": typo}]
        [group] = groups(rows, compare={"name": "text"}, threshold="1%")
        assert group.links[0].detail is not None
        assert "nearly" in group.links[0].detail


@pytest.mark.slow
@pytest.mark.parametrize("copies", [2, 12, 120])
def test_equal_records_are_found_together(copies: int) -> None:
    rows = [*(person(f"s{n}", f"Name{n} Surname{n * 37 % 101}") for n in range(200)), *STRANGERS]
    rows += [ADA | {"id": f"a{number:03}"} for number in range(copies)]

    assert [len(group) for group in ids(rows) if "a000" in group] == [copies]


@pytest.mark.slow
def test_a_record_without_an_id_is_in_no_group() -> None:
    assert ids([*STRANGERS, ADA, TWIN | {"id": None}]) == []
    assert ids([*PEOPLE, TWIN | {"id": None}]) == [["a1", "a2"]]


def test_two_excepted_partners_leave_their_place_to_a_third_one() -> None:
    crm = [*STRANGERS, ADA, THIRD, TWIN | {"id": "a4"}]
    pairs = [["a1", {"shop": "b1"}], ["a3", {"shop": "b1"}]]

    assert ids({"crm": crm, "shop": [ADA | {"id": "b1"}]}, one_to_one=True, **{"except": pairs}) == [["a4", "b1"]]
