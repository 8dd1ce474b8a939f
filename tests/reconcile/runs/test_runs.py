"""The story of a job over its runs, told through the command line: what is found, remembered, told, and exits."""

import hashlib
import itertools
import subprocess
import sys
from pathlib import Path

import pytest

import reconcile
from tests.support.runs import CHARGES, DOUBLE, NEXT, PAID, START, ChargesProject, charge, known, told, twice

pytestmark = pytest.mark.slow

STORES = ["sqlite", pytest.param("postgresql", marks=pytest.mark.server)]


@pytest.fixture
def shop(tmp_path: Path) -> ChargesProject:
    """Two orders charged twice, one charged once."""
    return ChargesProject.at(tmp_path / "shop").add(*twice(1, "A-1"), *twice(3, "A-2"), charge(5, "A-3"))


@pytest.fixture(params=STORES)
def anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> ChargesProject:
    """The same shop, its state in SQLite and in PostgreSQL."""
    state = "sqlite:///state.db"
    if request.param == "postgresql":
        state = request.getfixturevalue("postgres_url").replace("+psycopg", "")
    return ChargesProject.at(tmp_path / "shop", state).add(*twice(1, "A-1"), *twice(3, "A-2"), charge(5, "A-3"))


# Told once


def test_a_first_run_tells_one_summary_and_a_second_tells_nothing_and_knows_the_same_findings(
    anywhere: ChargesProject,
) -> None:
    first = anywhere.run()
    second = anywhere.run()

    [message] = anywhere.messages()
    assert first.counts == {"new": 2}
    assert message["rules"][0]["first_run"] is True
    assert told(message) == [("new", "ch_00001", ["ch_00002"]), ("new", "ch_00003", ["ch_00004"])]
    assert second.counts == {"known": 2}
    assert "sent" not in second.json
    assert known(second.json["findings"]) == known(first.json["findings"])
    assert anywhere.intact()


def test_a_new_duplicate_is_told_alone(anywhere: ChargesProject) -> None:
    anywhere.run()
    anywhere.add(*twice(6, "A-4"))

    ended = anywhere.run()

    assert ended.counts == {"new": 1, "known": 2}
    assert ended.json["sent"] == ["team"]
    [_, message] = anywhere.messages()
    assert told(message) == [("new", "ch_00006", ["ch_00007"])]
    assert (message["rules"][0]["known"], message["rules"][0]["first_run"]) == (2, False)


def test_a_group_that_grows_is_told_as_grown_and_keeps_its_id(shop: ChargesProject) -> None:
    before = shop.run().json["findings"]
    shop.add(charge(6, "A-1", second=600))

    ended = shop.run()

    assert ended.counts == {"grown": 1, "known": 1}
    assert told(shop.messages()[-1]) == [("grown", "ch_00001", ["ch_00002", "ch_00006"])]
    assert {finding["id"] for finding in ended.json["findings"]} == {item["id"] for item in before}


def test_what_grew_before_a_channel_heard_of_it_is_new_there(shop: ChargesProject) -> None:
    shop.run()
    shop.add(charge(6, "A-1", second=600))
    shop.config["channels"]["late"] = {"type": "file", "path": "late.jsonl", "format": "jsonl"}
    shop.config["jobs"]["nightly"]["notify"] = ["team", "late"]
    shop.write().run()

    states = [[state for state, *_ in told(shop.messages(path)[-1])] for path in ("messages.jsonl", "late.jsonl")]

    assert states == [["grown"], ["new", "new"]]


def test_a_finding_that_vanishes_is_resolved_in_silence_and_one_that_returns_is_told_as_reopened(
    anywhere: ChargesProject,
) -> None:
    anywhere.run()
    anywhere.sql("update charges set status = 'refunded' where id = 'ch_00002'")

    gone = anywhere.run()
    anywhere.sql("update charges set status = 'ok' where id = 'ch_00002'")
    back = anywhere.run()

    assert gone.counts == {"known": 1, "resolved": 1}
    assert back.counts == {"known": 1, "reopened": 1}
    assert len(anywhere.messages()) == 2
    assert told(anywhere.messages()[-1]) == [("reopened", "ch_00001", ["ch_00002"])]


def test_a_dismissed_finding_stays_silent_until_a_third_record_joins(shop: ChargesProject) -> None:
    shop.run()
    [finding] = [item["id"] for item in shop.findings() if item["key"]["order_id"] == "A-1"]
    assert shop.cli("dismiss", finding, "--note", "two parcels").code == 0

    silent = shop.run()
    shop.add(charge(6, "A-1", second=600))
    back = shop.run()

    assert silent.counts == {"known": 1, "settled": 1}
    assert back.counts == {"known": 1, "reopened": 1}
    assert len(shop.messages()) == 2
    assert told(shop.messages()[-1]) == [("reopened", "ch_00001", ["ch_00002", "ch_00006"])]


def test_a_rule_that_is_renamed_with_was_keeps_its_findings_and_tells_nobody(shop: ChargesProject) -> None:
    before = shop.run().json["findings"]
    shop.config["rules"] = {"charged-twice": DOUBLE | {"was": "double-charge"}}
    shop.config["jobs"]["nightly"]["rules"] = ["charged-twice"]
    shop.write()

    ended = shop.run()

    assert ended.counts == {"known": 2}
    assert {finding["id"] for finding in ended.json["findings"]} == {item["id"] for item in before}
    assert {finding["rule"] for finding in shop.findings()} == {"charged-twice"}
    assert len(shop.messages()) == 1


def test_counts_go_with_the_rule_to_its_new_name_and_the_old_name_starts_without(tmp_path: Path) -> None:
    shop = ChargesProject.at(tmp_path / "shop").add(*(item for n in range(20) for item in twice(2 * n + 1, f"A-{n}")))
    shop.write().run()
    shop.config["rules"] = {"charged-twice": DOUBLE | {"was": "double-charge"}}
    shop.config["jobs"]["nightly"]["rules"] = ["charged-twice"]
    shop.write().sql("update charges set order_id = null where id > 'ch_00004'")

    refused = shop.run(code=3).rule("charged-twice")["failed"]
    shop.sql("update charges set order_id = id where order_id is null")
    shop.run()
    shop.sql("update charges set order_id = null where id > 'ch_00004'")
    shop.config["rules"] = {"double-charge": DOUBLE}
    shop.config["jobs"]["nightly"]["rules"] = ["double-charge"]
    again = shop.write().run()

    assert "but only 0 of 40 in its previous run" in refused
    assert again.counts == {"new": 2}


def test_what_already_existed_can_be_ignored_and_what_comes_later_is_told_all_the_same(shop: ChargesProject) -> None:
    shop.config["jobs"]["nightly"]["existing"] = "ignore"
    shop.write()

    first = shop.run()
    shop.add(*twice(6, "A-4"))
    shop.run()

    assert first.counts == {"new": 2}
    [message] = shop.messages()
    assert told(message) == [("new", "ch_00006", ["ch_00007"])]


def test_a_channel_that_joins_later_hears_what_is_open(shop: ChargesProject) -> None:
    shop.run()
    shop.config["channels"]["audit"] = {"type": "file", "path": "audit.jsonl", "format": "jsonl"}
    shop.config["jobs"]["nightly"]["notify"] = ["team", "audit"]
    shop.write()

    ended = shop.run()

    assert ended.json["sent"] == ["audit"]
    assert len(shop.messages()) == 1
    assert told(shop.messages("audit.jsonl")[0]) == told(shop.messages()[0])


def test_a_channel_that_is_not_quiet_hears_an_all_clear(shop: ChargesProject) -> None:
    shop.config["channels"]["team"]["quiet"] = False
    shop.write()

    shop.run()
    shop.run()

    first, second = shop.messages()
    assert len(told(first)) == 2
    assert told(second) == []


# What could not be checked is never a clean result


def test_a_source_that_cannot_be_read_is_told_when_that_begins_and_when_it_ends_while_other_rules_go_on(
    anywhere: ChargesProject,
) -> None:
    anywhere.with_bank("1;INV-1", "2;INV-1", "3;INV-2")
    anywhere.run()
    shop_file, away = anywhere.folder / "shop.sqlite", anywhere.folder / "away"
    shop_file.rename(away)
    anywhere.pay("1;INV-1", "2;INV-1", "3;INV-2", "4;INV-2")

    down = anywhere.run(code=3)
    still_down = anywhere.run(code=3)
    away.rename(shop_file)
    up = anywhere.run(code=0)

    assert down.json["status"] == "failed"
    assert "shop" in down.rule("double-charge")["failed"]
    assert down.rule("paid-twice")["findings"]["new"] == 1
    assert "sent" not in still_down.json
    assert up.rule("double-charge")["findings"] | {"known": 0} == dict.fromkeys(
        ("new", "known", "grown", "resolved", "reopened", "merged", "settled"), 0
    )
    assert up.rule("double-charge")["findings"]["known"] == 2
    _, begun, over = anywhere.messages()
    assert [(failure["subject"], failure["ended"]) for failure in begun["failures"]] == [("source shop", False)]
    assert told(begun, "paid-twice") == [("new", "3", ["4"])]
    assert [(failure["subject"], failure["ended"]) for failure in over["failures"]] == [("source shop", True)]
    assert over["rules"] == [] or all(not told(over, rule) for rule in ("double-charge", "paid-twice"))


def test_one_source_that_is_down_is_told_once_however_many_rules_it_stops(shop: ChargesProject) -> None:
    shop.config["rules"]["same-minute"] = DOUBLE | {"key": ["charged_at"], "keep": []}
    shop.config["jobs"]["nightly"]["rules"] = ["double-charge", "same-minute"]
    shop.write()
    (shop.folder / "shop.sqlite").rename(shop.folder / "away")

    shop.run(code=3)

    [message] = shop.messages()
    assert [failure["subject"] for failure in message["failures"]] == ["source shop"]


def test_a_rule_that_does_not_fit_its_table_any_more_stops_alone(shop: ChargesProject) -> None:
    shop.with_bank("1;INV-1", "2;INV-1")
    shop.run()
    shop.sql("alter table charges rename column order_id to reference")

    ended = shop.run(code=2)

    assert "order_id" in ended.rule("double-charge")["failed"]
    assert ended.rule("paid-twice")["findings"]["known"] == 1
    assert [failure["subject"] for failure in shop.messages()[-1]["failures"]] == ["rule double-charge"]
    assert {finding["state"] for finding in shop.findings()} == {"open"}


def test_a_dataset_that_was_full_and_is_empty_today_resolves_nothing_and_is_told(anywhere: ChargesProject) -> None:
    anywhere.run()
    anywhere.sql("delete from charges")

    ended = anywhere.run(code=3)
    again = anywhere.run(code=3)

    assert "is empty, but had 5 records" in ended.rule("double-charge")["failed"]
    assert "is empty" in again.rule("double-charge")["failed"]
    assert [finding["state"] for finding in anywhere.findings()] == ["open", "open"]
    assert len(anywhere.messages()) == 2
    assert "is empty" in anywhere.messages()[-1]["failures"][0]["sentence"]


def test_a_dataset_that_was_always_empty_is_a_clean_result(tmp_path: Path) -> None:
    shop = ChargesProject.at(tmp_path / "shop")

    assert shop.run().counts == {}
    assert shop.run().counts == {}
    assert shop.messages() == []


def test_a_run_whose_every_key_is_null_is_told_and_resolves_nothing(shop: ChargesProject) -> None:
    shop.run()
    shop.sql("update charges set order_id = null")

    ended = shop.run(code=3)

    assert "every record was skipped" in ended.rule("double-charge")["failed"]
    assert [finding["state"] for finding in shop.findings()] == ["open", "open"]
    assert len(shop.messages()) == 2


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("order_id = null", "order_id is null in 36 records"),
        ("charged_at = ''", "charged_at is null in 36 records"),
    ],
)
def test_records_that_can_no_longer_be_compared_resolve_nothing(tmp_path: Path, change: str, reason: str) -> None:
    shop = ChargesProject.at(tmp_path / "shop").add(*(item for n in range(20) for item in twice(2 * n + 1, f"A-{n}")))
    shop.config["datasets"]["charges"] = CHARGES | {"columns": {"charged_at": "instant"}}
    shop.config["rules"]["double-charge"] = DOUBLE | {"window": {"charged_at": "15m"}}
    shop.write().run()
    shop.sql(f"update charges set {change} where id > 'ch_00004'")

    planned, ended = shop.run("--dry-run", code=3), shop.run(code=3)

    failed = ended.rule("double-charge")["failed"]
    assert failed.startswith("Rule 'double-charge' can't compare 36 of 40 records (")
    assert reason in failed
    assert "but only 0 of 40 in its previous run; it found 2 instead of 20 groups" in failed
    assert planned.rule("double-charge")["failed"] == failed
    assert {finding["state"] for finding in shop.findings()} == {"open"}

    shop.config["rules"]["double-charge"]["where"] = "status = 'ok' and id <= 'ch_00004'"
    assert "compared 4 records" in shop.write().run(code=3).rule("double-charge")["failed"]
    assert shop.cli("allow", "double-charge").code == 0
    assert shop.run().rule("double-charge")["findings"]["resolved"] == 18


def unreadable(shop: ChargesProject, more_than: str) -> None:
    """Write the times of the charges beyond an id as no instant."""
    shop.sql(f"update charges set charged_at = replace(charged_at, '2026-11-20', '20.11.26') where id > '{more_than}'")


def test_a_rule_is_not_judged_by_values_that_cannot_be_read_until_somebody_accepts_them(tmp_path: Path) -> None:
    shop = ChargesProject.at(tmp_path / "shop").add(
        *(charge for n in range(20) for charge in twice(2 * n + 1, f"A-{n}"))
    )
    shop.config["datasets"]["charges"] = CHARGES | {"columns": {"charged_at": "instant"}}
    shop.config["rules"]["double-charge"] = DOUBLE | {"window": {"charged_at": "15m"}}
    unreadable(shop, "ch_00004")

    planned, ended = shop.write().run("--dry-run", code=3), shop.run(code=3)

    failed = ended.rule("double-charge")["failed"]
    assert failed.startswith(
        "Rule 'double-charge' can't read `charged_at` in 36 of 40 records of dataset 'charges': not an instant, first "
    )
    assert planned.rule("double-charge")["failed"] == failed
    assert shop.findings() == []
    assert shop.cli("allow", "double-charge").code == 0
    assert shop.run(code=1).rule("double-charge")["findings"]["new"] == 2
    assert shop.run(code=1).rule("double-charge")["findings"]["known"] == 2


@pytest.mark.parametrize(("records", "code"), [(1, 1), (19, 1), (20, 3), (21, 3)])
def test_so_many_values_that_cannot_be_read_are_too_many(tmp_path: Path, records: int, code: int) -> None:
    shop = ChargesProject.at(tmp_path / "shop").add(
        *(charge for n in range(40) for charge in twice(2 * n + 1, f"A-{n}"))
    )
    shop.config["datasets"]["charges"] = CHARGES | {"columns": {"charged_at": "instant"}}
    shop.config["rules"]["double-charge"] = DOUBLE | {"window": {"charged_at": "15m"}}
    unreadable(shop, f"ch_{80 - records:05}")

    shop.write().run(code=code)


def test_values_that_cannot_be_read_do_not_become_too_many_run_by_run(tmp_path: Path) -> None:
    """A tenth was never refused, so nobody accepted it: the next tenth is not measured from there."""
    shop = ChargesProject.at(tmp_path / "shop").add(
        *(charge for n in range(100) for charge in twice(2 * n + 1, f"A-{n}"))
    )
    shop.config["datasets"]["charges"] = CHARGES | {"columns": {"charged_at": "instant"}}
    shop.config["rules"]["double-charge"] = DOUBLE | {"window": {"charged_at": "15m"}}
    shop.write().run()
    unreadable(shop, "ch_00180")
    assert shop.run(code=1).rule("double-charge")["findings"]["resolved"] == 10
    unreadable(shop, "ch_00160")

    assert "in 40 of 200 records" in shop.run(code=3).rule("double-charge")["failed"]
    assert shop.cli("allow", "double-charge").code == 0
    assert shop.run(code=1).rule("double-charge")["findings"]["resolved"] == 10


def test_a_tenth_of_the_records_may_lose_their_key_without_a_stop(tmp_path: Path) -> None:
    shop = ChargesProject.at(tmp_path / "shop").add(*(item for n in range(20) for item in twice(2 * n + 1, f"A-{n}")))
    shop.run()
    shop.sql("update charges set order_id = null where id <= 'ch_00004'")

    assert shop.run().rule("double-charge")["findings"]["resolved"] == 2


def test_as_many_records_outside_an_unknown_where_as_inside_it_are_no_reason_to_stop(shop: ChargesProject) -> None:
    """Two records were compared; that two others have no memo, so that `where` is unknown for them, changes nothing."""
    shop.config["rules"]["double-charge"] = DOUBLE | {"where": "memo = 'm'"}
    shop.write()
    shop.sql("alter table charges add column memo text")
    shop.sql("update charges set memo = 'm' where id in ('ch_00001', 'ch_00002')")
    shop.sql("delete from charges where id = 'ch_00005'")

    ended = shop.run()

    assert ended.rule("double-charge")["scanned"] == 2
    assert ended.rule("double-charge")["skipped"][0]["records"] == 2
    assert ended.counts == {"new": 1}


def test_a_where_that_never_let_a_record_pass_is_told(shop: ChargesProject) -> None:
    shop.config["rules"]["double-charge"] = DOUBLE | {"where": "status = 'succeded'"}
    shop.write()

    ended = shop.run(code=3)

    assert "none of 5 records matches its `where`" in ended.rule("double-charge")["failed"]
    assert "`where`" in shop.messages()[0]["failures"][0]["sentence"]


def test_a_where_that_once_let_records_pass_may_let_none_pass_today(shop: ChargesProject) -> None:
    shop.run()
    shop.sql("update charges set status = 'refunded'")

    assert shop.run().counts == {"resolved": 2}


# Dry runs


def test_a_dry_run_where_there_is_no_state_finds_everything_and_leaves_nothing_behind(shop: ChargesProject) -> None:
    before = _files(shop)

    ended = shop.run("--dry-run")

    assert ended.json["status"] == "dry_run"
    assert ended.json["run"] is None
    assert ended.counts == {"new": 2}
    assert len(ended.json["findings"]) == 2
    assert _files(shop) == before


def test_a_dry_run_changes_not_one_byte_of_what_is_known_and_tells_nobody(shop: ChargesProject) -> None:
    shop.run()
    shop.add(*twice(6, "A-4"), charge(8, "A-1", second=600))
    before = _files(shop)

    ended = shop.run("--dry-run")

    assert ended.counts == {"new": 1, "grown": 1, "known": 1}
    assert _files(shop) == before


def test_a_dry_run_tells_what_it_could_not_check(shop: ChargesProject) -> None:
    shop.sql("delete from charges")
    shop.sql("alter table charges drop column order_id")

    assert "order_id" in shop.run("--dry-run", code=2).rule("double-charge")["failed"]
    assert not (shop.folder / "state.db").exists()


def test_a_dry_run_says_of_each_rule_what_the_run_says(shop: ChargesProject) -> None:
    shop.config["rules"]["wrong"] = DOUBLE | {"where": "nothing = 1"}
    shop.config["jobs"]["nightly"]["rules"] = ["double-charge", "wrong"]
    shop.write()
    shop.add(charge(9, None))

    foreseen = [shop.run("--dry-run", code=2).json["rules"], shop.run(code=2).json["rules"]]

    for result in itertools.chain(*foreseen):
        result.pop("groups_before", None)
        result.pop("seconds", None)
    assert foreseen[0] == foreseen[1]
    assert foreseen[0][0]["skipped"]
    assert "nothing" in foreseen[0][1]["failed"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("delete from charges", "is empty"),
        ("update charges set order_id = null", "every record was skipped"),
    ],
)
def test_a_dry_run_does_not_take_an_implausible_dataset_for_a_clean_one(
    shop: ChargesProject, change: str, said: str
) -> None:
    """A rehearsal must not promise "2 resolved" where the run will refuse to resolve anything."""
    shop.run()
    shop.sql(change)

    ended = shop.run("--dry-run", code=3)

    assert said in ended.rule("double-charge")["failed"]


@pytest.mark.server
def test_a_dry_run_writes_nothing_into_a_shared_store(tmp_path: Path, postgres_url: str) -> None:
    shop = ChargesProject.at(tmp_path / "shop", postgres_url.replace("+psycopg", "")).add(*twice(1, "A-1"))
    first = shop.run()
    shop.add(*twice(3, "A-2"))

    ended = shop.run("--dry-run")

    assert ended.counts == {"new": 1, "known": 1}
    assert known(shop.findings()) == known(first.json["findings"])
    assert len(shop.messages()) == 1


def _files(shop: ChargesProject) -> dict[str, str]:
    """Every file of the shop with its content's hash, the database's own lock files aside."""
    files = [path for path in shop.folder.rglob("*") if path.is_file() and not path.name.endswith(("-shm", "-wal"))]
    return {str(file.relative_to(shop.folder)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


# Exit codes, choices, the report


@pytest.mark.parametrize(("severity", "code"), [("critical", 1), ("low", 1)])
def test_fail_on_a_severity_exits_with_1_while_such_a_finding_is_open(
    shop: ChargesProject, severity: str, code: int
) -> None:
    assert shop.run("--fail-on", severity, code=code).json["status"] == "succeeded"
    assert shop.run("--fail-on", severity, code=code).counts == {"known": 2}


def test_fail_on_does_not_count_findings_below_it_or_decided_ones(shop: ChargesProject) -> None:
    shop.config["rules"]["double-charge"] = DOUBLE | {"severity": "low"}
    shop.write()

    shop.run("--fail-on", "medium", code=0)
    shop.run("--fail-on", "low", code=1)
    for finding in shop.findings():
        assert shop.cli("dismiss", finding["id"]).code == 0
    shop.run("--fail-on", "low", code=0)


def test_what_failed_counts_more_than_what_was_found(shop: ChargesProject) -> None:
    shop.with_bank("1;INV-1", "2;INV-1")
    (shop.folder / "shop.sqlite").unlink()

    shop.run("--fail-on", "low", code=3)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "nigthly"), "nightly"),
        (("run", "nightly", "nigthly"), "nightly"),
        (("run", "--rule", "double-chrage"), "double-charge"),
        (("run", "--rule", "idle"), "the rule 'idle'"),
        (("run", "--slot", "tomorrow"), "--slot"),
        (("run", "--slot", START, "--rule", "double-charge"), "--rule"),
        (("run", "--fail-on", "bad"), "--fail-on"),
        (("run", "-c", "nowhere.yaml"), "nowhere.yaml"),
    ],
)
def test_a_wrong_command_is_one_clear_sentence_exit_2_and_no_state(
    shop: ChargesProject, arguments: tuple[str, ...], said: str
) -> None:
    shop.config["rules"]["idle"] = DOUBLE
    shop.write()

    ended = shop.cli(*arguments)

    assert ended.code == 2
    assert said in ended.err
    assert "Traceback" not in ended.err
    assert not (shop.folder / "messages.jsonl").exists()
    assert not (shop.folder / "state.db").exists()


def test_the_report_of_a_run_has_the_documented_shape(shop: ChargesProject) -> None:
    shop.add(charge(6, None))

    report = shop.run("--slot", START).json

    assert list(report) == ["run", "job", "slot", "release", "status", "rules", "findings", "sent"]
    assert report["run"].startswith("run1_")
    assert (report["job"], report["slot"], report["status"]) == ("nightly", START, "succeeded")
    assert len(report["release"]) == 64
    [rule] = report["rules"]
    documented = {"rule", "engine", "scanned", "skipped", "groups", "findings", "money", "seconds"}
    more = {"dataset", "severity", "reason", "read", "first_run", "edited", "groups_before"}
    assert set(rule) == documented | more
    assert (rule["rule"], rule["read"], rule["scanned"], rule["groups"]) == ("double-charge", 6, 6, 2)
    assert rule["skipped"] == [{"column": "order_id", "reason": "null", "records": 1}]
    assert rule["money"] == {"EUR": "40.00"}
    finding = report["findings"][0]
    documented = {"id", "rule", "kind", "state", "severity", "keeper", "surplus", "key"}
    assert documented <= set(finding)
    by_order = {item["key"]["order_id"]: item for item in report["findings"]}
    assert by_order["A-1"]["keeper"] == ["ch_00001"]
    assert by_order["A-1"]["surplus"] == [["ch_00002"]]
    assert by_order["A-1"]["key"] == {"order_id": "A-1", "amount": "20.00", "currency": "EUR"}
    assert (finding["kind"], finding["state"], finding["severity"]) == ("duplicates", "open", "critical")


def test_standard_output_holds_the_json_and_nothing_else(shop: ChargesProject) -> None:
    """A process as users start it, not one of ours: its exit code, streams and start are the real ones."""
    given = [sys.executable, "-m", "reconcile", "run", "--json"]
    ended = subprocess.run(given, cwd=shop.folder, capture_output=True, text=True, timeout=120, check=False)

    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("{")
    assert ended.stdout.rstrip().endswith("}")
    assert ended.stderr == ""


def test_a_channel_that_is_the_terminal_does_not_spoil_the_json(shop: ChargesProject) -> None:
    shop.config["channels"]["team"] = {"type": "file", "path": "-"}
    shop.write()

    ended = shop.run()

    assert ended.json["sent"] == ["team"]
    assert "A-1" in ended.err


def test_rules_of_several_jobs_run_each_in_its_own(shop: ChargesProject) -> None:
    shop.with_bank("1;INV-1", "2;INV-1")
    shop.config["jobs"] = {
        "charges": {"rules": ["double-charge"], "notify": ["team"]},
        "payments": {"rules": ["paid-twice"], "notify": ["team"]},
        "idle": {"rules": ["other"], "notify": []},
    }
    shop.config["rules"]["other"] = PAID
    shop.write()

    ended = shop.run("--rule", "paid-twice", "--rule", "double-charge")

    ran = [(report["job"], [rule["rule"] for rule in report["rules"]]) for report in ended.json]
    assert ran == [("charges", ["double-charge"]), ("payments", ["paid-twice"])]


def test_one_rule_runs_alone_and_leaves_the_findings_of_the_others(shop: ChargesProject) -> None:
    shop.with_bank("1;INV-1", "2;INV-1")
    shop.run()
    shop.sql("delete from charges where id = 'ch_00002'")
    shop.pay("1;INV-1")

    ended = shop.run("--rule", "paid-twice")

    assert [rule["rule"] for rule in ended.json["rules"]] == ["paid-twice"]
    assert ended.counts == {"resolved": 1}
    assert sorted(finding["state"] for finding in shop.findings() if finding["rule"] == "double-charge") == [
        "open",
        "open",
    ]


def test_several_jobs_run_in_turn_each_told_to_its_own_channel(shop: ChargesProject) -> None:
    shop.with_bank("1;INV-1", "2;INV-1")
    shop.config["channels"]["bank"] = {"type": "file", "path": "bank.jsonl", "format": "jsonl"}
    shop.config["jobs"] = {
        "charges": {"rules": ["double-charge"], "notify": ["team"]},
        "payments": {"rules": ["paid-twice"], "notify": ["bank"]},
    }
    shop.write()

    both = shop.run()
    item = shop.run("payments")

    assert [report["job"] for report in both.json] == ["charges", "payments"]
    assert item.json["job"] == "payments"
    assert len(told(shop.messages()[0])) == 2
    assert told(shop.messages("bank.jsonl")[0], "paid-twice") == [("new", "1", ["2"])]


def test_one_channel_of_two_jobs_with_the_same_rule_is_told_once(shop: ChargesProject) -> None:
    shop.config["jobs"]["hourly"] = {"rules": ["double-charge"], "notify": ["team"]}
    shop.write()

    shop.run()

    [message] = shop.messages()
    assert len(told(message)) == 2


# Slots


def test_a_slot_runs_once_and_a_second_trigger_says_so(anywhere: ChargesProject) -> None:
    first = anywhere.run("--slot", START)
    anywhere.add(*twice(6, "A-4"))

    again = anywhere.run("--slot", "2026-11-21T06:15+01:00")

    assert again.json["repeated"] is True
    assert again.json["run"] == first.json["run"]
    assert again.json["rules"] == first.json["rules"]
    assert known(again.json["findings"]) == known(first.json["findings"])
    assert len(anywhere.messages()) == 1
    assert "earlier run" in anywhere.cli("run", "--slot", START).out


def test_a_second_trigger_of_an_old_slot_still_answers_for_fail_on(shop: ChargesProject) -> None:
    """A wrapper that asks twice gets the same exit code, though a later slot has run meanwhile."""
    shop.run("--slot", START, "--fail-on", "critical", code=1)
    shop.run("--slot", NEXT, "--fail-on", "critical", code=1)

    shop.run("--slot", START, "--fail-on", "critical", code=1)


def test_a_slot_that_failed_is_attempted_again_as_the_same_run_and_does_only_what_failed(
    anywhere: ChargesProject,
) -> None:
    anywhere.with_bank("1;INV-1", "2;INV-1")
    bank = anywhere.folder / "bank"
    bank.rename(anywhere.folder / "away")
    failed = anywhere.run("--slot", START, code=3)
    (anywhere.folder / "away").rename(bank)
    anywhere.add(*twice(6, "A-4"))

    ended = anywhere.run("--slot", START)

    assert ended.json["run"] == failed.json["run"]
    assert ended.json["status"] == "succeeded"
    assert ended.rule("double-charge") == failed.rule("double-charge")
    assert ended.rule("paid-twice")["findings"]["new"] == 1
    first, second = anywhere.messages()
    assert (len(told(first)), [failure["ended"] for failure in first["failures"]]) == (2, [False])
    assert (told(second), told(second, "paid-twice")) == ([], [("new", "1", ["2"])])
    assert [failure["ended"] for failure in second["failures"]] == [True]
    assert anywhere.run("--slot", START).json["repeated"] is True
    assert anywhere.intact()


def test_the_next_slot_finds_what_came_since(shop: ChargesProject) -> None:
    first = shop.run("--slot", START)
    shop.add(*twice(6, "A-4"))

    second = shop.run("--slot", NEXT)

    assert first.json["run"] != second.json["run"]
    assert second.counts == {"new": 1, "known": 2}
    assert shop.messages()[-1]["since"].startswith("2026-11-21T05:15:00")


# Datasets without an id


def test_a_dataset_without_an_id_has_findings_that_name_file_and_row(shop: ChargesProject) -> None:
    shop.with_bank()
    shop.config["datasets"]["payments"] = {"source": "bank", "path": "*.csv"}
    shop.config["rules"]["paid-twice"] = {k: v for k, v in PAID.items() if k != "keep"}
    shop.write()
    shop.pay("1;INV-1", "2;INV-2", "2;INV-2")

    first = shop.run()
    second = shop.run()

    assert first.rule("paid-twice")["findings"]["new"] == 1
    assert second.rule("paid-twice")["findings"]["known"] == 1
    assert told(shop.messages()[0], "paid-twice") == [("new", "payments.csv, row 3", ["payments.csv, row 4"])]


# Python


def test_python_runs_the_same_job_with_the_same_result(shop: ChargesProject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shop.folder)

    with reconcile.load("reconcile.yaml") as project:
        rehearsed = project.run("nightly", dry_run=True)
        report = project.run("nightly", slot=START)

    assert rehearsed.status == "dry_run"
    assert (report.status, report.sent) == ("succeeded", ("team",))
    assert shop.run("--slot", START).json["repeated"] is True
