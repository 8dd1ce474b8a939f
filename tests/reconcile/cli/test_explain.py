"""`explain` says in words what a rule means, shows how records are compared, and counts what it leaves out."""

import datetime as dt
from pathlib import Path

import pytest

from rules.expressions.words import condition_in_words, duration_in_words, group_in_words
from rules.models import Step
from rules.normalise import NORMALISERS
from rules.normalise.words import in_words
from tests.support.cli import Project

pytestmark = pytest.mark.slow

PEOPLE = """\
id,email,name,amount,joined,status
1,Ann.B+news@Gmail.com,Ann,12.50,01.03.2026,active
2,annb@gmail.com,Ann B,12.50,02.03.2026,active
3,,Ben,5.00,02.03.2026,active
4,not an address,Cem,x,02.03.2026,active
5,dia@example.com,Dia,1.00,02.03.2026,void
"""
RULES = """\
version: 1
sources: {lists: {type: files, root: .}}
datasets:
  people:
    source: lists
    path: people.csv
    id: id
    pii: [name]
    columns: {amount: decimal, joined: "date %d.%m.%Y"}
rules:
  twin:
    kind: duplicates
    dataset: people
    where: status <> 'void'
    key: [{email: [mailbox]}]
    window: {joined: 3d}
    keep: [most_complete, {prefer: {status: [active, invited]}}, {last: joined}]
    having: sum(amount) > 10
    severity: high
  named: {kind: duplicates, dataset: people, key: [{name: [lower]}]}
"""


@pytest.fixture
def people(tmp_path: Path) -> Project:
    (tmp_path / "people.csv").write_text(PEOPLE)
    return Project(tmp_path).write(RULES)


def sections(text: str) -> dict[str, list[str]]:
    """The sentences below each heading."""
    below: dict[str, list[str]] = {}
    for line in filter(None, text.splitlines()):
        if not line.startswith(" "):
            heading = line
            below[heading] = []
        elif line.startswith("    ") and not heading.startswith("samples"):
            below[heading][-1] += f" {line.strip()}"
        else:
            below[heading].append(line.strip())
    return below


def test_a_rule_is_explained_in_words(people: Project) -> None:
    done = people("explain", "twin")

    assert done.code == 0
    answer = sections(done.out)
    assert "twin  duplicates in people, severity high" in answer
    assert answer["compares"] == ["email: as a mailbox: its e-mail address without +tag, for Gmail also without dots"]
    assert answer["takes part"] == [
        "records where status is not 'void' (`where` of the rule)",
        "except records in which email or joined is empty",
    ]
    assert answer["groups"] == [
        "two or more records that are equal in email",
        "of these, records whose joined is at most 3 days after the first one",
        "only groups where the sum of amount is more than 10",
    ]
    assert answer["keeps"][0].split(", then ") == [
        "the record with the fewest empty columns",
        "the record whose status is 'active', else 'invited'",
        "the record with the latest joined",
        "the one with the smallest id",
    ]
    assert answer["cleans"] == ["nothing: the rule has no `clean`"]
    assert answer["runs"] == ["embedded (DuckDB, in this process): source 'lists' cannot run queries"]


def test_what_is_left_out_is_counted_by_reason(people: Project) -> None:
    answer = sections(people("explain", "twin").out)

    assert answer["finds now"] == [
        "1 group with 2 records, of 5 read",
        "1 record is outside `where`",
        "1 record skipped: email is null",
        "1 record skipped: email is empty after normalising",
        (
            "amount of 1 record treated as empty: not a decimal with at most 26 digits before the mark and 12 after "
            "it, first at people.csv:5"
        ),
    ]


def test_samples_show_values_before_and_after_normalising(people: Project) -> None:
    answer = sections(people("explain", "twin").out)

    assert answer["samples of people"] == [
        "record 1",
        "email: Ann.B+news@Gmail.com → annb@gmail.com",
        "record 2",
        "email: annb@gmail.com",
    ]


def test_samples_hide_personal_data_unless_it_is_asked_for(people: Project) -> None:
    hidden, shown = people("explain", "named"), people("explain", "named", "--show")

    assert "Ann" not in hidden.out
    assert "name: •••" in hidden.out
    assert "use --show to see it" in hidden.err
    assert "name: Ann B → ann b" in shown.out
    assert "Ann" not in people("explain", "named", "--json").out


def test_the_records_of_each_dataset_are_masked_as_its_own_settings_say(people: Project) -> None:
    """Only the ids of `guests` are personal: those of `people` are shown, whichever dataset is the rule's first."""
    (people.folder / "guests.csv").write_text("id,email\ng-17,annb@gmail.com\ng-18,x@example.com\n")
    guests = "  guests: {source: lists, path: guests.csv, id: id, pii: [id]}\nrules:\n"
    both = "  both: {kind: duplicates, datasets: [%s], key: [{email: [mailbox]}], severity: low}\n"
    for order in ("guests, people", "people, guests"):
        people.write(RULES.replace("rules:\n", guests) + both % order)
        shown = people("explain", "both").out

        assert "record 1\n" in shown
        assert "g-17" not in shown


def test_no_line_is_wider_than_a_terminal(people: Project) -> None:
    (people.folder / "people.csv").write_text(PEOPLE.replace("Ann.B", f"{'a' * 300}"))

    done = people("explain", "twin")

    assert max(map(len, done.out.splitlines())) <= 80


def test_the_json_holds_the_same(people: Project) -> None:
    answer = people("explain", "twin", "--json").json

    assert answer["words"]["groups"][0] == "two or more records that are equal in email"
    assert answer["records"] == {"read": 5, "outside": 1, "scanned": 4}
    assert [(entry["column"], entry["reason"], entry["records"]) for entry in answer["skipped"]][:2] == [
        ("email", "null", 1),
        ("email", "empty after normalising", 1),
    ]
    assert answer["groups"] == 1
    assert answer["samples"][0] == {
        "dataset": "people",
        "record": ["1"],
        "compared": [{"column": "email", "before": "Ann.B+news@Gmail.com", "after": "annb@gmail.com"}],
    }


def test_the_sql_needs_no_records(people: Project) -> None:
    (people.folder / "people.csv").write_text(PEOPLE + '6,"open\n')

    words, sql = people("explain", "twin"), people("explain", "twin", "--sql")

    assert words.code == 3
    assert "people.csv:7" in words.err
    assert sql.code == 0
    assert "SELECT" in sql.out


def test_explaining_writes_nothing(people: Project) -> None:
    people("explain", "twin")

    assert not (people.folder / "reconcile.db").exists()


def test_a_cleaning_is_explained_with_its_approval_and_limits(tmp_path: Path) -> None:
    demo = Project(tmp_path)
    demo("demo", "--in", "night")

    answer = sections(Project(tmp_path / "night")("explain", "twin-customer").out)

    assert answer["cleans"] == [
        "copies better values of `name` and `phone` to the keeper, then sets `merged_into` of the surplus records",
        "rows that refer to the surplus refer to the keeper afterwards",
        "after a person approved the exact plan",
        "at most 100 rows, 1 % of the records, and groups of 5 records, per run and in 24 hours",
    ]
    assert answer["takes part"][0] == "records where merged_into is empty (`where` of dataset customers)"
    assert answer["keeps"] == ["the record with the smallest id"]


# Words


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("status = 'paid'", "status is 'paid'"),
        ("not status = 'paid'", "status is not 'paid'"),
        ('"Order No" is not null', '"Order No" is not empty'),
        ("amount between 1 and 5", "amount is at least 1 and amount is at most 5"),
        ("a = 1 or b in (1, 2) and c = true", "a is 1 or (b is 1 or 2 and c is true)"),
        ("not (a = 1 or b = 2)", "not (a is 1 or b is 2)"),
        ("name like 'INV-%'", "name begins with 'INV-'"),
        ("name not like '%x%'", "name does not contain 'x'"),
        ("name like 'a_%'", "name matches the pattern 'a_%'"),
        ("charged_at > slot() - 90d", "charged_at is less than 90 days before the run's due time"),
        ("charged_at <= slot()", "charged_at is at or before the run's due time"),
        ("booked >= '2026-01-31'", "booked is at or after '2026-01-31'"),
        ("(net + fee) * 2 >= -abs(gross)", "(net + fee) * 2 is at least -abs(gross)"),
    ],
)
def test_a_condition_in_words(written: str, words: str) -> None:
    assert condition_in_words(written) == words


def test_a_condition_on_a_group_in_words() -> None:
    written = "records > 2 and count_distinct(vendor) = 2 or max(amount) < 5"

    assert group_in_words(written) == (
        "(the number of records is more than 2 and the number of different values of vendor is 2) "
        "or the largest amount is less than 5"
    )


def test_a_duration_is_said_in_its_largest_whole_unit() -> None:
    lengths = [dt.timedelta(minutes=90), dt.timedelta(days=1), dt.timedelta(milliseconds=2)]

    assert list(map(duration_in_words, lengths)) == ["90 minutes", "1 day", "2,000 microseconds"]


def test_every_normaliser_has_words_and_they_say_its_argument() -> None:
    steps = [Step(name="prefix", argument=3), Step(name="regex", argument=["-.*", "x"]), Step(name="lower")]

    assert [name for name, normaliser in NORMALISERS.items() if not normaliser.words] == []
    assert in_words(steps) == "its first 3 characters, with each match of `-.*` replaced by `x`, in lower case"
