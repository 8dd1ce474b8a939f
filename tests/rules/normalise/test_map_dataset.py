"""`map` from a dataset: values that people keep in a table, a file or a workbook, read again for every use."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.binding import mapped
from rules.binding.mapped import ContradictoryMapping, MappingTooLarge
from rules.groups.detection import Detection
from rules.groups.group import Discrepancy
from rules.kinds.base import DoesNotFit
from rules.kinds.duplicates import Duplicates, DuplicatesRule
from rules.kinds.reconciliation import Reconciliation
from rules.values import Type, Value
from tests.rules.kinds.reconciliation.compared import SLOT, rule
from tests.support.chance import examples
from tests.support.cli import Answer, Project
from tests.support.rules import Rows
from tests.support.shop import LOCAL, SERVERS, Shop, address
from tests.support.world import CUSTOMERS, DELETE, World

ONE, HALF = Decimal("1.0"), Decimal("0.50")
LOOKUP = {"dataset": "numbers", "from": "sku", "to": "item"}
INLINE = {"MUG-B": "70001", "MUG-W": "70002", "BOWL": "70003"}
SOLD = (("MUG-B", 5), ("MUG-W", 7), ("BOWL", 1), ("PLATE", 2))
BOOKED = (("70001", 5), ("70002", 6), ("PLATE", 2), ("70009", 4))


@pytest.fixture(params=[*SERVERS, "csv"])
def office(request: pytest.FixtureRequest, tmp_path: Path) -> Office:
    return Office(tmp_path, None if request.param == "csv" else Shop(address(request), tmp_path))


class Office:
    """Items of a shop and of its accounts, in a database or CSV files, and the numbers by which they are the same."""

    def __init__(self, folder: Path, shop: Shop | None) -> None:
        self.folder, self.shop = folder, shop
        for table, column, rows in (("sold", "sku", SOLD), ("booked", "item", BOOKED)):
            lines = [f"{name},{quantity}" for name, quantity in rows]
            (folder / f"{table}.csv").write_text("\n".join([f"{column},qty", *lines, ""]))
            if shop is not None:
                shop.sql(f"create table {table} ({column} varchar(9) primary key, qty integer)")
                shop.sql("select 1", *(f"insert into {table} values ('{n}', {quantity})" for n, quantity in rows))
        if shop is not None:
            shop.sql("create table numbers (sku varchar(9), item varchar(9), note varchar(9))")
        self.list(*INLINE.items())

    def list(self, *pairs: Sequence[str]) -> None:
        """Replace the mapping, in the file and in the database."""
        lines = [f"{sku},{item},by Ann" for sku, item in pairs]
        (self.folder / "numbers.csv").write_text("\n".join(["sku,item,note", *lines, ""]))
        if self.shop is not None:
            rows = (", ".join(f"'{text}'" if text else "null" for text in pair) for pair in pairs)
            self.shop.sql("delete from numbers")
            self.shop.sql("select 1", *(f"insert into numbers values ({row}, 'by Ann')" for row in rows))

    def command(self, rules: Mapping[str, Any], *words: str, in_file: bool = False, **datasets: Any) -> Answer:
        in_shop = self.shop is not None
        sources: dict[str, Any] = {"files": {"type": "files"}}
        if self.shop is not None:
            sources["shop"] = {"type": "sql", "url": self.shop.url}

        def dataset(name: str, *, in_shop: bool, **more: Any) -> dict[str, Any]:
            return {"source": "shop", "table": name, **more} if in_shop else {
                "source": "files", "path": f"{name}.csv", "columns": {} if name == "numbers" else {"qty": "integer"},
                **more,
            }  # fmt: skip

        configuration = {
            "version": 1,
            "state": "sqlite:///state.db",
            "sources": sources,
            "datasets": {
                "sold": dataset("sold", in_shop=in_shop, id="sku"),
                "booked": dataset("booked", in_shop=in_shop, id="item"),
                "numbers": dataset("numbers", in_shop=in_shop and not in_file),
            },
            "rules": dict(rules),
        }
        for name, more in datasets.items():
            configuration["datasets"][name] |= more
        project = Project(self.folder)
        project.write(json.dumps(configuration))
        return project(*words)


def stock(argument: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A rule that compares what was sold with what was booked."""
    key = [{"left": ["sku", "trim", {"map": dict(argument)}], "right": "item"}]
    return {"kind": "reconciliation", "left": "sold", "right": "booked", "key": key, "compare": ["qty"], **more}


def twins(argument: Mapping[str, Any]) -> dict[str, Any]:
    return {"kind": "duplicates", "dataset": "sold", "key": [{"sku": [{"map": dict(argument)}]}]}


def findings(answer: Answer) -> list[Any]:
    """What each finding says, without what differs between rules and runs."""
    names = ("form", "left", "right", "keeper", "surplus", "key", "differences")
    shown = ({name: finding.get(name) for name in names} for finding in answer.json)
    return sorted(shown, key=json.dumps)


@pytest.mark.slow
def test_a_mapping_in_a_dataset_gives_the_findings_of_the_same_mapping_in_yaml(office: Office) -> None:
    mapping = {**INLINE, "PLATE": "70003"}
    office.list(*mapping.items())
    pairs = [(kind(LOOKUP), kind(mapping)) for kind in (stock, twins)]
    for in_file in (False, True):
        for looked_up, inline in pairs:
            rules = {"inline": inline, "looked-up": looked_up}

            report = office.command(rules, "run", "--json", in_file=in_file)

            assert report.code == 0, report.said
            by_rule = [findings(office.command(rules, "findings", "--rule", name, "--json")) for name in rules]
            assert by_rule[0] == by_rule[1] != []


@pytest.mark.slow
def test_values_are_looked_up_here_and_no_statement_shows_them(tmp_path: Path) -> None:
    office = Office(tmp_path, Shop(LOCAL, tmp_path))
    rules = {"stock": stock(LOOKUP), "forced": stock(LOOKUP) | {"engine": "pushdown"}}

    forced = office.command(rules, "run", "--rule", "forced", "--json")
    explained = office.command(rules, "explain", "stock", "--sql", "--json")

    reason = "`map` looks values up in dataset `numbers`, which is read here"
    assert reason in forced.json["rules"][0]["failed"]
    assert (explained.json["engine"], explained.json["reason"]) == ("embedded", reason)
    assert not [value for value in (*INLINE, *INLINE.values()) if value in explained.said]


@pytest.mark.slow
def test_a_value_that_the_dataset_does_not_list_stays(office: Office) -> None:
    rules = {"stock": stock(LOOKUP)}

    office.command(rules, "run", "--json")

    shown = office.command(rules, "findings", "--json").json
    assert sorted((finding["form"], *finding["key"].values()) for finding in shown) == [
        ("left_only", "70003"),
        ("mismatch", "70002"),
        ("right_only", "70009"),
    ]


@pytest.mark.slow
def test_a_mapping_that_cannot_be_read_or_was_emptied_fails_the_rule_and_keeps_its_findings(office: Office) -> None:
    rules = {"stock": stock(LOOKUP), "twins": twins({"MUG-B": "MUG-W"})}
    office.command(rules, "run", "--json")
    before = office.command(rules, "findings", "--rule", "stock", "--json").json
    office.list()
    emptied = office.command(rules, "run", "--json")
    if office.shop is None:
        (office.folder / "numbers.csv").unlink()
    else:
        office.shop.sql("drop table numbers")

    missing = office.command(rules, "run", "--json")

    assert (emptied.code, missing.code) == (3, 3)
    assert emptied.json["rules"][0]["failed"] == (
        "Dataset 'numbers' is empty, but had 3 records in the previous run. Its findings are unchanged; check the "
        "job that fills it. If that is right: `reconcile allow stock`"
    )
    assert emptied.json["rules"][1]["groups"] == 1
    assert "numbers" in missing.json["rules"][0]["failed"]
    assert office.command(rules, "findings", "--rule", "stock", "--json").json == before


@pytest.mark.slow
def test_a_mapping_that_lost_half_of_its_rows_fails_the_rule(tmp_path: Path) -> None:
    office, rules = Office(tmp_path, None), {"stock": stock(LOOKUP)}
    rows = [*INLINE.items(), *((f"S{number}", f"T{number}") for number in range(40))]
    office.list(*rows)
    office.command(rules, "run")
    office.list(*rows[:20])

    halved = office.command(rules, "run", "--json")
    allowed = [office.command(rules, "allow", "stock"), office.command(rules, "run", "--json")]

    assert halved.code == 3
    assert halved.json["rules"][0]["failed"].startswith(
        "Rule 'stock' compared 20 records of dataset 'numbers', usually 43. Its findings are unchanged"
    )
    assert [answer.code for answer in allowed] == [0, 0], [answer.said for answer in allowed]


@pytest.mark.slow
def test_a_value_with_two_meanings_leaves_the_rule_unjudged_and_shows_no_value(office: Office) -> None:
    rules = {"stock": stock(LOOKUP), "twins": twins({"MUG-B": "MUG-W"})}
    office.list(("MUG-B", "70001"), ("MUG-B", "70001"), ("MUG-W", "70002"), ("MUG-W", "70008"))

    report = office.command(rules, "run", "--json")

    assert report.code == 3
    assert report.json["rules"][0]["failed"] == (
        "Rule 'stock' was not checked: in dataset 'numbers', 1 value of `sku` has more than one `item`. Its findings "
        "are unchanged. Correct the dataset, or select its rows with `where`."
    )
    assert report.json["rules"][1]["groups"] == 1


@pytest.mark.slow
def test_rows_without_a_value_are_counted(office: Office) -> None:
    office.list(("MUG-B", "70001"), ("", "70002"), ("BOWL", ""))

    [report] = office.command({"stock": stock(LOOKUP)}, "run", "--json").json["rules"]

    of_mapping = [skipped for skipped in report["skipped"] if skipped.get("dataset") == "numbers"]
    assert [(skipped["column"], skipped["reason"], skipped["records"]) for skipped in of_mapping] == [
        ("sku", "null", 1),
        ("item", "null", 1),
    ]


@pytest.mark.slow
def test_explain_says_what_is_mapped_by_which_dataset(office: Office) -> None:
    told = office.command({"stock": stock(LOOKUP)}, "explain", "stock")

    assert told.code == 0, told.said
    assert "as dataset numbers maps it (sku to item)" in " ".join(told.out.split())
    assert "maps 3 values by dataset numbers" in told.out
    assert "sku: MUG-B → 70001" in told.out
    assert "samples of numbers" not in told.out


@pytest.mark.slow
def test_examples_give_the_mapping_or_leave_it_empty(office: Office) -> None:
    both = {"left": [{"sku": "A", "qty": 1}], "right": [{"item": "1", "qty": 1}]}
    apart = [{"form": "left_only", "left": ["A"]}, {"form": "right_only", "right": ["1"]}]
    examples = [
        {"name": "empty", **both, "expect": apart},
        {"name": "listed", **both, "given": {"numbers": [{"sku": "A", "item": "1"}]}, "expect": []},
    ]

    tested = office.command({"stock": stock(LOOKUP, examples=examples)}, "test")

    assert tested.code == 0, tested.said
    assert tested.out.count("ok ") == 2


@pytest.mark.parametrize(
    ("argument", "code", "sentence"),
    [
        (LOOKUP, 0, "rule stock: fits"),
        (LOOKUP | {"dataset": "number"}, 2, "there is no dataset `number`; did you mean `numbers`?"),
        (LOOKUP | {"dataset": "booked"}, 2, "`map` looks values up in `booked`, which the rule compares; give the"),
        (
            LOOKUP | {"to": "itm"},
            2,
            "`key` names `itm`, but dataset `numbers` has no such column; did you mean `item`?",
        ),
        ({"dataset": "numbers", "from": "sku"}, 2, "`map` looks values up in a dataset, like"),
        (LOOKUP | {"form": "x"}, 2, "`form` is not known here; did you mean `from`?"),
        (LOOKUP | {"to": ["item"]}, 2, "`map` takes a dataset and two of its columns"),
    ],
)
@pytest.mark.slow
def test_check_says_what_is_wrong_with_a_lookup(
    argument: dict[str, Any], code: int, sentence: str, tmp_path: Path
) -> None:
    answer = Office(tmp_path, None).command({"stock": stock(argument)}, "check")

    assert (answer.code, "Traceback" in answer.said) == (code, False), answer.said
    assert sentence in " ".join(answer.said.split())


def test_an_unknown_dataset_or_column_of_a_lookup_is_told_at_its_line(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("id,email\n1,a\n")
    (tmp_path / "aliases.csv").write_text("alias,email\nb,a\n")
    text = (
        "version: 1\nsources: {f: {type: files}}\ndatasets:\n  people: {source: f, path: people.csv, id: id}\n"
        "  aliases: {source: f, path: aliases.csv}\nrules:\n  twins:\n    kind: duplicates\n    dataset: people\n"
        "    key:\n      - email: [{map: {dataset: aliases, from: alias, to: email}}]\n"
    )
    project = Project(tmp_path)

    of_dataset = project.write(text.replace("{dataset: aliases", "{dataset: alias"))("check").said
    of_column = project.write(text.replace("to: email", "to: emial"))("check").said

    assert "reconcile.yaml:11:33: there is no dataset `alias`; did you mean `aliases`?" in of_dataset
    assert "reconcile.yaml:10:5" in of_column
    assert "`key` names `emial`, but dataset `aliases` has no such column; did you mean `email`?" in of_column


@pytest.mark.slow
@pytest.mark.parametrize("column", ["sku", "item"])
def test_a_masked_column_of_the_mapping_is_masked_where_its_values_would_show(column: str, tmp_path: Path) -> None:
    office, rules = Office(tmp_path, None), {"stock": stock(LOOKUP)}

    refused = office.command(rules, "check", numbers={"pii": [column]})
    masked = {"numbers": {"pii": [column]}, "sold": {"pii": ["sku"]}, "booked": {"pii": ["item"]}}
    run = office.command(rules, "run", **masked)
    shown = [office.command(rules, *words, **masked).said for words in (("findings",), ("explain", "stock"))]

    assert refused.code == 2
    assert (
        f"`{column}` of dataset `numbers` is personal data (`pii`), but `sku` of dataset `sold`, whose values `map` "
        "looks up in it, is shown; add `pii: [sku]` to dataset `sold`"
    ) in " ".join(refused.said.split())
    assert run.code == 0, run.said
    assert not [value for value in (*INLINE, *INLINE.values()) for text in (run.said, *shown) if value in text]


# Values and types


def compared(
    left: Sequence[Value], right: Sequence[Value], kinds: tuple[Type, Type], numbers: Rows, *, steps: str = ""
) -> Detection:
    """Match values of two datasets, mapped by `numbers`; the ids are the positions."""
    over = rule(f"key: [{{left: [ref, {steps}{{map: {{dataset: numbers, from: a, to: b}}}}], right: ref}}]")
    sides = [
        Rows({"id": Type.INTEGER, "ref": kind}, [{"id": number, "ref": value} for number, value in enumerate(values)])
        for kind, values in zip(kinds, (left, right), strict=True)
    ]
    datasets = {"bank": sides[0], "ledger": sides[1], "numbers": numbers}
    relations = {name: replace(rows.relation(), dataset=name) for name, rows in datasets.items()}
    fitted = Reconciliation().fit(over, relations)
    return fitted.detect({name: rows.streamed() for name, rows in datasets.items()}, SLOT)


def table(source: Type, target: Type, *pairs: tuple[Value, Value], **more: Any) -> Rows:
    return Rows({"a": source, "b": target}, [{"a": first, "b": second} for first, second in pairs], (), **more)


def alone(detection: Detection) -> list[tuple[str, str | None]]:
    groups = [group for group in detection.groups if isinstance(group, Discrepancy)]
    return sorted((group.form, group.reason) for group in groups)


@pytest.mark.parametrize(
    ("left", "right", "kinds", "numbers"),
    [
        (["a"], ["x"], (Type.TEXT, Type.TEXT), table(Type.TEXT, Type.TEXT, ("a", "x"))),
        ([1, 2], [10, 20], (Type.INTEGER, Type.INTEGER), table(Type.INTEGER, Type.INTEGER, (1, 10), (2, 20))),
        ([1], [Decimal("0.5")], (Type.INTEGER, Type.DECIMAL), table(Type.DECIMAL, Type.DECIMAL, (ONE, HALF))),
        (["a"], [7], (Type.TEXT, Type.INTEGER), table(Type.TEXT, Type.INTEGER, ("a", 7))),
        ([7], ["a"], (Type.INTEGER, Type.TEXT), table(Type.INTEGER, Type.TEXT, (7, "a"))),
        ([5], [5], (Type.INTEGER, Type.INTEGER), table(Type.INTEGER, Type.DECIMAL, (7, Decimal("7.50")))),
        (["a"], ["x"], (Type.TEXT, Type.TEXT), table(Type.TEXT, Type.TEXT, ("a", "x"), ("a", "y"), where="b = 'x'")),
        (["ä b"], ["ö"], (Type.TEXT, Type.TEXT), table(Type.TEXT, Type.TEXT, ("ä b", "ö"))),
    ],
)  # fmt: skip
def test_values_are_looked_up_by_their_type(
    left: list[Value], right: list[Value], kinds: tuple[Type, Type], numbers: Rows
) -> None:
    assert alone(compared(left, right, kinds, numbers)) == []


def test_earlier_normalisers_apply_to_the_record_and_a_derived_column_to_the_dataset() -> None:
    rows = [{"written": "AB", "b": "x"}]
    numbers = Rows({"written": Type.TEXT, "b": Type.TEXT}, rows, (), derived={"a": "lower(written)"})

    detection = compared([" ab "], ["x"], (Type.TEXT, Type.TEXT), numbers, steps="trim, lower, ")

    assert alone(detection) == []


def test_an_empty_value_in_the_dataset_empties_the_value_and_an_unlisted_one_of_another_type_too() -> None:
    emptied = compared(["a"], [], (Type.TEXT, Type.TEXT), table(Type.TEXT, Type.TEXT, ("a", None)))
    unlisted = compared(["b"], [], (Type.TEXT, Type.INTEGER), table(Type.TEXT, Type.INTEGER, ("a", 7)))

    assert alone(emptied) == alone(unlisted) == [("left_only", "no key")]


def test_a_column_of_another_type_than_the_value_is_a_mistake() -> None:
    with pytest.raises(DoesNotFit, match="`a` of dataset `numbers` is of type integer, but the value is of type text"):
        compared(["a"], ["x"], (Type.TEXT, Type.TEXT), table(Type.INTEGER, Type.TEXT, (1, "x")))


def test_equal_numbers_are_one_meaning_and_others_are_counted() -> None:
    same = table(Type.TEXT, Type.DECIMAL, ("a", Decimal("1.0")), ("a", Decimal("1.00")))
    two = table(Type.TEXT, Type.TEXT, ("a", "x"), ("a", "y"), ("b", "x"), ("b", None), ("c", "x"))

    assert alone(compared(["a"], [Decimal(1)], (Type.TEXT, Type.DECIMAL), same)) == []
    with pytest.raises(ContradictoryMapping, match="2 values of `a` have more than one `b`"):
        compared(["a"], ["x"], (Type.TEXT, Type.TEXT), two)


def test_a_mapping_beyond_the_bound_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped, "MOST", 1)

    with pytest.raises(MappingTooLarge, match="more than 1 values"):
        compared(["a"], [], (Type.TEXT, Type.TEXT), table(Type.TEXT, Type.TEXT, ("a", "x"), ("b", "x")))


TEXTS = st.sampled_from(("a", "B", "ä", "c ", " ", "x"))


@pytest.mark.slow
@settings(max_examples=examples(40), deadline=None)
@given(
    values=st.lists(st.none() | TEXTS, min_size=1, max_size=7),
    mapping=st.dictionaries(TEXTS.filter(str.strip), st.none() | TEXTS, min_size=1, max_size=5),
    steps=st.lists(st.sampled_from(("trim", "lower", "unaccent")), max_size=2, unique=True),
)
def test_any_mapping_in_a_dataset_gives_the_groups_of_the_same_mapping_in_yaml(
    values: list[str | None], mapping: dict[str, str | None], steps: list[str]
) -> None:
    people = Rows({"id": Type.INTEGER, "name": Type.TEXT}, [{"id": n, "name": v} for n, v in enumerate(values)])
    numbers = table(Type.TEXT, Type.TEXT, *mapping.items())

    def detected(argument: Mapping[str, Any], **datasets: Rows) -> Detection:
        key = [{"name": [*steps, {"map": dict(argument)}]}]
        over = DuplicatesRule.model_validate({"name": "twins", "dataset": "people", "key": key})
        relations = {name: replace(rows.relation(), dataset=name) for name, rows in datasets.items()}
        fitted = Duplicates().fit(over, relations)
        return fitted.detect({name: rows.streamed() for name, rows in datasets.items()}, SLOT)

    inline = detected(mapping, people=people)
    looked_up = detected({"dataset": "numbers", "from": "a", "to": "b"}, people=people, numbers=numbers)

    assert list(looked_up.groups) == list(inline.groups)
    assert [entry for entry in looked_up.skipped if entry.dataset is None] == list(inline.skipped)
    assert looked_up.mapped == {"numbers": len(mapping)}


# Cleaning


@pytest.fixture
def world(tmp_path: Path) -> World:
    aliases = {"source": "shop", "table": "aliases", "id": "alias"}
    rows = ((1, "a@x", "Ann"), (2, "b@x", "Anna"), (3, "c@x", "Bob"), (4, "d@x", "C"), (5, "d@x", "D"))
    key = [{"email": [{"map": {"dataset": "aliases", "from": "alias", "to": "email"}}]}]
    config = {"datasets": {"customers": CUSTOMERS, "aliases": aliases}}
    world = World.at(tmp_path / "w", *rows, config=config, twins=DELETE | {"key": key})
    world.shop.sql("create table aliases (alias varchar(9) primary key, email varchar(9))")
    world.shop.sql("insert into aliases values ('b@x', 'a@x'), ('z@x', 'y@x')")
    return world


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("update aliases set email = 'b@x' where alias = 'b@x'", "Its records changed since it was found"),
        ("delete from aliases where alias = 'b@x'", "Its records changed since it was found"),
        ("delete from aliases", "Dataset 'aliases' is empty, but had 2 records in the previous run"),
    ],
    ids=["another meaning", "one less", "emptied"],
)
def test_a_mapping_that_changed_after_the_plan_is_asked_again(world: World, change: str, sentence: str) -> None:
    world.run()
    world.shop.sql(change)

    answers = [world.command("approve", name) for name in world.findings()]

    assert world.shop.ids()[:3] == [1, 2, 3]
    assert any(sentence in " ".join(answer.said.split()) for answer in answers), [each.said for each in answers]


@pytest.mark.slow
def test_a_plan_is_executed_while_the_mapping_does_not_concern_it(world: World) -> None:
    world.run()
    world.shop.sql("insert into aliases values ('q@x', 'c@x')")

    answers = [world.command("approve", name) for name in world.findings()]

    assert [answer.code for answer in answers] == [0, 0], [answer.said for answer in answers]
    assert world.shop.ids() == [1, 3, 4]


@pytest.mark.slow
def test_a_plan_waits_while_the_mapping_cannot_be_read(world: World) -> None:
    world.run()
    world.shop.sql("drop table aliases")

    answers = [world.command("approve", name) for name in world.findings()]

    assert all(answer.code != 0 and "aliases" in answer.said for answer in answers)
    assert not any("Traceback" in answer.said for answer in answers)
    assert world.shop.ids() == [1, 2, 3, 4, 5]
