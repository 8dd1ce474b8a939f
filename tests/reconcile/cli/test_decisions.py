"""People's decisions at the command line: what they list, name and settle, and what is said to them."""

import getpass
import json
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from reconcile.cli.output import Output
from reconcile.findings.states import Event, PlanState
from reconcile.store.columns import json_text
from reconcile.views import history
from tests.support.cli import Answer, Project, in_words

PROJECT = """\
version: 1
sources: {shop: {type: files, root: .}}
datasets: {orders: {source: shop, path: orders.csv, id: id}}
rules:
  twice: {kind: duplicates, dataset: orders, key: [order_id], severity: high}
  twin: {kind: duplicates, dataset: orders, key: [name], severity: low}
jobs: {nightly: {rules: all}}
"""

ORDERS = """\
id,order_id,name
P-1,A-1,Ada
P-2,A-1,Grace
P-3,A-2,Grace
P-4,A-2,Alan
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = Project(tmp_path_factory.mktemp("ran")).write(PROJECT).write(ORDERS, "orders.csv")
    assert project("run").code == 0
    return project.folder


@pytest.fixture
def shop(ran: Path, tmp_path: Path) -> Project:
    """Two findings of `twice` and one of `twin`, found by one run."""
    return Project(shutil.copytree(ran, tmp_path, dirs_exist_ok=True))


def ids(answer: Answer) -> list[str]:
    assert answer.code == 0, answer.said
    return [item["id"] for item in answer.json]


def first(shop: Project) -> str:
    """Return the worst finding with the smallest key."""
    listed = shop("findings", "--json").json
    worst = [finding for finding in listed if finding["severity"] == listed[0]["severity"]]
    return str(min(worst, key=lambda finding: str(finding["key"]))["id"])


def states(shop: Project) -> dict[str, str]:
    return {finding["id"]: finding["state"] for finding in shop("findings", "--state", "all", "--json").json}


@pytest.mark.slow
def test_findings_come_worst_first_and_filters_narrow_them(shop: Project) -> None:
    every = shop("findings", "--json").json

    assert [item["rule"] for item in every] == ["twice", "twice", "twin"]
    assert ids(shop("findings", "--rule", "twin", "--json")) == [every[2]["id"]]
    assert len(ids(shop("findings", "--rule", "twin", "--rule", "twice", "--json"))) == 3
    assert len(ids(shop("findings", "--severity", "high", "--json"))) == 2
    assert ids(shop("findings", "--limit", "1", "--json")) == [every[0]["id"]]
    assert ids(shop("findings", "--state", "dismissed", "--json")) == []


def test_of_one_day_the_largest_amount_comes_first_and_a_limit_keeps_it(tmp_path: Path) -> None:
    """By value, not as text; a refund by its size."""
    charges = ((9, 1), (100, 2), (-5000, 3), (20, 4), (0.5, 5))
    lines = "".join(f"{order}-{n},{order},{amount}\n" for amount, order in charges for n in (1, 2))
    dataset = "path: orders.csv, id: id, columns: {amount: decimal}, money: {amount: amount, currency: EUR}"
    written = PROJECT.replace("path: orders.csv, id: id", dataset).replace(
        "  twin: {kind: duplicates, dataset: orders, key: [name], severity: low}\n", ""
    )
    shop = Project(tmp_path).write(written).write(f"id,order_id,amount\n{lines}", "orders.csv")
    assert shop("run").code == 0

    listed = shop("findings", "--json").json

    assert [item["key"]["order_id"] for item in listed] == ["3", "2", "4", "1", "5"]
    assert ids(shop("findings", "--json", "--limit", "2")) == [item["id"] for item in listed[:2]]


@pytest.mark.slow
def test_of_what_was_charged_twice_the_later_is_the_surplus_without_an_id_too(
    tmp_path: Path,
) -> None:
    rows = [f"A-{n},2026-03-02T09:0{minute}:00Z" for minute in (5, 0) for n in range(8)]
    dataset = "path: orders.csv, columns: {at: instant}"
    rule = "{kind: duplicates, dataset: orders, key: [order_id], window: {at: 15m}}"
    written = (
        "version: 1\nsources: {shop: {type: files, root: .}}\n"
        f"datasets: {{orders: {{source: shop, {dataset}}}}}\n"
        f"rules:\n  twice: {rule}\njobs: {{nightly: {{rules: all}}}}\n"
    )
    shop = Project(tmp_path).write(written).write("\n".join(["order_id,at", *rows, ""]), "orders.csv")
    assert shop("run").code == 0

    shown = [shop("show", name, "--json").json["side_by_side"] for name in ids(shop("findings", "--json"))]

    kept = [record["values"]["at"] for view in shown for record in view["records"] if record["role"] == "keeper"]
    assert kept == ["2026-03-02T09:00:00Z"] * 8


def test_every_event_of_a_finding_has_words_of_its_own() -> None:
    of_plans = {f"operation.{item.value}" for item in PlanState} - {"operation.awaiting_approval", "operation.approved"}

    assert {item.value for item in Event} | of_plans <= history.IN_WORDS.keys()
    assert len(set(history.IN_WORDS.values())) == len(history.IN_WORDS)
    assert history.in_words("plan.of_a_later_version") == "of a later version"


def test_a_table_lines_up_whatever_is_written_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [("Ada", "7", "x\x1b[31m"), ("日本", "1,200", "")]

    Output().table(("name", "records", "note"), rows, right=(1,))

    assert capsys.readouterr().out.splitlines() == [
        "name  records  note",
        "Ada         7  x\\x1b[31m",
        "日本    1,200",
    ]


def test_a_filter_that_names_nothing_is_told_with_what_there_is(shop: Project) -> None:
    in_words(shop("findings", "--rule", "twic"), 2, "no rule 'twic'", "did you mean `twice`?")
    in_words(shop("findings", "--state", "opn"), 2, "'opn' is not a state", "snoozed", lines=4)
    in_words(shop("findings", "--severity", "hihg"), 2, "did you mean `high`?", lines=4)
    in_words(shop("findings", "--limit", "0"), 2, "--limit", lines=4)


def test_show_says_what_to_do_about_an_open_finding(shop: Project) -> None:
    [finding, *_] = shop("findings", "--rule", "twin", "--json").json

    shown = shop("show", finding["id"])

    name = finding["id"]
    step = (
        f"reconcile handle {name} if it was dealt with elsewhere, or reconcile dismiss {name} if it is not a duplicate"
    )
    assert shown.err.splitlines()[-1] == f"Next: {step}"


def test_a_decision_without_findings_names_only_what_it_takes(shop: Project) -> None:
    assert "--plan-file" not in shop("dismiss").err
    assert "--plan-file" in shop("approve").err


def test_the_findings_that_wait_are_those_that_the_status_counts(shop: Project) -> None:
    snoozed, *others = ids(shop("findings", "--json"))
    shop("snooze", snoozed)

    listed = shop("findings", "--state", "waiting", "--json").json

    assert [finding["id"] for finding in listed] == others
    assert sum(shop("status", "--json").json["findings"].values()) == len(others)
    assert len(shop("findings", "--json").json) == len(others) + 1


@pytest.mark.slow
def test_a_run_counts_what_decisions_settled_if_there_is_any(shop: Project) -> None:
    assert "settled" not in shop("run").out
    shop("dismiss", first(shop))

    heading, row = shop("run").out.splitlines()[1:3]

    counts = dict(zip(heading.split(), row.split(), strict=False))
    assert (counts["rule"], counts["groups"], counts["known"], counts["settled"]) == ("twice", "2", "1", "1")


def test_without_findings_a_list_is_empty_and_says_so_beside_it(shop: Project) -> None:
    none = shop("findings", "--state", "dismissed")

    assert (none.code, none.out, none.err) == (0, "", "No findings.\n")
    assert shop("findings", "--state", "dismissed", "--quiet").said == ""


def test_show_tells_records_key_and_history(shop: Project) -> None:
    name = first(shop)

    shown = shop("show", name)

    assert shown.code == 0
    for part in (name, "high", "twice", "open", "2 records", "order_id = A-1", "keeper", "surplus", "P-1", "P-2"):
        assert part in shown.out
    assert "  reconcile  found\n" in shown.out
    assert shop("show", name, "--json").json["history"][0]["event"] == "finding.opened"


def test_an_id_may_be_written_in_lower_case_or_by_its_beginning(shop: Project) -> None:
    name = first(shop)

    for written in (name.lower(), name[:6], name.removeprefix("F-"), f" {name} "):
        assert shop("show", written, "--json").json["id"] == name


def test_an_unknown_id_is_told_with_near_ones(shop: Project) -> None:
    name = first(shop)
    wrong = name[:-1] + ("0" if name[-1] != "0" else "1")

    in_words(shop("show", wrong), 2, f"There is no finding `{wrong}`", name, "`reconcile findings` lists them")
    for command in ("show", "dismiss", "handle", "snooze", "reopen"):
        in_words(shop(command, "F-"), 2, "There is no finding")
    in_words(shop("assign", "nonsense", "ada"), 2, "There is no finding `nonsense`")
    in_words(shop("audit", "--finding", wrong), 2, name)


def test_a_dismissal_is_kept_with_its_note_and_who_decided(shop: Project) -> None:
    name = first(shop)

    answer = shop("dismiss", name, "--note", "two parcels", RECONCILE_ACTOR="ada@example.com")

    assert answer.out == f"{name} is dismissed: its 2 records are not the same.\n"
    assert states(shop)[name] == "dismissed"
    entry = shop("audit", "--finding", name, "--event", "finding.dismissed", "--json").json[0]
    assert (entry["actor"], entry["body"]["note"]) == ("ada@example.com", "two parcels")
    assert "note: two parcels" in shop("show", name).out
    assert name not in ids(shop("findings", "--json"))


@pytest.mark.slow
def test_what_was_handled_is_real_and_its_money_neither_at_risk_nor_recovered(tmp_path: Path) -> None:
    dataset = (
        "{source: shop, path: orders.csv, id: id, money: {amount: amount, currency: EUR}, columns: {amount: decimal}}"
    )
    shop = Project(tmp_path).write(PROJECT.replace("{source: shop, path: orders.csv, id: id}", dataset))
    shop.write("id,order_id,name,amount\nP-1,A-1,Ada,20.00\nP-2,A-1,Bob,20.00\n", "orders.csv")
    assert shop("run").code == 0
    name = first(shop)
    before = {rule["rule"]: rule for rule in shop("rules", "--json").json}["twice"]

    told = shop("handle", name, "--note", "refunded 4711", RECONCILE_ACTOR="ada@example.com")
    again = shop("run", "--json").json["rules"][0]
    after = {rule["rule"]: rule for rule in shop("rules", "--json").json}["twice"]

    assert told.out == f"{name} is handled: it is real, and was dealt with outside Reconcile.\n"
    assert states(shop) == {name: "handled"}
    assert (again["findings"]["new"], again["money"]) == (0, {})
    assert (before["at_risk"], before["handled"], before["precision"]) == ("20.00 EUR", "", None)
    assert (after["at_risk"], after["recovered"], after["handled"], after["precision"]) == ("", "", "20.00 EUR", 1.0)
    assert "20.00 EUR" in shop("rules").out
    assert shop("status", "--json").json["findings"] == {}
    assert "note: refunded 4711" in shop("show", name).out
    shown = shop("show", name).out
    assert "handled outside Reconcile: refunded 4711" in shown
    assert "20.00 EUR was at risk" in " ".join(shown.split())
    shop("reopen", name)
    assert shop("status", "--json").json["at_risk"] == "20.00 EUR"


MONEY = "id,order_id,name,amount\n"
CHARGES = {1: "P-1,A-1,Ada,20.00\n", 2: "P-2,A-1,Bob,20.00\n", 3: "P-3,A-1,Cid,7.00\n", 0: "P-0,A-1,Dan,5.00\n"}


def charged(folder: Path, *charges: int) -> Project:
    """A shop that was run once, in which the first charges are handled."""
    dataset = (
        "{source: shop, path: orders.csv, id: id, money: {amount: amount, currency: EUR}, columns: {amount: decimal}}"
    )
    written = PROJECT.replace("{source: shop, path: orders.csv, id: id}", dataset)
    told = "jobs: {nightly: {rules: all, notify: [team], existing: report}}\n"
    told += "channels: {team: {type: file, path: messages.txt}}\n"
    shop = Project(folder).write(written.replace("jobs: {nightly: {rules: all}}\n", told))
    charging(shop, *charges)
    assert shop("run").code == 0
    assert shop("handle", first(shop), "--note", "refunded 4711").code == 0
    return shop


def charging(shop: Project, *charges: int) -> None:
    shop.write(MONEY + "".join(CHARGES[number] for number in charges), "orders.csv")


def sums(shop: Project) -> tuple[str, str, float | None]:
    rule = {rule["rule"]: rule for rule in shop("rules", "--json").json}["twice"]
    return rule["at_risk"], rule["handled"], rule["precision"]


@pytest.mark.parametrize(("joining", "amount"), [(3, "7.00"), (0, "5.00")], ids=["surplus", "keeper"])
@pytest.mark.slow
def test_of_a_handled_finding_only_what_joins_is_at_risk_until_it_leaves(
    tmp_path: Path, joining: int, amount: str
) -> None:
    """Whoever handled records kept one of them, so it stays, also beside a record that the rule would keep."""
    shop = charged(tmp_path, 1, 2)
    name, heard = first_of_any_state(shop), (tmp_path / "messages.txt").read_text()
    assert sums(shop) == ("", "20.00 EUR", 1.0)
    charging(shop, *sorted((1, 2, joining)))

    dry = shop("run", "--dry-run", "--json").json["rules"][0]
    told = shop("run", "--json").json["rules"][0]

    message = (tmp_path / "messages.txt").read_text().removeprefix(heard)
    assert (dry["money"], told["money"], told["findings"]["reopened"]) == ({"EUR": amount}, {"EUR": amount}, 1)
    assert sums(shop) == (f"{amount} EUR", "20.00 EUR", None)
    assert shop("status", "--json").json["at_risk"] == f"{amount} EUR"
    assert f"came back, {amount} EUR at risk" in message
    assert re.search(r"^Since [0-9:]+ today: 1 surplus record\.$", message, re.MULTILINE)
    assert shop("run", "--json").json["rules"][0]["money"] == {"EUR": amount}
    charging(shop, 1, 2)
    assert shop("run", "--json").json["rules"][0]["money"] == {}
    assert (sums(shop), states(shop)) == (("", "20.00 EUR", 1.0), {name: "handled"})


@pytest.mark.parametrize(
    "part", [{"reason": "handled_money"}, {"reason": '"handled_money":{'}, {"nearby": {"handled_money": {"EUR": "9"}}}]
)
def test_a_finding_that_only_mentions_handled_money_counts_none(shop: Project, part: dict[str, Any]) -> None:
    with closing(sqlite3.connect(shop.folder / "reconcile.db")) as state, state:
        for name, payload in state.execute("select id, payload from findings").fetchall():
            state.execute("update findings set payload = ? where id = ?", (json_text(json.loads(payload) | part), name))

    assert {rule["handled"] for rule in shop("rules", "--json").json} == {""}


@pytest.mark.slow
def test_what_is_handled_again_is_handled_as_a_whole_and_reopened_as_a_whole(tmp_path: Path) -> None:
    shop = charged(tmp_path, 1, 2)
    name = first_of_any_state(shop)
    charging(shop, 1, 2, 3)
    assert shop("run").code == 0

    assert shop("handle", name).code == 0
    assert sums(shop) == ("", "27.00 EUR", 1.0)
    assert shop("run", "--json").json["rules"][0]["money"] == {}
    assert shop("reopen", name).code == 0
    assert sums(shop) == ("27.00 EUR", "", None)
    assert shop("run", "--json").json["rules"][0]["money"] == {"EUR": "27.00"}


def first_of_any_state(shop: Project) -> str:
    [name] = states(shop)
    return name


def test_without_a_name_handed_on_it_is_the_user_of_the_terminal(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RECONCILE_ACTOR", raising=False)
    name = first(shop)

    shop("dismiss", name)

    assert shop("audit", "--event", "finding.dismissed", "--json").json[0]["actor"] == getpass.getuser()


@pytest.mark.slow
def test_deciding_the_same_twice_says_so_and_changes_nothing(shop: Project) -> None:
    name = first(shop)
    decisions = (["dismiss"], ["reopen"], ["handle"], ["reopen"], ["snooze"])
    for words in (*([*decision, name] for decision in decisions), ["assign", name, "ada"]):
        before = shop(*words, "--json")
        entries = len(shop("audit", "--json").json)

        again = shop(*words, "--json")

        assert (before.code, again.code) == (0, 0), words
        assert (before.json["changed"], again.json["changed"]) == (True, False), words
        assert "nothing was changed" in again.json["sentence"]
        assert len(shop("audit", "--json").json) == entries


def test_a_snooze_takes_a_duration_a_time_or_nothing(shop: Project) -> None:
    name = first(shop)
    for until, part in (
        (["--until", "3d"], "is snoozed until 20"),
        (["--until", "2w"], "or until it grows"),
        (["--until", "2099-01-02T08:00"], "until 2099-01-02 08:00 UTC"),
        (["--until", "2099-01-02T08:00+02:00"], "until 2099-01-02 06:00 UTC"),
        ([], "is snoozed until it grows"),
    ):
        answer = shop("snooze", name, *until)

        assert answer.code == 0, answer.said
        assert part in answer.out
        assert states(shop)[name] == "snoozed"


def test_a_local_time_of_a_snooze_is_in_the_zone_of_the_project(shop: Project) -> None:
    shop.write(PROJECT + "timezone: Europe/Berlin\n")

    assert "2099-01-02 08:00 CET" in shop("snooze", first(shop), "--until", "2099-01-02T08:00").out


def test_a_snooze_that_is_over_or_no_time_is_refused(shop: Project) -> None:
    name = first(shop)

    in_words(shop("snooze", name, "--until", "2020-01-01T00:00Z"), 2, "is in the past")
    for nonsense in ("tomorrow", "3 fortnights", "", "2026-13-01T00:00"):
        in_words(shop("snooze", name, "--until", nonsense), 2, "neither a duration like 3d nor a time", lines=4)
    assert states(shop)[name] == "open"


def test_reopening_takes_back_a_dismissal_and_a_snooze(shop: Project) -> None:
    name = first(shop)
    for words in (["dismiss", name], ["handle", name], ["snooze", name]):
        shop(*words)

        assert shop("reopen", name).out == f"{name} is open again.\n"
        assert states(shop)[name] == "open"


@pytest.mark.slow
def test_a_dismissed_finding_stays_dismissed_over_runs_and_is_no_longer_counted(shop: Project) -> None:
    for name in ids(shop("findings", "--severity", "high", "--json")):
        shop("dismiss", name)

    assert shop("run", "--fail-on", "high").code == 0
    assert shop("run", "--fail-on", "low").code == 1
    assert list(states(shop).values()).count("dismissed") == 2


@pytest.mark.slow
def test_a_decision_that_no_longer_fits_is_refused_with_its_own_code(shop: Project) -> None:
    name = first(shop)
    rows = ORDERS.replace("P-2,A-1,", "P-2,A-9,")
    (shop.folder / "orders.csv").write_text(rows)
    shop("run")

    assert states(shop)[name] == "resolved"
    in_words(shop("dismiss", name), 4, "cannot be dismissed", "Nothing was changed")


def test_an_assignment_names_somebody_and_takes_the_name_back(shop: Project) -> None:
    name = first(shop)

    assert shop("assign", name, "ada").out == f"{name} is assigned to ada.\n"
    assert shop("assign", name, "").out == f"{name} is assigned to nobody.\n"


def test_a_command_without_what_it_needs_says_how_it_is_used(shop: Project) -> None:
    for words in (["show"], ["assign"]):
        in_words(shop(*words), 2, "Missing argument", "Usage: reconcile", lines=5)
    for words in (["dismiss"], ["assign", "ada"], ["snooze"], ["approve"], ["undo"]):
        in_words(shop(*words), 2, "give ", "Usage: reconcile", lines=5)


@pytest.mark.slow
def test_cells_cannot_steer_the_terminal(shop: Project) -> None:
    (shop.folder / "orders.csv").write_text("id,order_id,name\nP-1,\x1b[2Jx,a\nP-2,\x1b[2Jx,b\n", encoding="utf-8")
    shop("run")
    name = ids(shop("findings", "--rule", "twice", "--json"))[-1]

    for shown in (shop("findings"), shop("show", name)):
        assert "\x1b" not in shown.out
        assert "\\x1b[2Jx" in shown.out
