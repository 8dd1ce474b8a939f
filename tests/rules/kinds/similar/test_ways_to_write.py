"""Kind similar: ways to write one thing that it recognises, and what only looks like one thing."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from rules.kinds.similar import texts, umlauts, words
from rules.kinds.similar.evidence import Evidence, evidence
from rules.kinds.similar.matching import Matching
from rules.kinds.similar.records import Records
from rules.kinds.similar.settings import Settings
from rules.kinds.similar.types import SemanticType
from rules.values import Type
from tests.support.similar import ADA, STRANGERS, TWIN, Row, groups, ids

COMPANIES = ["Brandt Logistik AG", "Holm Media Ltd", "Varga Kft", "Acme Corp", "Lund & Partner", "Kraus GmbH"]
PEOPLE = ["Iris Holm", "Bela Varga", "Tom Ayers", "Lena Kraus", "Igor Petrov", "Maya Singh"]


def normalised(values: list[str | None], semantic_type: SemanticType) -> list[str | None]:
    column = pa.chunked_array([pa.array(values, pa.string())])
    read: list[str | None] = texts.normalised(column, semantic_type).to_pylist()
    return read


def explained(columns: dict[str, list[object]], types: dict[str, str], *, sides: bool = False) -> Evidence:
    """The evidence of the first two records; with `sides`, each in a table of its own."""
    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    tables = [table.slice(0, 1), table.slice(1)] if sides else [table]
    by = Settings.of(types, one_to_one=sides)
    engine = Matching(Records.of(tables, by), by)
    place = {int(row): number for number, row in enumerate(engine.records.rows)}
    (pair,) = evidence(engine, [(place[0], place[1])])
    return pair


# Spellings


@pytest.mark.parametrize(
    ("semantic_type", "strangers", "left", "right"),
    [
        ("company", COMPANIES, "Müller & Söhne GmbH", "Mueller und Soehne"),
        ("company", COMPANIES, "Jørgensen ApS", "JOERGENSEN"),
        ("company", COMPANIES, "ООО Ромашка", "Romashka"),
        ("company", COMPANIES, "Gesellschaft für Altgold mbH", "Gesellschaft fuer Altgold"),
        ("name", PEOPLE, "Юлия Иванова", "Yuliya Ivanova"),
        ("name", PEOPLE, "Prof. Dr. Jürgen Groß", "Gross, Juergen"),
        ("name", PEOPLE, "Bob Marlowe", "Robert Marlowe"),
        ("name", PEOPLE, "Γιώργος Παπαδόπουλος", "Giorgos Papadopoulos"),
    ],
)
def test_one_name_in_two_spellings_is_found(semantic_type: str, strangers: list[str], left: str, right: str) -> None:
    names = [*strangers, left, right]
    rows: list[Row] = [
        {"id": str(number), "name": name, "city": f"C{number // 2}"} for number, name in enumerate(names)
    ]

    assert ids(rows, compare={"name": semantic_type, "city": "city"}) == [["6", "7"]]


def test_umlauts_are_spelled_out_only_where_the_column_has_the_word_with_them() -> None:
    column = pa.array(["Müller", "Mueller", "Joel", None, "Küçükgöz", "Samuel Boer", "Müllerstraße 5"])

    assert dict(umlauts.spelled_out(column, str)) == {
        "mueller": "muller",
        "kuecuekgoez": "kucukgoz",
        "muellerstrasse": "mullerstrasse",
    }
    assert dict(umlauts.spelled_out(column, words.reader(SemanticType.ADDRESS)))["mueller"] == "muller"
    assert list(umlauts.spelled_out(pa.array(["Mueller", "Joel"]), str)) == []


def test_a_street_with_an_umlaut_is_the_street_without() -> None:
    columns: dict[str, list[object]] = {
        "street": ["Müllerstraße 5", "Muellerstr. 5", "Park Avenue 7", "Elm Road 9"],
        "city": ["Berlin", "Berlin", "Leeds", "York"],
    }

    assert "same street" in explained(columns, {"street": "address", "city": "city"}).words


def test_two_forms_of_a_given_name_are_a_level_of_their_own() -> None:
    columns: dict[str, list[object]] = {
        "first": ["Bob", "Robert", *(f"Given{number}" for number in range(20))],
        "last": ["Marlowe", "Marlowe", *(f"Sur{number}" for number in range(20))],
    }

    pair = explained(columns, {"first": "given_name", "last": "surname"})

    assert "first is a form of the same name" in pair.words
    assert pair.reasons[0].weight > 0


# Moving


MOVERS: list[Row] = [
    {"id": str(number), "company": f"{one}olur {two}eka Ltd", "phone": f"030 {number:03d} {number:04d}"}
    | {"street": f"{two}ina Street {number}", "postcode": f"{number:05d}", "city": f"{one}ham"}
    for number, (one, two) in enumerate((a + vowel, b + vowel) for a in "bdfgklmn" for b in "prst" for vowel in "aiu")
]
ADDRESSED = {"company": "company", "phone": "phone", "street": "address", "postcode": "postcode", "city": "city"}


def test_a_company_that_moved_is_found_and_a_namesake_elsewhere_is_not() -> None:
    elsewhere = {name: MOVERS[-1][name] for name in ("street", "postcode", "city")}
    moved: Row = MOVERS[0] | elsewhere | {"id": "moved", "street": "Long Road 1000"}
    namesake: Row = MOVERS[1] | elsewhere | {"id": "namesake", "phone": "040 999 8888", "street": "Long Road 1001"}

    [group] = groups([*MOVERS, moved, namesake], compare=ADDRESSED)

    assert [member.id for member in group.members] == [("0",), ("moved",)]
    assert "a move changes a whole address" in str(group.links[0].detail)


@pytest.mark.parametrize(
    ("left", "right", "is_same"), [("117", "ll7", True), ("12l", "121", False), ("14", "16", False)]
)
def test_the_number_of_a_house_is_read_as_a_scanner_wrote_it(left: str, right: str, is_same: bool) -> None:
    columns: dict[str, list[object]] = {
        "street": [f"Park Street {left}", f"Park Street {right}", "Elm Road 9", "High Street 3"],
        "city": ["York", "York", "Leeds", "Hull"],
    }

    pair = explained(columns, {"street": "address", "city": "city"})

    level = next(reason.level for reason in pair.reasons if reason.column == "street numbers")
    assert (level != "none") == is_same


# Father and son, and what persons share at work


@pytest.mark.parametrize(
    ("left", "right", "level"),
    [
        ("John Marlowe Sr.", "John Marlowe Jr.", "different"),
        ("Marlowe Sr, John", "Marlowe, John III", "different"),
        ("John Marlowe II", "John Marlowe, Junior", "same"),
        ("John Marlowe Sr.", "John Marlowe", None),
        ("Junior Marlowe", "Senior Marlowe", None),
    ],
)
def test_a_father_and_his_son_of_the_same_name_are_two_persons(left: str, right: str, level: str | None) -> None:
    columns: dict[str, list[object]] = {"name": [left, right, *PEOPLE, "Ed Roe Jr", "Max Roe Sr"]}

    pair = explained(columns | {"city": ["York"] * 10}, {"name": "name", "city": "city"})

    levels = {reason.column: reason.level for reason in pair.reasons}
    assert levels.get("name generation") == level
    assert ("name is of another generation (Sr, Jr)" in pair.words) == (level == "different")


def test_a_surname_is_compared_without_the_generation() -> None:
    columns: dict[str, list[object]] = {
        "first": ["John", "John", "Iris", "Bela Jr"],
        "last": ["Marlowe Sr.", "Marlowe", "Holm", "Varga"],
    }

    pair = explained(columns, {"first": "given_name", "last": "surname"})

    assert "same last" in pair.words
    assert "generation" not in pair.words


_LETTERS = "bdfgklmnprst"
STAFF: list[Row] = [
    {"id": f"{firm}{number}", "name": f"{given}{firm}a {firm}{given}o", "company": f"{firm}olur {firm}e Ltd"}
    | {"email": f"info@{firm}e.example", "phone": f"030 555 {place:02d}{place:02d}"}
    for place, firm in enumerate(a + vowel + b for a in _LETTERS for vowel in "aiu" for b in "mst")
    for number, given in enumerate(("El", "Yo"))
]
CONTACTS = {"name": "name", "company": "company", "email": "email", "phone": "phone"}


def test_persons_who_share_the_mailbox_of_a_role_a_company_and_a_phone_are_not_one() -> None:
    twin: Row = STAFF[0] | {"id": "twin", "name": ", ".join(reversed(str(STAFF[0]["name"]).split()))}

    assert ids([*STAFF, twin], compare=CONTACTS) == [[STAFF[0]["id"], "twin"]]


def test_the_mailbox_of_a_role_is_that_of_a_company_if_no_persons_are_compared() -> None:
    rows: list[Row] = [
        {"id": f"{number}", "company": f"{name} {number}", "email": f"info@firm{number}.example"}
        for number, name in enumerate(COMPANIES * 3)
    ]
    twin: Row = {"id": "twin", "company": "Lund Partners", "email": "info@firm4.example"}

    assert ids([*rows, twin], compare={"company": "company", "email": "email"}) == [["4", "twin"]]


def test_the_mailbox_of_a_role_is_compared_apart_from_that_of_a_person() -> None:
    mailboxes: list[object] = ["ada@x.org; Info@x.org", "info@x.org; countess@y.org", "sales@x.org", "tom@z.org"]
    columns: dict[str, list[object]] = {"email": mailboxes, "name": ["Ada Marlowe", "Countess Holm", *PEOPLE[:2]]}

    pair = explained(columns, {"email": "email", "name": "name"})

    levels = {reason.column: reason.level for reason in pair.reasons}
    assert levels["email"] == "different"
    assert levels["email role"] == "same"


# Several values in one cell


def test_an_address_in_common_makes_two_cells_alike() -> None:
    columns: dict[str, list[object]] = {
        "email": ["Ada L <ada@x.org>; countess@y.org", "Countess@y.org", "iris@z.org", "tom@z.org"],
        "phone": ["030/1234567; 0171 5554433", "0171-5554433", "040 9999", "040 8888"],
    }

    pair = explained(columns, {"email": "email", "phone": "phone"})

    assert "one email in common" in pair.words
    assert "one phone in common" in pair.words


def test_values_of_a_cell_have_no_order_and_a_number_with_a_stroke_is_one() -> None:
    assert normalised(["b@y.org, a@x.org", "A@x.org b@y.org"], SemanticType.EMAIL) == ["a@x.org;b@y.org"] * 2
    assert normalised(["ann+shop@x.org", "An.N@googlemail.com; b@y.org"], SemanticType.EMAIL) == [
        "ann@x.org",
        "ann@gmail.com;b@y.org",
    ]
    assert normalised(["mailto:a@x.org", "no address; none"], SemanticType.EMAIL) == ["a@x.org", "noaddressnone"]
    assert normalised(["030/1234567", "(0171) 555-4433/12", "030,1234567"], SemanticType.PHONE) == [
        "0301234567",
        "0171555443312",
        "0301234567",
    ]
    assert normalised(["0301234567/0401234567"], SemanticType.PHONE) == ["0301234567;0401234567"]


def test_a_large_table_compares_records_that_share_one_of_several_values() -> None:
    """With more pairs than are compared one by one, a shared value makes a pair a candidate."""
    emails = [f"user{number}@mail{number}.example" for number in range(900)]
    emails[7] = f"{emails[7]}; shared@x.example"
    emails[801] = f"other@y.example, {emails[7].split('; ')[1]}"
    by = Settings.of({"email": "email"})
    engine = Matching(Records.of([pa.table({"email": emails})], by), by)
    rows = engine.records.rows

    pairs = set(zip(rows[engine.candidates.first].tolist(), rows[engine.candidates.second].tolist(), strict=True))

    assert not engine.candidates.is_every_pair
    assert pairs & {(7, 801), (801, 7)}


# What only looks like one thing


def test_numbered_addresses_are_different_people() -> None:
    people: list[Row] = [
        {"id": str(number), "name": name, "email": f"info{number}@club.example", "city": "Berlin"}
        for number, name in enumerate(PEOPLE)
    ]

    assert ids(people, compare={"name": "name", "email": "email", "city": "city"}) == []


def test_another_number_in_an_address_is_no_typo() -> None:
    columns: dict[str, list[object]] = {
        "email": ["john1@x.org", "john2@x.org", "ann@y.org", "mary@z.org"],
        "last": ["Miller", "Stone", "Lund", "Holm"],
    }

    pair = explained(columns, {"email": "email", "last": "surname"})

    assert next(reason for reason in pair.reasons if reason.column == "email").level.startswith("number")


def test_the_houses_of_one_street_are_different_addresses() -> None:
    streets = [f"{number} Park Avenue" for number in range(2, 30, 3)] + ["7 Elm Road", "9 Lake Street"]
    rows: list[Row] = [
        {"id": str(n), "street": street, "postcode": "10016", "city": "New York"} for n, street in enumerate(streets)
    ]
    rows += [rows[0] | {"id": "twin", "street": "2 Park Ave."}]

    groups = ids(rows, compare={"street": "address", "postcode": "postcode", "city": "city"})

    assert groups == [["0", "twin"]]


# Characters that look alike


@pytest.mark.parametrize(
    ("semantic_type", "left", "right"),
    [("postcode", "K1A 0B1", "KIA OB1"), ("number", "100200", "1OO2O0"), ("exact", "AB10l7", "ABl017")],
)
def test_zero_and_o_look_the_same(semantic_type: str, left: str, right: str) -> None:
    columns: dict[str, list[object]] = {
        "code": [left, right, "774455", "993322"],
        "last": ["Miller", "Miller", "Lund", "Holm"],
    }

    pair = explained(columns, {"code": semantic_type, "last": "surname"})

    assert "code looks the same (0 and O, 1 and l)" in pair.words


def test_short_values_and_words_do_not_look_like_numbers() -> None:
    columns: dict[str, list[object]] = {"code": ["XL", "X1", "loll", "1011"], "last": ["Lee", "Ray", "Lund", "Holm"]}

    pair = explained(columns, {"code": "exact", "last": "surname"})

    assert "different code" in pair.words


def test_a_model_number_is_found_although_a_zero_became_an_o() -> None:
    titles = ["Sony WH-1000XM4 headphones", "Sony WH-1OOOXM4 headphones", "Bosch PSB-1800 drill", "Makita HP457 drill"]
    rows: list[Row] = [{"id": str(number), "title": title} for number, title in enumerate(titles)]

    assert ids(rows, compare={"title": "product"}) == [["0", "1"]]


# No pair is lost, and sums hold


def varied(size: int) -> pa.Table:
    generator = np.random.default_rng(5)
    firsts = ["Bob", "Robert", "Rob", "Kate", "Katharine", "Iris", "Tom", "Thomas"]
    lasts = ["Müller", "Mueller", "Muller", "Holm", "Lund", "Petrov"]
    last = generator.choice(lasts, size)
    number = generator.integers(0, size // 2, size)
    emails = [f"{name.lower()}{n}@x.org" for name, n in zip(last, number, strict=True)]
    return pa.table(
        {
            "first": generator.choice(firsts, size),
            "last": last,
            "email": [f"{email}; shared{n // 3}@y.org" if n % 4 == 0 else email for email, n in zip(emails, number)],  # noqa: B905
            "phone": [
                f"030 12345{n % 50:02}; 0171 55544{n % 70:02}" if n % 3 else f"03012345{n % 50:02}" for n in number
            ],
            "code": [f"1O{n % 9}l{n % 7}" if n % 2 else f"10{n % 9}1{n % 7}" for n in number],
        }
    )


VARIED = Settings.of({"first": "given_name", "last": "surname", "email": "email", "phone": "phone", "code": "exact"})


def test_no_pair_above_the_threshold_is_dropped_early_whatever_the_levels() -> None:
    table = varied(300)
    engine = Matching(Records.of([table], VARIED), VARIED)

    at_least = sum(len(batch.first) for batch in engine.pairs())

    every = engine.score(engine.candidates.first, engine.candidates.second)
    names = {level.name for feature in engine.comparison.features for level in feature.levels}
    assert {"short form", "look", "shared"} <= names
    assert at_least == int((every.bits >= engine.minimum).sum()) > 0


def test_weights_of_the_reasons_add_up_whatever_the_levels() -> None:
    engine = Matching(Records.of([varied(80)], VARIED), VARIED)
    pairs = list(zip(engine.candidates.first.tolist(), engine.candidates.second.tolist(), strict=True))[:500]

    reasons = list(evidence(engine, pairs))

    assert all(sum((each.weight for each in pair.reasons), Decimal(0)) == pair.score for pair in reasons)


# Words


@pytest.mark.parametrize(
    ("prices", "sides", "words"),
    [
        ((100.0, 99.0), True, "price is about 1 % lower"),
        ((100.0, 112.4), True, "price is about 12 % higher"),
        ((1000.0, 999.9), True, "price is less than 0.1 % lower"),
        ((100.0, 99.0), False, "price differs by about 1 %"),
        ((99.0, 100.0), False, "price differs by about 1 %"),
    ],
)
def test_a_difference_of_amounts_is_said_in_per_cent(prices: tuple[float, float], sides: bool, words: str) -> None:
    columns: dict[str, list[object]] = {
        "title": ["Sony WH1000 headphones", "Sony WH1000 headphones", "Bosch drill", "Makita saw"],
        "price": [*prices, 5.0, 7000.0],
    }

    assert words in explained(columns, {"title": "product", "price": "amount"}, sides=sides).words


def test_what_speaks_against_a_pair_comes_after_but() -> None:
    columns: dict[str, list[object]] = {
        "name": ["Ann Miller", "Ann Miller", "Bela Varga", "Tom Ayers", "Lena Kraus"],
        "born": ["1970-03-01", "1988-11-21", "1961-01-01", "1980-12-30", "1975-05-05"],
        "city": ["Leeds", "Leeds", "York", "Leeds", "York"],
    }

    reasons = explained(columns, {"name": "name", "born": "date", "city": "city"}).words

    assert reasons.startswith("same name")
    assert reasons.endswith("but different born")


def test_what_neighbours_share_is_taken_back_in_words() -> None:
    [group] = groups([*STRANGERS, ADA, TWIN], compare={"name": "name", "phone": "phone", "city": "city"})

    assert "less what neighbours also share" in group.links[0].detail


# Days


@pytest.mark.parametrize(
    ("born", "words"),
    [
        (("1970-03-01", "1970-o3-01"), "born is one character apart"),
        (("1970-03-01", "1 March 1970"), None),
        (("unknown", "1970-03-01"), None),
        (("1 March 1970", "1 March 1970"), "same born"),
        (("1970-03-01", "1988-11-21"), "different born"),
    ],
)
def test_a_value_that_is_no_date_speaks_for_a_pair_if_it_is_a_typo_and_never_against(
    born: tuple[str, str], words: str | None
) -> None:
    columns: dict[str, list[object]] = {
        "name": ["Ann Miller", "Ann Miller", "Bela Varga", "Tom Ayers", "Lena Kraus"],
        "born": [*born, "1961-01-01", "1980-12-30", "1975-05-05"],
    }

    reasons = explained(columns, {"name": "name", "born": "date"}).words

    assert (words in reasons) if words else ("born" not in reasons)


def test_decisions_know_no_instants_whose_day_depends_on_a_time_zone() -> None:
    late = dt.datetime(1985, 12, 9, 23, 30, tzinfo=dt.UTC)

    values = texts.compared({"name": "Ada", "born": late}, {"name": SemanticType.NAME, "born": SemanticType.DATE})

    assert values == {"name": "ada"}


@pytest.mark.slow
def test_an_instant_has_the_day_of_the_time_zone_of_its_dataset() -> None:
    """23:30 UTC on the ninth is the tenth in Berlin, as the other record says."""
    late = dt.datetime(1985, 12, 9, 23, 30, tzinfo=dt.UTC)
    crm = [row | {"born": f"195{number}-01-02"} for number, row in enumerate(STRANGERS)] + [ADA]
    data = {"crm": crm, "shop": [TWIN | {"born": late}]}

    [group] = groups(data, types={"shop": {"born": Type.INSTANT}}, data={"timezone": "Europe/Berlin"})

    assert "same born" in group.links[0].detail
