"""Cleaning is safe unless somebody says otherwise, and what was said of it is read exactly."""

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconcile.cleaning.planning.binding import binding_of
from reconcile.config.cleaning import RetryTemplate
from reconcile.findings.identity import RuleIdentity
from reconcile.schedule.maintenance import MaintenanceWindow
from rules.cleaning import POLICIES, ApprovalPolicy, Caps, Limits, Policy, parse_when, stricter
from rules.kinds.base import Rule
from tests.reconcile.config.mistakes import DATABASE, cleaning
from tests.support.config import CLEANING, install_plugin, loaded, problems

KEYS = {"NEW": "11" * 32, "OLD": "22" * 32}
EUR, USD = Decimal(500), Decimal("12.50")
BEFORE = """\
sources: {shop: {type: files}}
datasets: {charges: {source: shop, path: a.csv, id: id}}
rules:
  plain: {kind: duplicates, dataset: charges, key: [order_id]}
  rich:
    kind: duplicates
    dataset: charges
    where: status = 'paid'
    key: [order_id, {amount: [abs, {round: 2}]}, {name: trim}]
    nulls: {order_id: match}
    except: [[1, 2], [a, b]]
    window: {charged_at: 15m}
    distinct: vendor
    having: records > 2
    minimum: 3
    keep: [most_complete, {first: charged_at}, {prefer: {status: [paid, open]}}]
    severity: critical
    owner: "@finance"
    runbook: https://wiki.example.com/x
    engine: embedded
  every: {kind: duplicates, dataset: charges, key: all, gap: {position: 3}, keep: most_complete}
"""


def rule(folder: Path, *lines: str) -> Rule:
    return loaded(folder, cleaning(*lines)).rules["twins"]


# What is read


def test_a_rule_that_says_nothing_of_cleaning_cleans_nothing(tmp_path: Path) -> None:
    assert rule(tmp_path).clean is None


def test_a_rule_that_cleans_asks_first_refuses_references_and_has_small_limits(tmp_path: Path) -> None:
    twins = rule(tmp_path, "clean: {action: delete}")

    assert twins.clean is not None
    assert (twins.clean.references, twins.clean.triggers, twins.clean.ignore_drift) == ("refuse", None, ())
    assert twins.approval.asks(surplus=1, records=2, money={}) == "required"
    assert not twins.approval.may_ask_nobody
    assert twins.approval_expires == dt.timedelta(days=7)
    assert twins.limits.caps(scanned=1_000_000) == Caps(records=100, share=10_000, group=5, money={})
    assert twins.retry == "patient"


def test_everything_that_is_said_of_cleaning_is_read(tmp_path: Path) -> None:
    project = loaded(tmp_path, CLEANING, KEYS)
    gone, marked, merged = (project.rules[name] for name in ("gone", "marked", "merged"))

    assert gone.clean is not None
    assert (gone.clean.action, gone.clean.references, gone.clean.triggers) == ("delete", "capture", "known")
    assert (gone.clean.ignore_drift, gone.clean.plan_rows) == (("updated_at",), 50)
    assert gone.approval.may_ask_nobody
    assert gone.approval_expires == dt.timedelta(days=2)
    assert gone.limits.caps(2001) == Caps(10, 11, 3, {"EUR": EUR, "USD": USD})
    assert gone.retry == "gentle"
    assert marked.clean is not None
    assert marked.clean.ignore_drift == ("updated_at",)
    assert merged.approval.asks(surplus=1, records=2, money={}) == "two_person"
    assert project.retries == {
        "gentle": RetryTemplate.model_validate({"base": "5s", "cap": "10m", "attempts": 5, "budget": "6h"})
    }
    assert project.maintenance == (
        MaintenanceWindow("shop", 22 * 60, 2 * 60, (0, 1), "Europe/Berlin"),
        MaintenanceWindow("shop", 0, 24 * 60, (6,), "UTC"),
    )
    assert project.undo_window == dt.timedelta(days=60)
    assert project.encryption_keys == (bytes.fromhex(KEYS["NEW"]), bytes.fromhex(KEYS["OLD"]))
    assert sorted(project.audit.anchors) == ["log", "repo"]
    notes, tags = project.datasets["customers"].references
    assert (notes.table, notes.columns, notes.to) == ("notes", ("customer_id",), ("id",))
    assert (tags.table, tags.columns, tags.to) == ("tags", ("customer_id",), ())


def test_the_windows_of_a_project_are_in_its_time_zone_unless_they_say_theirs(tmp_path: Path) -> None:
    window = "maintenance: [{source: shop, from: '22:00', to: '02:00'}]\n"

    project = loaded(tmp_path, f"timezone: Asia/Tokyo\n{window}{cleaning()}")

    assert project.maintenance == (MaintenanceWindow("shop", 22 * 60, 2 * 60, tuple(range(7)), "Asia/Tokyo"),)


def test_an_action_of_another_package_is_read_by_its_own_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_plugin(tmp_path, monkeypatch)

    clean = rule(tmp_path, "clean: {action: burn}").clean

    assert type(clean).__name__ == "BurnSettings"


def test_a_setting_without_use_is_a_note_not_a_mistake(tmp_path: Path) -> None:
    project = loaded(tmp_path, cleaning("approval: none", "limits: {records: 3}"))

    assert [(warning.line, warning.sentence) for warning in project.warnings if "`clean`" in warning.sentence] == [
        (9, "`approval` has no effect in a rule without `clean`; remove it"),
        (10, "`limits` has no effect in a rule without `clean`; remove it"),
    ]


@pytest.mark.parametrize(
    "state", ["shop.db", "./shop.db", "data/../shop.db", "link.db", "hard.db", "shop.db?timeout=5"]
)
def test_the_state_and_the_records_are_not_in_one_file_whatever_it_is_called(state: str, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "shop.db").touch()
    (tmp_path / "link.db").symlink_to("shop.db")
    (tmp_path / "hard.db").hardlink_to(tmp_path / "shop.db")

    told = problems(tmp_path, f"state: sqlite:///{state}\n" + cleaning("clean: {action: delete}"))

    assert told == [
        "10:5: `clean`: the state and the records to clean cannot be in one file; set `state` to another file"
    ]


def test_who_only_reads_the_file_of_the_state_is_let(tmp_path: Path) -> None:
    project = loaded(tmp_path, "state: sqlite:///shop.db\n" + cleaning("severity: high"))

    assert project.rules["twins"].clean is None


@pytest.mark.parametrize("length", [300, 5000], ids=["longer than a name", "longer than a path"])
def test_a_file_name_that_no_disk_takes_is_no_mistake_until_it_is_opened(length: int, tmp_path: Path) -> None:
    project = loaded(tmp_path, cleaning("clean: {action: delete}").replace("shop.db", f"{'9' * length}.db"))

    assert project.rules["twins"].clean is not None


# Who is asked


@pytest.mark.parametrize(
    ("written", "surplus", "money", "asked"),
    [
        ({"then": "none"}, 100, {}, "none"),
        ({}, 1, {}, "required"),
        ({"when": "surplus > 3", "else": "none"}, 3, {}, "none"),
        ({"when": "surplus > 3", "else": "none"}, 4, {}, "required"),
        ({"when": "records <= 2", "then": "none"}, 1, {}, "none"),
        ({"when": "records <= 2", "then": "none", "else": "two_person"}, 2, {}, "two_person"),
        ({"when": "EUR >= 500", "then": "two_person", "else": "none"}, 1, {"EUR": "499.99"}, "none"),
        ({"when": "EUR >= 500", "then": "two_person", "else": "none"}, 1, {"EUR": "500"}, "two_person"),
        ({"when": "EUR >= 500", "else": "none"}, 1, {"USD": "900"}, "required"),
        ({"when": "EUR >= 500", "else": "none"}, 1, {"USD": "0", "EUR": "1"}, "none"),
        ({"when": "EUR > 10", "else": "none"}, 1, {"EUR ": "900"}, "required"),
        ({"when": "EUR > 10", "else": "none"}, 1, {"eur": "900"}, "required"),
        ({"when": "EUR > 10", "else": "none"}, 1, {"eur": "6", "ＥＵＲ": "6"}, "required"),
        ({"when": "EUR > 10", "else": "none"}, 1, {"eur": "6"}, "none"),
        ({"when": "EUR > 10", "else": "none"}, 1, {"€": "900"}, "required"),
        ({"when": "EUR > 10 and surplus > 9", "else": "none"}, 1, {"€": "900"}, "none"),
        ({"when": "EUR >= 500 or USD >= 500", "else": "none"}, 1, {"USD": "9", "EUR": "9"}, "none"),
        ({"when": "surplus > 3", "else": "none"}, 1, {"EURO": "9"}, "none"),
        ({"when": "money >= 500", "else": "none"}, 1, {"USD": "900"}, "required"),
        ({"when": "money >= 500", "else": "none"}, 1, {"USD": "9"}, "none"),
        ({"when": "money >= 500", "else": "none"}, 1, {"USD": "9", "EUR": "9"}, "required"),
        ({"when": "EUR < 500", "then": "none"}, 1, {}, "required"),
        ({"when": "surplus = 1 and (EUR < 5 or USD < 5)", "then": "none"}, 1, {"EUR": "9"}, "none"),
        ({"when": "surplus > 3", "then": "two_person", "else": "none"}, 4, {}, "two_person"),
    ],
)
def test_who_is_asked_depends_on_the_group_and_doubt_asks_more(
    written: dict[str, str], surplus: int, money: dict[str, str], asked: Policy
) -> None:
    approval = ApprovalPolicy.model_validate(written)

    amounts = {code: Decimal(amount) for code, amount in money.items()}

    assert approval.asks(surplus=surplus, records=surplus + 1, money=amounts) == asked


@given(then=st.sampled_from(POLICIES), other=st.sampled_from(POLICIES), surplus=st.integers(1, 9))
def test_an_amount_nobody_knows_asks_the_stricter_of_the_two(then: Policy, other: Policy, surplus: int) -> None:
    if then == other:
        return
    for when in ("money > 5", "money <= 5", "EUR > 5", "not (USD < 5)", "surplus < 0 or money > 5"):
        approval = ApprovalPolicy.model_validate({"when": when, "then": then, "else": other})

        assert approval.asks(surplus=surplus, records=9, money={}) == stricter(then, other)


@pytest.mark.parametrize("text", ["surplus > 3", "surplus > 3 and EUR > 2.5", "not (records in (2, 3))"])
def test_the_columns_of_a_condition_are_known(text: str) -> None:
    assert parse_when(text).expression.text == text


# Limits


@given(scanned=st.integers(0, 10**9), share=st.decimals("0.001", "100", places=3))
def test_a_share_is_rounded_up_exactly(scanned: int, share: Decimal) -> None:
    result = Limits.model_validate({"share": f"{share}%"}).caps(scanned).share

    assert result is not None
    assert (result - 1) * 100 * 1000 < scanned * share * 1000 <= result * 100 * 1000 or result == scanned == 0


def test_a_limit_that_is_said_leaves_the_others_as_they_are(tmp_path: Path) -> None:
    limits = rule(tmp_path, "clean: {action: delete}", "limits: {records: 1000}").limits

    assert limits.caps(50) == Caps(records=1000, share=1, group=5, money={})
    assert limits.caps(50).most == 1
    assert limits.caps(10**7).most == 1000


def test_a_source_may_change_as_much_as_the_rule_that_may_change_most_in_it(tmp_path: Path) -> None:
    project = loaded(tmp_path, CLEANING.replace("limits: {shop: {records: 500, money: {EUR: 2000}}}\n", ""), KEYS)
    limited = loaded(tmp_path, CLEANING, KEYS)
    idle = loaded(tmp_path, cleaning())

    assert project.caps_of("shop") == Caps(records=100)  # no limit on money, since three rules have none
    assert limited.caps_of("shop") == Caps(records=500, money={"EUR": Decimal(2000)})
    assert idle.caps_of("shop") == Caps(records=100)


def test_a_source_has_a_limit_on_money_where_each_of_its_rules_has_one(tmp_path: Path) -> None:
    money = DATABASE.replace("id: id}", "id: id, money: {amount: balance, currency: EUR}}")
    rules = "".join(
        f"  {name}: {{kind: duplicates, dataset: customers, key: [a], clean: {{action: delete}}, "
        f"limits: {{records: {records}, money: {{{money_}}}}}}}\n"
        for name, records, money_ in (("one", 10, "EUR: 5, USD: 1"), ("two", 7, "EUR: 50"))
    )

    assert loaded(tmp_path, f"{money}rules:\n{rules}").caps_of("shop") == Caps(
        records=10, money={"EUR": Decimal(50), "USD": Decimal(1)}
    )


# What a release and a finding are known by


def test_an_upgrade_changes_neither_the_release_nor_what_a_rule_is_known_by(tmp_path: Path) -> None:
    """The hashes are those of the version before cleaning: another one would tell every finding anew. Only that of
    `rich` is newer: its `trim` drops characters that show nothing since version 2."""
    project = loaded(tmp_path, BEFORE)

    definitions = {
        name: RuleIdentity.of(item, dataset_definition="shop").definition for name, item in project.rules.items()
    }

    assert project.release == "b9917e8a4e2da26c06d48e029824809721ab2e498cef2ffe16bc4960ad2f33cf"
    assert definitions == {
        "plain": "231ed783d53721df5980ffce74e35c4234471c73943a4211132b1e5983e83a3b",
        "rich": "1ff75dffdce3ffef7b265344f87d0db1ffbac5031388ed0d91f4c1497483983c",
        "every": "c4666381dfaa18fc67b299cd6ee1d493ccddc1ed195a619eb3ef4462dfee88db",
    }


def test_what_is_done_about_findings_does_not_change_what_they_are(tmp_path: Path) -> None:
    plain = RuleIdentity.of(rule(tmp_path))
    cleans = RuleIdentity.of(
        rule(tmp_path, "clean: {action: delete}", "approval: none", "limits: {records: 3}", "retry: never")
    )

    assert plain.definition == cleans.definition


MERGE = "clean: {action: merge, fields: {phone: longest}, surplus: delete}"


def bound(folder: Path, *lines: str) -> str:
    project = loaded(folder, cleaning(*lines))
    return binding_of(project, project.rules["twins"])


def test_an_upgrade_does_not_change_what_a_rule_is_bound_to(tmp_path: Path) -> None:
    """Another digest here is one more run that only tells, for every rule that cleans, and void approvals: say so in
    the changelog, or find out what changed."""
    assert bound(tmp_path, MERGE) == "a7f1532e6a93520e289c0ebc7a0adcf1505d9f7efabf9091e20c3a3102075c13"


@pytest.mark.parametrize(
    "lines",
    [
        ("clean: {action: delete}",),
        ("clean: {action: merge, fields: {phone: most_frequent}, surplus: delete}",),
        ("clean: {action: merge, fields: {phone: longest}, surplus: {set: {status: x}}}",),
        ("clean: {action: merge, fields: {phone: longest}, surplus: delete, references: repoint}",),
        (MERGE, "keep: [{first: created_at}]"),
        (MERGE, "where: id > 5"),
    ],
)
def test_an_edit_of_what_matches_or_what_is_done_to_whom_is_seen(lines: tuple[str, ...], tmp_path: Path) -> None:
    """So that the next run only tells, and approvals given before are void."""
    assert bound(tmp_path, MERGE) != bound(tmp_path, *lines)


@pytest.mark.parametrize(
    "line", ["approval: two_person", "limits: {records: 7}", "retry: quick", "severity: high", "approval_expires: 1d"]
)
def test_who_is_asked_and_how_much_may_be_done_is_no_edit_of_what_is_done(line: str, tmp_path: Path) -> None:
    assert bound(tmp_path, MERGE) == bound(tmp_path, MERGE, line)


def test_a_new_version_of_an_action_is_an_edit_of_what_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = bound(tmp_path, MERGE)

    monkeypatch.setattr(type(rule(tmp_path, MERGE).clean), "version", 2)

    assert bound(tmp_path, MERGE) != before


def test_everything_said_of_cleaning_is_in_the_release_but_the_keys(tmp_path: Path) -> None:
    project = loaded(tmp_path, CLEANING, KEYS)
    other_keys = loaded(tmp_path, CLEANING, {"NEW": "33" * 32, "OLD": "44" * 32})
    edited = {
        loaded(tmp_path, CLEANING.replace(old, new), KEYS).release
        for old, new in (
            ("references: capture", "references: refuse"),
            ("approval: none", "approval: required"),
            ("records: 500", "records: 501"),
            ("base: 5s", "base: 6s"),
            ('from: "22:00"', 'from: "21:00"'),
            ("undo_window: 60d", "undo_window: 61d"),
            ("path: anchors.jsonl", "path: anchors.log"),
            ("to: [id]", "to: [customer_id]"),
        )
    }

    assert other_keys.release == project.release
    assert len(edited | {project.release}) == 9
    assert not [key for key in KEYS.values() if key in project.canonical]


def test_a_key_that_stands_in_the_file_is_not_kept_with_the_release(tmp_path: Path) -> None:
    project = loaded(tmp_path, f"encryption_key: {KEYS['NEW']}\n{cleaning()}")

    assert project.files is None
    assert KEYS["NEW"] not in project.canonical
