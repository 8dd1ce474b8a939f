"""One side of a comparison is cleaned: by plans without a keeper, on evidence of both sides, once, and undone."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from reconcile import points
from tests.support.sides import CANCEL, PAY, Sides, Table, unchanged
from tests.support.world import Killed, bury

pytestmark = [pytest.mark.server, pytest.mark.slow]

PLACES = [("sqlite", "csv"), ("sqlite", "postgres"), ("postgres", "mariadb"), ("mariadb", "csv")]


ENOUGH = (PLACES[0], PLACES[2])
"""For what is decided before anything is sent: SQLite and an export, and both servers."""


def place(request: pytest.FixtureRequest, kind: str, folder: Path) -> str:
    if kind == "csv":
        return kind
    return f"sqlite:///{folder}/shop.db" if kind == "sqlite" else str(request.getfixturevalue(f"{kind}_url"))


def sides(request: pytest.FixtureRequest, folder: Path, left: str, right: str, **rule: object) -> Sides:
    return Sides.at(folder, place(request, left, folder), place(request, right, folder), **rule)


@pytest.fixture(params=PLACES, ids=" and ".join)
def cancelling(request: pytest.FixtureRequest, tmp_path: Path) -> Sides:
    """Invoices that nobody paid are cancelled."""
    return sides(request, tmp_path, *request.param, where={"left": "status = 'open'"}, clean=CANCEL)


@pytest.fixture(params=PLACES, ids=" and ".join)
def paying(request: pytest.FixtureRequest, tmp_path: Path) -> Sides:
    """Open invoices with a payment are marked as paid."""
    return sides(request, tmp_path, *request.param, compare=["status"], clean=PAY)


def test_an_approved_plan_cleans_the_named_side_once_and_is_undone(cancelling: Sides) -> None:
    assert cancelling.cleaning() == {"proposed": 2}
    finding = cancelling.of_record("I-2")

    shown = cancelling.decide("plan", "--finding", finding)
    approved = cancelling.decide("approve", finding)
    again = cancelling.decide("approve", finding)

    assert "status" in shown.out
    assert "cancelled" in shown.out
    assert "keeper" not in shown.out
    assert approved.out.startswith(f"{finding} is cleaned: 1 record marked, 1 row changed."), approved.said
    assert again.code == 4
    assert cancelling.invoices.status == {"I-1": "open", "I-2": "cancelled", "I-3": "open"}
    assert cancelling.invoices.receipts == 1
    assert cancelling.payments.status == {"1": "paid", "9": "paid"}

    cancelling.run()
    assert cancelling.invoices.status["I-2"] == "cancelled"
    assert cancelling.state(finding) == "cleaned"

    undone = cancelling.decide("undo", finding)

    assert undone.code == 0, undone.said
    assert cancelling.invoices.status == {"I-1": "open", "I-2": "open", "I-3": "open"}
    cancelling.run()
    assert cancelling.state(finding) == "undone"
    assert cancelling.command.audit_is_intact()


def test_a_partner_that_arrives_after_the_approval_stops_the_plan(cancelling: Sides) -> None:
    cancelling.run()
    finding = cancelling.of_record("I-2")
    cancelling.decide("approve", finding, "--later")
    cancelling.payments.add(("2", "INV-2", "50.00", "paid"))

    with unchanged(cancelling.invoices):
        answer = cancelling.decide("retry", finding)

    assert "It is no longer missing in payments: a record arrived or changed since it was found." in answer.said
    assert cancelling.state(finding) == "stale"
    cancelling.run()
    assert cancelling.state(finding) == "resolved"
    assert cancelling.invoices.status["I-2"] == "open"


def test_a_mismatch_is_corrected_only_in_what_the_action_sets(paying: Sides) -> None:
    paying.payments.add(("2", "INV-2", "49.00", "paid"))
    paying.rule["approval"] = "none"
    paying.run()

    cleaning = paying.cleaning()

    assert cleaning == {"cleaned": 1}
    assert paying.invoices.status == {"I-1": "paid", "I-2": "open", "I-3": "open"}
    part = paying.decide("plan", "--finding", paying.of_record("I-2"))
    assert "It also differs in `amount`, which `clean` does not correct." in part.said
    paying.run()
    assert paying.invoices.receipts == 1


@pytest.mark.parametrize("paying", ENOUGH, ids=" and ".join, indirect=True)
def test_a_partner_that_changes_after_the_approval_stops_the_plan(paying: Sides) -> None:
    paying.run()
    finding = paying.of_record("I-1")
    paying.decide("approve", finding, "--later")
    paying.payments.set("1", status="refunded")

    with unchanged(paying.invoices):
        answer = paying.decide("retry", finding)

    assert "skipped: records that it relies on changed since it was planned." in answer.said
    assert paying.state(finding) == "stale"


@pytest.mark.parametrize("cancelling", ENOUGH, ids=" and ".join, indirect=True)
def test_a_record_that_changes_after_the_plan_stops_the_plan(cancelling: Sides) -> None:
    cancelling.run()
    finding = cancelling.of_record("I-2")
    cancelling.invoices.set("I-2", amount="51.00")

    with unchanged(cancelling.invoices):
        answer = cancelling.decide("approve", finding)

    assert answer.code == 4
    assert cancelling.state(finding) == "stale"


@pytest.mark.parametrize("cancelling", ENOUGH, ids=" and ".join, indirect=True)
def test_runs_without_approval_clean_once(cancelling: Sides) -> None:
    cancelling.rule["approval"] = "none"
    first, second = cancelling.cleaning(), cancelling.cleaning()

    with unchanged(cancelling.invoices):
        third = cancelling.cleaning()

    assert "next_run" in first
    assert second == {"cleaned": 2}
    assert third == {}
    assert cancelling.invoices.status == {"I-1": "open", "I-2": "cancelled", "I-3": "cancelled"}
    assert cancelling.invoices.receipts == 2


# One pair of systems is enough for the rest


@pytest.fixture
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Sides:
    return sides(request, tmp_path, "sqlite", "csv", where={"left": "status = 'open'"}, clean=CANCEL)


def test_a_dismissed_finding_is_not_cleaned(shop: Sides) -> None:
    shop.run()
    finding = shop.of_record("I-2")
    shop.decide("approve", finding, "--later")
    shop.decide("dismiss", finding)

    shop.run()
    answer = shop.decide("approve", finding)

    assert answer.code == 4
    assert shop.state(finding) == "dismissed"
    assert shop.invoices.status["I-2"] == "open"


@contextmanager
def killed_at(shop: Sides, label: str) -> Iterator[None]:
    """The process ends where the code reaches this point."""

    def die(reached: str) -> None:
        if reached == label:
            raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(points, "armed", die)
        with pytest.raises(Killed):
            yield
    bury(shop.folder)


@pytest.mark.parametrize(
    "label",
    ["store.sent.committed", "target.received", "target.before_commit", "target.committed", "store.done.before_commit"],
)
def test_a_killed_process_leaves_a_plan_that_the_next_run_ends_once(shop: Sides, label: str) -> None:
    shop.run()
    finding = shop.of_record("I-2")
    with killed_at(shop, label):
        shop.decide("approve", finding)

    shop.run()
    shop.run()

    assert shop.state(finding) == "cleaned"
    assert shop.invoices.status == {"I-1": "open", "I-2": "cancelled", "I-3": "open"}
    assert shop.invoices.receipts == 1
    assert shop.command.audit_is_intact()


def test_a_partner_that_arrives_while_a_killed_plan_waits_stops_it(shop: Sides) -> None:
    shop.run()
    finding = shop.of_record("I-2")
    with killed_at(shop, "target.before_commit"):
        shop.decide("approve", finding)
    shop.payments.add(("2", "INV-2", "50.00", "paid"))

    with unchanged(shop.invoices):
        shop.run()
        shop.run()

    assert shop.state(finding) == "resolved"


def test_an_approved_plan_waits_while_the_other_side_cannot_be_read(shop: Sides) -> None:
    shop.run()
    finding = shop.of_record("I-2")
    shop.decide("approve", finding, "--later")
    hidden = shop.folder / "payments.away"
    (shop.folder / "payments.csv").rename(hidden)

    with unchanged(shop.invoices):
        answer = shop.decide("retry", finding)

    assert f"{finding} is approved and waits:" in answer.said
    assert "payments.csv" in answer.said
    hidden.rename(shop.folder / "payments.csv")
    assert shop.decide("retry", finding).code == 0
    assert shop.invoices.status["I-2"] == "cancelled"


@pytest.mark.parametrize("decision", ["dismiss", "handle"])
def test_of_a_record_that_a_person_decided_about_nothing_is_cleaned_without_asking(shop: Sides, decision: str) -> None:
    """The decision was about other values, or about a discrepancy of another form: a person decides again."""
    clean = {"dataset": "invoices", "forms": ["mismatch", "left_only"], "action": "set", "values": {"status": "paid"}}
    shop.payments.add(("2", "INV-2", "50.00", "paid"), ("3", "INV-3", "70.00", "paid"))
    shop.rule |= {"where": {}, "compare": ["status"], "clean": clean, "approval": "none", "report": clean["forms"]}
    shop.run()
    for record in ("I-1", "I-2"):
        assert shop.decide(decision, shop.of_record(record)).code == 0
    shop.payments.set("1", status="refunded")
    shop.payments.remove("2")
    dry = shop.write().command("run", "--dry-run", "--json").json["rules"][0]["cleaning"]

    cleaning = shop.cleaning()

    assert (dry["would_clean"], dry["would_propose"]) == (1, 2)
    assert cleaning == {"cleaned": 1, "proposed": 2}
    assert shop.invoices.status == {"I-1": "open", "I-2": "open", "I-3": "paid"}
    states = {finding["state"] for finding in shop.command("findings", "--json").json}
    assert states == {"awaiting_approval"}
    shop.run()
    assert shop.invoices.status == {"I-1": "open", "I-2": "open", "I-3": "paid"}


def test_the_right_side_is_cleaned_in_its_own_database(tmp_path: Path, postgres_url: str, mariadb_url: str) -> None:
    clean = {"dataset": "payments", "forms": ["right_only"], "action": "set", "values": {"status": "unknown"}}
    both = Sides.at(tmp_path, postgres_url, mariadb_url, where={"right": "status = 'paid'"}, clean=clean)
    assert isinstance(both.payments, Table)
    both.run()
    finding = both.of_record("'9'")

    approved = both.decide("approve", finding)

    assert approved.code == 0, approved.said
    assert both.payments.status == {"1": "paid", "9": "unknown"}
    assert both.invoices.status == {"I-1": "open", "I-2": "open", "I-3": "open"}
    assert both.decide("undo", finding).code == 0
    assert both.payments.status == {"1": "paid", "9": "paid"}


@pytest.mark.parametrize("kind", ["sqlite", "postgres", "mariadb"])
def test_records_without_a_partner_are_deleted_unless_others_refer_to_them(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str
) -> None:
    clean = {"dataset": "invoices", "forms": ["left_only"], "action": "delete"}
    shop = sides(request, tmp_path, kind, "csv", clean=clean)
    shop.invoices.sql(
        "create table items (id integer primary key, invoice varchar(20) not null, "
        "foreign key (invoice) references invoices (id))",
        "insert into items values (1, 'I-2')",
    )
    shop.run(code=None)

    blocked = shop.decide("approve", shop.of_record("I-2"))
    finding = shop.of_record("I-3")
    deleted = shop.decide("approve", finding)

    assert "1 row of `items` refers to its records; with `references: capture` they would be deleted" in blocked.said
    assert "keeper" not in blocked.said
    assert deleted.code == 0, deleted.said
    assert shop.invoices.status == {"I-1": "open", "I-2": "open"}
    assert shop.decide("undo", finding).code == 0
    assert shop.invoices.status == {"I-1": "open", "I-2": "open", "I-3": "open"}


def test_records_without_a_partner_are_moved_to_another_table(shop: Sides) -> None:
    shop.rule["clean"] = {"dataset": "invoices", "forms": ["left_only"], "action": "move", "to": "unpaid"}
    shop.invoices.sql(
        "create table unpaid (id varchar(20) primary key, number varchar(40), amount decimal(12, 2), "
        "status varchar(20))"
    )
    shop.run()

    answer = shop.decide("approve", shop.of_record("I-2"))

    assert answer.code == 0, answer.said
    assert shop.invoices.status == {"I-1": "open", "I-3": "open"}


def test_limits_count_the_records_of_the_cleaned_dataset(shop: Sides) -> None:
    """Of 3 open invoices 1 % is 1; with the many payments it would be 2."""
    shop.payments.add(*((str(number), f"P-{number}", "1.00", "paid") for number in range(100, 250)))
    shop.rule |= {"approval": "none", "limits": {"share": "1%", "records": 100, "group": 5}, "report": ["left_only"]}
    shop.run()

    with unchanged(shop.invoices):
        cleaning = shop.cleaning(code=4)

    assert "the limit is 1 (`share`)" in cleaning["stopped"]


def test_an_export_that_lost_half_of_its_rows_stops_the_cleaning(shop: Sides) -> None:
    shop.payments.add(*((f"{number}", f"P-{number}", "1.00", "paid") for number in range(100, 160)))
    shop.rule |= {"approval": "none", "report": ["left_only"]}
    shop.run()
    shop.run()
    for number in range(100, 140):
        shop.payments.remove(str(number))

    with unchanged(shop.invoices):
        rule = shop.run(3)

    assert "compared 22 records of dataset 'payments', usually 62. Its findings are unchanged" in rule["failed"]


def test_check_and_explain_say_what_is_cleaned(shop: Sides) -> None:
    shop.write()

    checked, explained = shop.command("check"), shop.command("explain", "unpaid")

    assert "it cleans `left_only` findings in invoices by set" in checked.said
    assert "sets `status` of the left only records of invoices" in explained.said
    assert "record 9" in explained.said


def test_explain_says_which_side_could_be_cleaned(shop: Sides) -> None:
    del shop.rule["clean"]
    shop.write()

    explained = " ".join(shop.command("explain", "unpaid").out.split())

    assert "with `clean`, records of invoices: left_only, mismatch, duplicate_left, duplicate_right" in explained
    assert "with `clean`, records of payments: right_only" in explained


def test_two_people_approve_a_plan_without_a_keeper(shop: Sides) -> None:
    shop.rule["approval"] = "two_person"
    shop.run()
    finding = shop.of_record("I-2")

    with unchanged(shop.invoices):
        shop.decide("approve", finding)
    shop.decide("approve", finding, RECONCILE_ACTOR="ben")

    assert shop.invoices.status["I-2"] == "cancelled"


@pytest.mark.parametrize(("records", "asked"), [(1, "required"), (2, "none")])
def test_an_approval_by_the_number_of_records_counts_those_that_are_cleaned(
    shop: Sides, records: int, asked: str
) -> None:
    shop.rule["approval"] = {"when": f"records < {records}", "then": "none", "else": "required"}
    shop.run()

    plans = shop.command("plan", "--json").json

    assert {plan["approval"] for plan in plans if plan["plan_hash"]} == {asked}
    assert {plan["keeper"] for plan in plans if plan["plan_hash"]} == {None}


def test_rows_that_the_other_database_hides_are_no_reason_to_clean(tmp_path: Path, postgres_url: str) -> None:
    """The clerk sees one payment of two, so that a paid invoice looks unpaid."""
    shop = Sides.at(tmp_path, f"sqlite:///{tmp_path}/shop.db", postgres_url, clean=CANCEL)
    assert isinstance(shop.payments, Table)
    shop.payments.add(("2", "INV-2", "50.00", "paid"))
    shop.payments.sql(
        "drop role if exists reconcile_teller",
        "create role reconcile_teller login",
        "grant select on payments to reconcile_teller",
        "alter table payments enable row level security",
        "create policy own on payments for select to reconcile_teller using (id = '1')",
    )
    try:
        shop.payments.url = sa.make_url(postgres_url).set(username="reconcile_teller").render_as_string()
        run = shop.run(code=None)
        checked = shop.command("check")
    finally:
        shop.payments.sql("drop owned by reconcile_teller", "drop role reconcile_teller")

    sentence = "Not all records of dataset `payments` can be seen: row-level security may hide some of its rows"
    assert any(sentence in reason for reason in run["cleaning"]["not_planned"])
    assert sentence in checked.said
    assert run["cleaning"]["proposed"] == 0
