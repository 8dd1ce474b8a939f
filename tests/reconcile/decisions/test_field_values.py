"""A person takes single values of a merged record from records of their choice: planned, approved, cleaned, undone."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reconcile.audit import log
from reconcile.audit.proof import prove
from reconcile.decisions import keeper_choice
from reconcile.decisions.refusals import (
    ChoseKeeper,
    FieldNotChosen,
    FieldsTogether,
    FindingChanged,
    KeeperFixed,
    PlanNotNamed,
    RecordsChanged,
    RecordUnknown,
)
from reconcile.decisions.request import DecisionResult
from reconcile.findings.chosen_values import chosen_values
from reconcile.findings.identity import member_name
from reconcile.findings.shown import Finding
from reconcile.findings.states import PlanState
from reconcile.people import tokens
from reconcile.store import findings as stored_findings
from reconcile.upkeep import erasure
from tests.support import filled
from tests.support.shop import SERVERS, address
from tests.support.web import Browser, Site, cheap_hashes, site_of
from tests.support.world import Killed, World

pytestmark = pytest.mark.slow

__all__ = ["cheap_hashes"]

COLUMNS = ("id", "email", "name", "phone", "street", "city")
ROWS: tuple[tuple[Any, ...], ...] = (
    (1, "a@x", "Anna", "11", "Mill 1", "Bonn"),
    (2, "a@x", "Anne Lee", None, "Hill 2", "Köln"),
    (3, "a@x", "A.", "33", None, None),
    (9, "b@x", "Bob", "99", "Pier 9", "Kiel"),
)
MERGE: dict[str, Any] = {
    "action": "merge",
    "surplus": "delete",
    "fields": {"name": "longest", "phone": "keep"},
    "linked": [["street", "city"]],
}
DISPLAYED = {"source": "shop", "table": "customers", "id": "id", "display": ["name", "phone", "street", "city"]}


def world_at(folder: Path, url: str | None = None, **rule: Any) -> World:
    """Three records of one customer, of whom the rule keeps the first with the longest name, and another customer."""
    folder.mkdir(parents=True, exist_ok=True)
    world = World(folder, {"twins": {"clean": MERGE} | rule}, **({"url": url} if url else {}))
    texts = ", ".join(f"{name} VARCHAR(60)" for name in COLUMNS[1:])
    world.shop.sql(f"CREATE TABLE customers (id INTEGER PRIMARY KEY, {texts})", *map(_insert, ROWS))
    return world


def _insert(row: tuple[Any, ...]) -> str:
    values = ", ".join("NULL" if value is None else f"'{value}'" for value in row)
    return f"INSERT INTO customers VALUES ({values})"


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A group of three whose plan waits for approval."""
    world = world_at(tmp_path / "w")
    world.run()
    return world


def choose(world: World, *record: int, by: str = "ada", given: dict[str, Any] | None = None, **fields: Any) -> Any:
    """Take fields from records, by column; None takes a choice back."""
    values = {name: () if value is None else (str(value),) for name, value in fields.items()}
    with world.decisions(by) as decisions:
        return keeper_choice.keep(decisions, world.only(), tuple(map(str, record)), values, **(given or {}))


def shown(world: World) -> Finding:
    with world.open() as application, application.store.read() as tx:
        [finding] = stored_findings.find(tx)
        return finding


def chosen(world: World) -> dict[str, tuple[Any, str]]:
    """The record that gives each chosen field, and who chose it."""
    return {column: (member.id[0], value.by) for column, (member, value) in chosen_values(shown(world)).items()}


def waiting(world: World) -> list[str]:
    return [plan.plan_hash for plan in world.plans() if plan.state is PlanState.AWAITING]


def row(world: World, number: int) -> tuple[Any, ...]:
    [row] = [row for row in world.shop.rows("customers", ", ".join(COLUMNS)) if row[0] == number]
    return row


def approved(world: World, by: str = "ada", **given: Any) -> DecisionResult:
    return world.approve(world.only(), actor=by, **given)


def intact(world: World) -> bool:
    with world.open() as application:
        return prove(application.store, {}).intact


# From a choice to an undo


@pytest.fixture(params=SERVERS)
def anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    world = world_at(tmp_path / "w", address(request))
    world.run()
    yield world
    world.shop.close()


def test_the_keeper_gets_the_chosen_values_and_undo_restores_all(anywhere: World) -> None:
    world, before = anywhere, anywhere.shop.rows("customers")

    answer = choose(world, phone=3, city=2)
    assert approved(world).ok

    assert answer.sentence.startswith(
        f"{world.only()} now takes `phone` from record 3, `street` and `city` from record 2. Its new plan waits"
    )
    assert row(world, 1) == (1, "a@x", "Anne Lee", "33", "Hill 2", "Köln")
    assert world.shop.ids() == [1, 9]
    world.undo(world.only())
    assert world.shop.rows("customers") == before
    assert chosen(world) == {"phone": (3, "ada"), "street": (2, "ada"), "city": (2, "ada")}
    assert intact(world)


@pytest.mark.parametrize("giver", [1, 2, 3])
def test_whichever_record_is_chosen_its_value_remains_also_an_empty_one(giver: int, world: World) -> None:
    choose(world, name=giver, phone=giver, street=giver)

    approved(world)

    [given] = [row for row in ROWS if row[0] == giver]
    assert row(world, 1) == (1, *given[1:])


def test_a_keeper_and_values_are_chosen_together(world: World) -> None:
    answer = choose(world, 3, name=1)
    approved(world)

    assert "now keeps record 3, the choice of ada, and takes `name` from record 1" in answer.sentence
    assert row(world, 3) == (3, "a@x", "Anna", "33", None, None)


def test_a_choice_stays_when_another_keeper_is_chosen(world: World) -> None:
    choose(world, name=1)

    choose(world, 2)

    assert chosen(world) == {"name": (1, "ada")}


# What may be chosen


@pytest.mark.parametrize("column", ["email", "id", "nothing"])
def test_only_fields_that_the_rule_merges_are_chosen(column: str, world: World) -> None:
    with pytest.raises(FieldNotChosen, match=f"does not merge `{column}`; it merges `street`, `city`, `name` and "):
        choose(world, **{column: 2})

    assert chosen(world) == {}


def test_a_rule_that_merges_nothing_has_no_field_to_choose(tmp_path: Path) -> None:
    world = world_at(tmp_path / "w", clean={"action": "delete"})
    world.run()

    with pytest.raises(FieldNotChosen, match="`clean` merges no fields"):
        choose(world, phone=2)


def test_linked_fields_come_from_one_record(world: World) -> None:
    with pytest.raises(FieldsTogether, match="takes `street` and `city` from one record"):
        choose(world, street=1, city=2)


def test_a_value_comes_from_a_record_of_the_finding(world: World) -> None:
    with pytest.raises(RecordUnknown, match="has no such record"):
        choose(world, phone=9)


def test_a_finding_that_is_decided_gets_no_other_values(world: World) -> None:
    approved(world)

    with pytest.raises(KeeperFixed):
        choose(world, phone=3)


# Approvals


def test_a_choice_replaces_the_plan_and_another_person_names_the_new_one(world: World) -> None:
    [old] = waiting(world)

    choose(world, phone=3)

    [new] = waiting(world)
    assert new != old
    assert [plan.reason for plan in world.plans() if plan.plan_hash == old] == ["ada chose other values"]
    with pytest.raises(PlanNotNamed, match="ada chose values of the keeper"):
        approved(world, by="bob")
    assert approved(world, by="bob", plan_hash=new).ok


def test_who_chose_a_value_is_none_of_the_two_who_approve(tmp_path: Path) -> None:
    world = world_at(tmp_path / "w", approval="two_person")
    world.run()
    choose(world, phone=3, by="ada")
    choose(world, name=3, by="bob")
    [plan] = waiting(world)

    for chooser in ("ada", "bob"):
        with pytest.raises(ChoseKeeper, match=f"{chooser} chose values of"):
            approved(world, by=chooser, plan_hash=plan)


def test_a_choice_is_taken_back_field_by_field(world: World) -> None:
    [old] = waiting(world)
    choose(world, phone=3, city=2)

    choose(world, city=None)
    assert chosen(world) == {"phone": (3, "ada")}
    answer = choose(world, phone=None)

    assert f"{world.only()} now takes `phone` as its rule says" in answer.sentence
    assert (chosen(world), waiting(world)) == ({}, [old])
    assert not choose(world, phone=None).changed
    assert approved(world, by="bob").ok


def test_a_choice_that_was_made_already_changes_nothing(world: World) -> None:
    choose(world, phone=3)
    before = shown(world), waiting(world)

    answer = choose(world, phone=3, by="bob")

    assert (answer.changed, answer.sentence) == (
        False,
        f"{world.only()} already takes `phone` from record 3; nothing was changed.",
    )
    assert (shown(world), waiting(world)) == before


def test_a_person_who_saw_another_version_is_refused(world: World) -> None:
    seen = shown(world).version
    choose(world, phone=3)

    with pytest.raises(FindingChanged):
        choose(world, name=3, given={"seen": seen})


def test_a_rule_without_approval_cleans_with_the_chosen_values_in_its_next_run(tmp_path: Path) -> None:
    world = world_at(tmp_path / "w", approval="none")
    world.run()  # the first run of a rule only proposes

    choose(world, phone=3)
    world.run()
    if waiting(world):
        approved(world)

    assert row(world, 1)[3] == "33"


# What becomes of a choice


def test_a_value_that_changed_since_is_not_taken_until_somebody_chooses_again(world: World) -> None:
    choose(world, phone=3)
    approved(world, later=True)
    world.shop.sql("UPDATE customers SET phone = '34' WHERE id = 3")
    with world.open() as application:
        application.clean_due()
    world.run()

    assert world.shop.ids() == [1, 2, 3, 9]
    assert waiting(world) == []
    assert "person chose the record for `phone`, but its value there changed since" in str(shown(world).reason)
    choose(world, phone=3)
    approved(world)
    assert row(world, 1)[3] == "34"
    assert intact(world)


def test_a_column_that_may_drift_is_compared_once_a_person_chose_its_value(tmp_path: Path) -> None:
    world = world_at(tmp_path / "w", clean=MERGE | {"ignore_drift": ["phone"]})
    world.run()
    choose(world, phone=3)
    world.shop.sql("UPDATE customers SET phone = '34' WHERE id = 3")

    assert not approved(world).ok

    assert world.shop.ids() == [1, 2, 3, 9]


def test_other_changes_of_the_records_keep_the_choice_and_ask_again(world: World) -> None:
    choose(world, phone=3)
    [old] = waiting(world)
    world.shop.sql("UPDATE customers SET name = 'Annelies Lee' WHERE id = 2")
    world.run()
    approved(world)
    world.run()

    [new] = waiting(world) or [None]
    assert new != old
    assert chosen(world) == {"phone": (3, "ada")}


@pytest.mark.parametrize(
    "change", ["DELETE FROM customers WHERE id = 3", "UPDATE customers SET email = 'c@x' WHERE id = 3"]
)
def test_without_the_chosen_record_the_rule_s_value_counts(change: str, world: World) -> None:
    choose(world, phone=3)
    world.shop.sql(change)
    world.run()

    assert chosen(world) == {}
    assert "chosen values left with their record: phone" in world.command("show", world.only(), "--history").out
    [new] = waiting(world)
    approved(world, plan_hash=new)
    assert row(world, 1)[3] == "11"
    assert intact(world)


def test_a_record_that_joins_leaves_the_choice(world: World) -> None:
    choose(world, phone=3)
    world.shop.sql(_insert((4, "a@x", "Annabelle Lee", "44", None, None)))
    world.run()

    assert chosen(world) == {"phone": (3, "ada")}
    approved(world)
    assert row(world, 1)[2:4] == ("Annabelle Lee", "33")


def test_a_record_that_leaves_and_returns_gives_its_value_again_with_approval(tmp_path: Path) -> None:
    world = world_at(tmp_path / "w", approval="none")
    world.run()
    world.shop.sql("UPDATE customers SET email = 'c@x' WHERE id = 1")  # keeps the rule from cleaning alone
    choose_ = {"phone": 3}
    with pytest.raises(RecordsChanged):
        choose(world, **choose_)
    world.shop.sql("UPDATE customers SET email = 'a@x' WHERE id = 1")
    choose(world, **choose_)
    world.shop.sql("UPDATE customers SET email = 'c@x' WHERE id = 3")
    world.rules["twins"]["approval"] = "required"
    world.run()
    world.shop.sql("UPDATE customers SET email = 'a@x' WHERE id = 3")
    world.run()

    assert chosen(world) == {"phone": (3, "ada")}
    assert "chosen values are back with their record: phone" in world.command("show", world.only(), "--history").out
    assert intact(world)


def test_a_choice_goes_with_its_record_into_another_finding(world: World) -> None:
    world.shop.sql(_insert((10, "b@x", "Bobby", "10", None, None)))
    world.run()
    second = next(
        name for name in world.findings() if "Bobby" in world.command("plan", "--finding", name, "--show").out
    )
    with world.decisions("ada") as decisions:
        keeper_choice.keep(decisions, second, (), {"name": ("9",)})

    world.shop.sql("UPDATE customers SET email = 'a@x' WHERE email = 'b@x'")
    world.run()

    with world.open() as application, application.store.read() as tx:
        [joined] = [finding for finding in stored_findings.find(tx) if finding.records == 5]
    assert {column: member.id for column, (member, _) in chosen_values(joined).items()} == {"name": (9,)}
    assert intact(world)


def test_a_rule_that_no_longer_merges_the_field_asks(world: World) -> None:
    choose(world, phone=3)
    world.rules["twins"]["clean"] = MERGE | {"fields": {"name": "longest"}}
    world.run()

    assert "the rule no longer merges that column" in world.command("plan").out
    choose(world, phone=None)
    assert chosen(world) == {}


def test_a_kill_before_the_new_plan_is_stored_leaves_all_as_it_was(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = waiting(world), shown(world)

    def die(*_: Any, **__: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(keeper_choice.effects, "propose", die)
        with pytest.raises(Killed):
            choose(world, phone=3)

    assert (waiting(world), shown(world)) == before
    assert intact(world)


def test_the_log_says_who_chose_which_field_without_a_value_or_an_id(world: World) -> None:
    choose(world, phone=3, city=None, given={"note": "called"})

    with world.open() as application, application.store.read() as tx:
        [entry] = [entry for entry in log.entries(tx) if entry.event == "finding.values_chosen"]
    assert (entry.actor, list(entry.body["values"]), entry.body["note"]) == ("ada", ["phone"], "called")
    assert re.fullmatch("[0-9a-f]{32}", entry.body["values"]["phone"])
    assert '"33"' not in repr(filled.stored("sqlite:///reconcile.db", world.folder)["finding_members"])


def test_erasing_the_chosen_record_ends_the_choice(world: World) -> None:
    choose(world, phone=3)
    giver = chosen_values(shown(world))["phone"][0]
    with world.decisions("bob") as decisions:
        decisions.reject(world.only())
    world.shop.sql("DELETE FROM customers WHERE id = 3")

    with world.open() as application:
        wanted = erasure.of_record(application.store, "customers", member_name(giver), ["phone"])
        erasure.erase(application.store, wanted, texts=())

    assert chosen(world) == {}
    assert intact(world)


def test_a_backup_holds_the_choice(world: World) -> None:
    choose(world, phone=3)
    assert world.command("backup", "before.db").code == 0
    choose(world, phone=None)

    assert world.command("restore", "before.db", "--yes").code == 0

    assert chosen(world) == {"phone": (3, "ada")}


# Doors


def test_the_command_line_chooses_values_and_says_so_everywhere(world: World) -> None:
    name = world.only()

    answer = world.command("keep", name, "--field", "phone=3", "--field", "city=2", "--json").json

    [first, second] = answer["finding"]["chosen_values"]
    assert (first["columns"], first["record"]) == (["city", "street"], [2])
    assert (second["columns"], second["record"]) == (["phone"], [3])
    assert "values chosen: city and street from 2 (" in world.command("show", name).out
    assert "values chosen: city and street from 2 (" in world.command("plan").out
    assert world.command("plan", "--json").json[0]["chosen_values"] == answer["finding"]["chosen_values"]
    assert world.command("keep", name, "--field", "phone=").out.startswith(f"{name} now takes `phone` as its rule says")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (("--field", "phone"), "`phone` is not COLUMN=RECORD"),
        (("--field", "phone=1", "--field", "phone=3"), "names `phone` twice"),
        ((), "Name the record of"),
    ],
)
def test_a_mistaken_choice_is_told_in_one_sentence(given: tuple[str, ...], sentence: str, world: World) -> None:
    answer = world.command("keep", world.only(), *given)

    assert answer.code == 2
    assert sentence in answer.err


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """The console and API; phone numbers are personal."""
    world = world_at(tmp_path / "w")
    world.config["datasets"] = {"customers": DISPLAYED | {"pii": ["phone"]}}
    world.run()
    with site_of(world) as site:
        yield site


def buttons(browser: Browser, finding: str) -> list[str]:
    """The values of the buttons in the cells."""
    return re.findall(r'name="value" value="([^"]*)"', browser.get(f"/findings/{finding}").body.decode())


def test_a_reviewer_chooses_a_masked_value_with_its_button(site: Site) -> None:
    name, browser = site.world.only(), site.browser("bob")
    page = browser.get(f"/findings/{name}")
    of_phone = [value for value in buttons(browser, name) if value.endswith(" phone")]

    answer = browser.send(
        f"/findings/{name}/keep", f"/findings/{name}", version=page.field("version"), value=of_phone[2], note="called"
    )
    after = browser.get(answer.headers["Location"])

    assert len(of_phone) == 3
    assert "Use this value (street of 2) with city" in page.text
    assert (answer.status, answer.headers["Location"]) == (303, f"/findings/{name}")
    assert chosen(site.world) == {"phone": (3, "bob")}
    assert "values chosen: phone from 3 (bob)" in after.text
    assert "chosen by bob As the rule says" in after.text
    assert all(phone not in page.body.decode() + after.body.decode() for phone in (">33<", ">11<"))
    assert buttons(site.browser("vic"), name) == []

    browser.send(f"/findings/{name}/keep", f"/findings/{name}", version=after.field("version"), value=" phone")
    assert chosen(site.world) == {}


def test_a_program_chooses_values_by_column(site: Site) -> None:
    with site.store.begin() as tx:
        token = tokens.add(tx, "of-bob", "bob", by="ada")
    name, headers = site.world.only(), {"Content-Type": "application/json"}
    program = Browser(site.listener.address, {"Authorization": f"Bearer {token}"})
    path = f"/api/v1/findings/{name}/keep"

    done = program.ask("POST", path, '{"values": {"phone": 3, "city": [2]}}', **headers)
    back = program.ask("POST", path, '{"values": {"city": null}}', **headers)
    wrong = program.ask("POST", path, '{"values": {"email": 3}}', **headers)

    assert (done.status, back.status, wrong.status) == (200, 200, 422)
    document = program.get(f"/api/v1/findings/{name}").json
    assert document["chosen_values"] == [{"columns": ["phone"], "record": [3], "by": "bob"}]
