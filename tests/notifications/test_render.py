"""The words of a message."""

import datetime as dt
from dataclasses import replace
from decimal import Decimal

import pytest

from notifications import base
from notifications.base import (
    BalanceNotice,
    CleaningNotice,
    DifferenceNotice,
    FailureNotice,
    GroupNotice,
    PlanNotice,
    RuleNotice,
)
from notifications.wording import document, render, words
from notifications.wording.headline import headline
from tests.support.notifications import LATE, SLOT, double_charges, first_run, group, night, trouble

FAILED = FailureNotice("bank-vs-ledger", "Source 'bank' did not answer at exports: permission denied.")


def told(*rules: RuleNotice, failures: tuple[FailureNotice, ...] = ()) -> str:
    return document.text(render.document(night(*rules, failures=failures), render.SLACK))


def test_one_finding_reads_as_a_whole_message() -> None:
    """Changing words on purpose? Read the new text as the person on call would, then paste it here."""
    shown = told(replace(double_charges(1), why="a client retried after a time-out"))

    assert shown == (
        "🔴 Critical: 1 new double charge, 20.00 EUR at risk\n"
        "job nightly · slot Sat 21 Nov 2026, 06:15 CET · run 4f1c09a2\n"
        "\n"
        "🔴 double-charge · critical · @finance\n"
        "Since 06:15 yesterday: 1 surplus record.\n"
        "Probable cause: a client retried after a time-out\n"
        "  • order_id A-17 · amount 20.00 · currency EUR\n"
        "    keep ch_1, surplus ch_2 · 20.00 EUR · 30 s apart on 20 Nov, 23:15:00 · F-7K2M0000\n"
        'Next: reconcile show F-7K2M0000 · not a duplicate: reconcile dismiss F-7K2M0000 --note "…"\n'
        "What to do: https://wiki.example.com/double-charge\n"
    )


def test_of_many_groups_three_are_shown_and_the_rest_is_in_the_thread_and_counted() -> None:
    shown = render.document(night(double_charges(5_000)), render.SLACK)

    text = document.text(shown)
    assert len(shown.sections[0].groups) == 3
    assert "The largest 3:" in text
    assert "And 4,997 more (the next 30 in the thread): reconcile findings --rule double-charge" in text
    assert len(shown.details[0].groups) == 30
    assert "And 4,967 more groups: reconcile findings --rule double-charge" in text


def test_what_could_not_be_checked_comes_first_in_the_message_and_last_in_its_headline() -> None:
    shown = render.document(night(double_charges(1), failures=(FAILED,)), render.SLACK)

    assert shown.headline == ("🔴 Critical: 1 new double charge, 20.00 EUR at risk · ⚠️ could not check bank-vs-ledger")
    assert [section.kind for section in shown.sections] == ["failure", "rule"]
    assert "this is not a clean result" in document.text(shown)


def test_a_failure_alone_never_reads_as_nothing_new() -> None:
    shown = told(failures=(FAILED,))

    assert shown.startswith("⚠️ Could not check bank-vs-ledger\n")
    assert "✅" not in shown


def test_a_failure_that_ended_is_told_as_working_again() -> None:
    shown = told(failures=(replace(FAILED, ended=True, since=SLOT),))

    assert shown.startswith("✅ Checked again: bank-vs-ledger; nothing new\n")
    assert "Works again: bank-vs-ledger, not checked since " in shown
    assert FAILED.sentence not in shown, "what was to be done about it is not to be done any more"


def test_a_first_run_says_that_it_sums_up_what_already_exists() -> None:
    shown = told(first_run(double_charges(12)))

    assert "First run: 12 double charges (12 surplus records) already exist, 240.00 EUR at risk." in shown
    assert shown.startswith("🔴 Critical, first run: 12 double charges, 240.00 EUR at risk\n")
    assert "You'll see this summary once" in shown
    assert "new double" not in shown


def test_where_only_a_rule_is_new_the_first_run_is_that_of_the_rule() -> None:
    open_before = replace(double_charges(0), known=4)

    shown = told(first_run(double_charges(12)), open_before)

    assert shown.startswith("🔴 Critical, first run of the rule: 12 double charges, 240.00 EUR at risk\n")


def test_a_summary_for_a_new_channel_is_not_called_a_first_run() -> None:
    shown = told(replace(first_run(double_charges(12)), first_message=True))

    assert shown.startswith("🔴 Critical, first message to this channel: 12 double charges, 240.00 EUR at risk\n")
    assert "First message to this channel: 12 double charges" in shown
    assert "irst run" not in shown


def test_a_summary_after_an_edit_is_not_called_a_first_run() -> None:
    edited = replace(first_run(double_charges(7)), edited=True)

    shown = told(edited)

    assert shown.startswith("🔴 Critical, after an edit of the rule: 7 double charges, 140.00 EUR at risk\n")
    assert "First run after an edit of the rule: " in shown
    assert "first run:" not in told(edited, edited)


def test_new_grown_and_reopened_are_told_apart_and_open_ones_counted() -> None:
    rule = replace(double_charges(4), new=2, grown=1, reopened=1, known=9, resolved=2)

    shown = told(rule)

    assert shown.startswith("🔴 Critical: 4 double charges, 80.00 EUR at risk\n")
    assert "Since 06:15 yesterday: 4 surplus records (2 new, 1 grown and 1 reopened). 13 open in total." in shown
    assert "✅ Resolved since 06:15 yesterday: 2 of double-charge" in shown


def test_a_rule_whose_name_is_no_noun_counts_groups_in_its_dataset() -> None:
    rule = replace(double_charges(2), rule="tracks-by-name", dataset="tracks", money={})

    assert told(rule).startswith("🔴 Critical: 2 new groups of duplicates in tracks\n")
    assert "2 new groups of duplicates in tracks (2 surplus records)" in told(rule, double_charges(1))


def test_a_name_too_long_to_count_with_is_not_counted_with() -> None:
    rule = replace(double_charges(2), rule="double-" + "x" * 5_000)

    assert "2 new groups of duplicates" in told(rule)


def test_rules_are_ordered_by_severity_and_the_headline_counts_the_others() -> None:
    low = replace(double_charges(9), rule="low-rule", severity="low")
    high = replace(double_charges(1), rule="twin-contact", severity="high")

    shown = render.document(night(low, double_charges(2), high), render.SLACK)

    names = [document.line_text(section.lines[0]) for section in shown.sections]
    assert [name.split()[1] for name in names] == ["double-charge", "twin-contact", "low-rule"]
    assert shown.headline == "🔴 Critical: 2 new double charges, 40.00 EUR at risk · 10 more findings of 2 rules"

    assert headline(night(double_charges(2), high)) == (
        "🔴 Critical: 2 new double charges, 40.00 EUR at risk · 1 new twin contact, 20.00 EUR at risk"
    )


def test_first_runs_of_several_rules_are_one_list_without_findings() -> None:
    first = replace(double_charges(9), first_run=True, skipped=("1 record skipped: email is null",))
    twins = replace(first, rule="twin-contact", severity="low", owner="ops", skipped=(), why="a form sent twice")
    news = replace(double_charges(1), rule="returns", severity="medium")

    shown = render.document(night(twins, first, news), render.PAPER)

    assert [len(section.groups) for section in shown.sections] == [1, 0]
    assert [document.line_text(line) for line in shown.sections[1].lines] == [
        (
            "First run: 2 rules report findings that already exist. You'll see this summary once; later runs report "
            "only new findings."
        ),
        "🔴 double-charge · critical · @finance: 9 double charges (9 surplus records), 180.00 EUR at risk",
        "1 record skipped: email is null",
        "🔵 twin-contact · low · ops: 9 twin contacts (9 surplus records), 180.00 EUR at risk",
        "Probable cause: a form sent twice",
    ]
    assert document.line_text(shown.sections[1].after[0]) == "Next: reconcile findings --rule double-charge"
    assert len(render.document(night(first), render.PAPER).sections[0].groups) == 9


def test_first_runs_of_many_rules_are_counted() -> None:
    rules = [replace(double_charges(1), rule=f"rule-{n:02}", first_run=True) for n in range(18)]

    [summary] = render.document(night(*rules), render.PAPER).sections

    assert len(summary.lines) == 17
    assert document.line_text(summary.lines[-1]) == "And 3 findings of 3 more rules"


def test_what_was_left_out_is_told_with_its_reason() -> None:
    rule = replace(double_charges(1), skipped=("3 records left out, order_id is null", "b", "c", "d", "e"))

    shown = told(rule)

    assert "\n3 records left out, order_id is null\n" in shown
    assert "More records were skipped, for 2 other reasons" in shown


def test_a_reopened_finding_brings_its_history() -> None:
    again = replace(group(0, state="reopened"), history="resolved on 3 Nov; was told first on 1 Nov")

    shown = told(replace(double_charges(1), largest=(again,)))

    assert "F-7K2M0000 (reopened)" in shown
    assert "resolved on 3 Nov; was told first on 1 Nov" in shown


def test_the_project_stands_between_what_is_urgent_and_the_rest() -> None:
    notice = replace(night(double_charges(1), failures=(FAILED,)), project="shop-production", cleaning=(DONE,))

    assert headline(notice) == (
        "🔴 Critical: 1 new double charge, 20.00 EUR at risk · shop-production · 12 findings cleaned · "
        "⚠️ could not check bank-vs-ledger"
    )
    assert headline(replace(trouble(), project="shop-staging")).endswith(" (expected every 26h) · shop-staging")
    assert document.text(render.document(notice, render.SLACK)).splitlines()[1].startswith("shop-production · job ")


def test_a_grown_finding_names_the_records_that_joined_and_what_they_add() -> None:
    joined = tuple(f"ch_{number}" for number in range(7))
    grown = replace(group(0, state="grown"), joined=joined, added={"EUR": Decimal("140.00")})

    shown = told(replace(double_charges(1), new=0, grown=1, largest=(grown,)))

    assert "    Joined since the last message: ch_0, ch_1, ch_2, ch_3, ch_4, 2 more, adds 140.00 EUR\n" in shown


def test_many_rules_and_wide_keys_stay_inside_the_room_and_are_counted() -> None:
    wide = replace(group(0), key={f"column_{n}": "x" * 500 for n in range(40)}, surplus=("y" * 300,) * 50)
    rules = [replace(double_charges(90), rule=f"rule-{n}", largest=(wide,) * 40, why="w" * 900) for n in range(60)]

    shown = render.document(night(*rules), render.SLACK)

    assert sum(section.size() for section in shown.sections) <= render.SLACK.units
    assert sum(section.size() for section in shown.details) <= render.SLACK.units
    assert "more rules: reconcile findings" in document.text(shown)
    assert "34 more columns" in document.text(shown)


def test_a_discrepancy_reads_with_both_sides_and_the_balance() -> None:
    """Changing words on purpose? Read the new text as the person on call would, then paste it here."""
    different = DifferenceNotice("amount / total", "120.00", "100.00")
    pair = replace(group(0), keeper="", surplus=(), seconds_apart=(), first=None, last=None, form="mismatch")
    pair = replace(pair, in_words="amounts differ", left=("bank 12",), right=("ledger 7",), differences=(different,))
    lone = replace(pair, finding="F-2", in_words="missing in ledger", right=(), differences=(), form_reason="no key")
    rule = replace(
        double_charges(2),
        rule="bank-vs-ledger",
        kind="comparison",
        records=0,
        datasets=("bank", "ledger"),
        nouns=("discrepancy", "discrepancies"),
        forms={"left_only": 1, "mismatch": 1},
        in_words=("1 missing in ledger", "1 amount differs"),
        balance=(
            BalanceNotice("EUR", *map(Decimal, ("120", "100", "0.01", "15", "4.99")), {"amount differs": Decimal(15)}),
        ),
        runbook=None,
        largest=(pair, lone),
    )

    assert told(rule) == (
        "🔴 Critical: 2 new discrepancies between bank and ledger, 40.00 EUR at risk\n"
        "job nightly · slot Sat 21 Nov 2026, 06:15 CET · run 4f1c09a2\n"
        "\n"
        "🔴 bank-vs-ledger · critical · @finance\n"
        "Since 06:15 yesterday: 1 missing in ledger, 1 amount differs.\n"
        "Balance in EUR: bank 120.00, ledger 100.00, difference 20.00, explained by findings 15.00 "
        "(amount differs 15.00), not yet due 4.99, in matched records 0.01\n"
        "  • order_id A-17 · amount 20.00 · currency EUR\n"
        "    amounts differ · bank 12 · ledger 7 · 20.00 EUR · F-7K2M0000\n"
        "    amount / total 120.00 ≠ 100.00\n"
        "  • order_id A-17 · amount 20.00 · currency EUR\n"
        "    missing in ledger (no key) · bank 12 · 20.00 EUR · F-2\n"
        'Next: reconcile show F-7K2M0000 · accept: reconcile dismiss F-7K2M0000 --note "…"\n'
    )


def test_a_discrepancy_of_many_records_fields_and_currencies_is_counted() -> None:
    line = BalanceNotice("EUR", *map(Decimal, ("1", "1", "0", "0", "0")))
    records, fields = ("y" * 300,) * 50, (DifferenceNotice("f" * 90, "x" * 500, "z" * 500),) * 40
    wide = replace(group(0), surplus=(), form="unbalanced", left=records, right=records, differences=fields)
    rules = [
        replace(
            double_charges(90), rule=f"rule-{n}", largest=(wide,) * 40, forms={"unbalanced": 90}, balance=(line,) * 9
        )
        for n in range(60)
    ]

    shown = render.document(night(*rules), render.SLACK)

    assert sum(section.size() for section in shown.sections) <= render.SLACK.units
    assert "45 more" in document.text(shown)
    assert "34 more fields" in document.text(shown)
    assert "Balance in 5 more currencies: see the report of the run" in document.text(shown)


def test_nothing_new_is_one_short_line() -> None:
    rule = replace(double_charges(0), known=12, resolved=1)

    assert told(rule).startswith("✅ Nothing new in 1 rule; 1 finding resolved; 12 findings still open\n")


def test_a_trouble_with_reconcile_itself_names_no_run_and_no_slot() -> None:
    """Changing words on purpose? Read the new text as the person on call would, then paste it here."""
    assert document.text(render.document(trouble(), render.SLACK)) == (
        "⚠️ Reconcile: job nightly has not succeeded since 20 Nov 06:15 (expected every 26h)\n"
        "Reconcile itself · job nightly · noticed Sat 21 Nov 2026, 08:15 CET\n"
        "\n"
        "See its runs: reconcile runs nightly\n"
        "You'll get another message when it is over.\n"
    )


def test_a_trouble_that_is_over_says_what_it_was_and_how_it_ended() -> None:
    over = replace(LATE, ended=True, end="Job nightly succeeded again, on 21 Nov 11:10.")

    assert document.text(render.document(trouble(over), render.SLACK)) == (
        "✅ Job nightly succeeded again, on 21 Nov 11:10\n"
        "Reconcile itself · job nightly · noticed Sat 21 Nov 2026, 08:15 CET\n"
        "\n"
        "The trouble lasted 3 h: Job nightly has not succeeded since 20 Nov 06:15 (expected every 26h).\n"
    )


@pytest.mark.parametrize(
    ("sentence", "first", "below"),
    [
        ("PostgreSQL was restored.", "PostgreSQL was restored", ()),
        ("The clock jumped to 1. 2. 2027. Look at it.", "the clock jumped to 1. 2. 2027", ("Look at it.",)),
        (
            "The configuration cannot be used\na.yaml:1:1: `x` is\n\n  b.yaml:2:1: y",
            "the configuration cannot be used",
            ("a.yaml:1:1: `x` is", "b.yaml:2:1: y"),
        ),
        ("x" * 700, "x" * 119 + "…", ("x" * 499 + "…",)),
        ("A\n" + "line\n" * 14, "A", (*["line"] * 12, "And 2 more lines")),
        ("", "", ()),
    ],
)
def test_the_first_sentence_of_a_trouble_is_its_headline(sentence: str, first: str, below: tuple[str, ...]) -> None:
    shown = render.document(trouble(replace(LATE, sentence=sentence), job=None), render.SLACK)

    assert shown.headline == f"⚠️ Reconcile: {first}"
    assert shown.about == "Reconcile itself · noticed Sat 21 Nov 2026, 08:15 CET"
    assert tuple(map(document.line_text, shown.sections[0].lines)) == (
        *below,
        "You'll get another message when it is over.",
    )


def test_only_a_plain_web_address_becomes_a_link() -> None:
    bad = replace(double_charges(1), runbook="javascript:alert(1)")

    after = render.document(night(bad), render.SLACK).sections[0].after

    assert after[-1] == (document.TextSpan("What to do: "), document.TextSpan("javascript:alert(1)"))


@pytest.mark.parametrize(
    ("amounts", "shown"),
    [
        ({"EUR": "312.4"}, "312.40 EUR"),
        ({"EUR": "1312.4000", "JPY": "1200"}, "1,312.40 EUR and 1,200 JPY"),
        ({"": "5"}, "5.00"),
        ({"KWD": "1.5"}, "1.500 KWD"),
        ({"EUR": "0.00125"}, "0.00125 EUR"),
        ({"EUR": "-3"}, "-3.00 EUR"),
        ({"EUR": "1E+40"}, "1E+40 EUR"),
        (
            {"A": "1", "B": "1", "C": "1", "D": "1", "E": "1", "F": "1"},
            "1.00 A, 1.00 B, 1.00 C, 1.00 D and 2 more currencies",
        ),
        ({}, ""),
    ],
)
def test_money_is_written_for_each_currency(amounts: dict[str, str], shown: str) -> None:
    assert words.money({currency: Decimal(amount) for currency, amount in amounts.items()}) == shown


@pytest.mark.parametrize(
    ("gaps", "shown"),
    [
        ((30.0,), "30 s apart"),
        ((0.4,), "0.4 s apart"),
        ((3.0, 120.0), "3 s to 2 min apart"),
        ((0.0, 0.0), "at the same instant"),
        ((90_000.0,), "25 h apart"),
        ((700_000.0,), "8 days apart"),
        ((), ""),
    ],
)
def test_gaps_in_time_are_said_as_one_would(gaps: tuple[float, ...], shown: str) -> None:
    assert words.apart(gaps) == shown


@pytest.mark.parametrize(
    ("before", "shown"),
    [
        (dt.timedelta(hours=3), " since 03:15 today"),
        (dt.timedelta(days=1), " since 06:15 yesterday"),
        (dt.timedelta(days=3), " since Wed 18 Nov 2026 06:15"),
    ],
)
def test_the_run_before_is_named_by_day(before: dt.timedelta, shown: str) -> None:
    assert words.since(SLOT - before, SLOT, "Europe/Berlin") == shown


@pytest.mark.parametrize(
    ("when", "shown"),
    [
        (SLOT, "21 Nov 06:15"),
        (dt.datetime(2025, 12, 31, 23, 30, tzinfo=dt.UTC), "1 Jan 00:30"),
        (dt.datetime(2025, 12, 31, 22, 30, tzinfo=dt.UTC), "31 Dec 2025 23:30"),
    ],
)
def test_a_minute_has_its_year_only_where_that_is_another_one(when: dt.datetime, shown: str) -> None:
    assert words.minute(when, SLOT, "Europe/Berlin") == shown


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("a\r\nb\tc", "a⏎b⇥c"),
        ("\u202eab", "⟨U+202E⟩ab"),
        ("\u202eabc", "⟨U+202E⟩a…"),
        ("x" * 11, "xxxxxxxxx…"),
        ("𝔘" * 6, "𝔘𝔘𝔘𝔘…"),
        ("x" * 10, "x" * 10),
        ("\u200b" * 3, "⟨U+200B⟩…"),
        ("12345678\r\n", "12345678⏎"),
        ("123456789\r\n", "123456789⏎"),
    ],
)
def test_text_is_one_visible_line_cut_with_a_sign(said: str, shown: str) -> None:
    assert words.visible(said, 10) == shown


@pytest.mark.parametrize(("said", "shown"), [("", '""'), (" x", '" x"'), ("x", "x")])
def test_blanks_of_a_value_are_seen(said: str, shown: str) -> None:
    assert words.value(said) == shown


def test_a_notice_survives_its_json() -> None:
    notice = night(replace(double_charges(3), trend="up"), failures=(FAILED,))

    assert base.from_json(base.to_json(notice)) == notice
    assert base.from_json(base.to_json(trouble())) == trouble()


# Cleaning

ASKING = CleaningNotice("twins", "high", "customers", awaiting=2, quarantined=1, findings=(group(1),), owner="@crm")
DONE = CleaningNotice("copies", "low", "events", cleaned=12, stale=1, undo="reconcile undo --run run1_x")


def test_what_waits_for_a_person_comes_before_what_is_new_and_what_was_done_at_the_end() -> None:
    notice = replace(night(double_charges(2)), cleaning=(ASKING, DONE))

    shown = document.text(render.document(notice, render.SLACK))

    asked, new, done = (shown.index(text) for text in ("needs a decision", "surplus record", "12 cleaned"))
    assert asked < new < done
    assert "2 cleanings await approval" in shown
    assert "reconcile quarantine" in shown
    assert "reconcile undo --run run1_x" in shown
    assert headline(notice) == (
        "🔴 Critical: 2 new double charges, 40.00 EUR at risk · 3 cleanings need your decision · 12 findings cleaned"
    )


def test_a_run_that_only_cleaned_says_so_and_is_no_alarm() -> None:
    notice = replace(night(), cleaning=(DONE,))

    assert headline(notice) == "✅ 12 findings cleaned"


def test_a_message_says_what_was_done_to_the_first_findings_and_how_to_look_at_them() -> None:
    plans = (PlanNotice("F-AAAAAA", "cleaned", "delete 2 records"), PlanNotice("F-BBBBBB", "undo waiting", ""))
    notice = replace(night(), cleaning=(replace(DONE, plans=plans),))

    shown = document.text(render.document(notice, render.SLACK))

    assert "  • F-AAAAAA cleaned: delete 2 records\n  • F-BBBBBB undo waiting\n  and 11 more\n" in shown
    assert "reconcile show F-AAAAAA" in shown


def test_a_finding_that_needs_a_decision_says_what_its_cleaning_does_and_until_when_it_can_be_approved() -> None:
    until = SLOT + dt.timedelta(hours=2)
    waiting = replace(group(1), state="awaiting_approval", plan_does="delete 1 record", plan_expires=until)
    decided = replace(group(2), state="awaiting_approval", plan_does="delete 1 record", outcome="cleaned")

    def shown(*groups: GroupNotice) -> str:
        notice = replace(night(), cleaning=(replace(ASKING, findings=groups),))
        return document.text(render.document(notice, render.SLACK))

    both = shown(decided, waiting)
    assert both.count("Cleaning: delete 1 record; can be approved until ") == 1
    assert f"reconcile approve {waiting.finding}" in both
    assert "reconcile approve" not in shown(decided)


def test_what_nobody_approved_in_time_is_not_called_a_cleaning_that_was_not_done() -> None:
    notice = replace(night(), cleaning=(replace(DONE, cleaned=0, stale=0, expired=2),))

    assert headline(notice) == "⚠️ 2 cleanings expired"
    assert "2 expired before approval and execution" in document.text(render.document(notice, render.SLACK))


def test_a_cleaning_that_stopped_says_why() -> None:
    stopped = CleaningNotice("twins", "high", "customers", stopped="Rule 'twins' cleans nothing: column email is gone")
    notice = replace(night(), cleaning=(stopped,))

    shown = document.text(render.document(notice, render.SLACK))

    assert "column email is gone" in shown
    assert "cleaning of twins stopped" in headline(notice)


def test_a_cleaning_that_stopped_never_looks_like_an_all_clear() -> None:
    stopped = CleaningNotice("twins", "medium", "customers", stopped="Cleaning of rule `twins` is stopped: x")
    notice = replace(night(), rules=(), failures=(), cleaning=(stopped,))

    assert headline(notice) == "🟡 Medium: cleaning of twins stopped"


def test_the_runbook_stands_below_the_commands_of_open_decisions() -> None:
    notice = replace(night(), cleaning=(replace(ASKING, runbook="https://wiki.example/twins"),))

    lines = document.text(render.document(notice, render.SLACK)).splitlines()

    [place] = [number for number, line in enumerate(lines) if "What to do: https://wiki.example/twins" in line]
    assert place > max(number for number, line in enumerate(lines) if "needs a decision" in line)
