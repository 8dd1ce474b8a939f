"""The commands, as people and schedulers meet them: what is printed where, and the exit code."""

import datetime as dt
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

import reconcile
from reconcile.cli import exits
from reconcile.detection.detect import Detected
from reconcile.runs import check
from rules.kinds.base import Rule
from tests.support.cli import FILES, ORDERS, Project, in_words, sqlite

RECONCILE = [sys.executable, "-m", "reconcile"]
CHANNEL = FILES + "channels: {team: {type: file, path: told.txt}}\njobs: {nightly: {rules: all, notify: [team]}}\n"


@pytest.fixture
def shop(tmp_path: Path) -> Project:
    """A project over a CSV file that finds one order paid twice, told to a file."""
    (tmp_path / "orders.csv").write_text(ORDERS)
    return Project(tmp_path).write(CHANNEL)


def shell(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """A script for bash, in which $R is the program."""
    program = f"R='{sys.executable} -m reconcile'\nset -o pipefail\n"
    return subprocess.run(["bash", "-c", program + script], cwd=folder, capture_output=True, text=True, check=False)


# The whole, once, as a process of its own


@pytest.mark.slow
def test_the_project_that_init_writes_runs_and_is_never_overwritten(tmp_path: Path) -> None:
    done = shell(tmp_path, "$R init demo && cd demo && $R check && $R run && $R findings && $R audit verify")
    again = shell(tmp_path, "$R init demo")

    assert done.returncode == 0, done.stderr
    assert "error" not in done.stdout
    assert "intact" in done.stdout
    assert "double-payment" in done.stdout
    assert (again.returncode, again.stdout) == (2, "")
    assert "already exists, so nothing was written" in again.stderr


@pytest.mark.slow
def test_nothing_is_said_when_the_reader_leaves_and_the_exit_code_stays(shop: Project) -> None:
    (shop.folder / "orders.csv").write_text(
        "id,order_id,amount,paid_at\n" + "".join(f"P-{n},A-{n // 2},1.00,2026-03-01T10:00:00Z\n" for n in range(2_000))
    )

    for script, code in (
        ("$R run --fail-on low --json | head -1", 1),
        ("$R findings --all | head -1", 0),
        ("$R findings --all --json | head -1", 0),
        ("$R audit --json | true", 0),
        ("$R schema | head -1", 0),
    ):
        done = shell(shop.folder, script)

        assert done.returncode == code, (script, done.stderr)
        assert done.stderr == ""


@pytest.mark.slow
def test_an_answer_that_cannot_be_written_is_a_failure_and_a_remark_is_not(shop: Project) -> None:
    full = shell(shop.folder, "$R run > /dev/full")
    deaf = shell(shop.folder, "$R run 2> /dev/full")
    closed = shell(shop.folder, "$R run >&- 2>&-")

    assert full.returncode == 3
    assert "could not be written to standard output: No space left on device" in full.stderr
    assert "Traceback" not in full.stderr
    assert (deaf.returncode, closed.returncode) == (0, 0)


HEAVY = ("duckdb", "pyarrow", "sqlalchemy", "pydantic", "slack_sdk", "numpy", "pandas", "alembic", "rich")


def _imports(folder: Path, *words: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "reconcile", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-500:]
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}


@pytest.mark.parametrize("word", ["--help", "version", "--version"])
def test_help_and_version_load_nothing_heavy(word: str, tmp_path: Path) -> None:
    assert _imports(tmp_path, word).isdisjoint(HEAVY)


@pytest.mark.slow
def test_a_run_loads_neither_migrations_nor_pandas_nor_channels_it_does_not_use(shop: Project) -> None:
    shop.write(FILES)
    assert shop("run").code == 0

    loaded = _imports(shop.folder, "run", "--quiet")

    assert "duckdb" in loaded, "the list of imports is read rightly"
    assert loaded.isdisjoint({"alembic", "pandas._libs", "slack_sdk", "psycopg", "pymysql", "lxml", "jinja2"})


def test_the_help_names_every_command_and_answers_soon(tmp_path: Path) -> None:
    begin = time.process_time()
    helped = Project(tmp_path)("--help")

    assert helped.code == 0
    assert time.process_time() - begin < 1
    for command in (
        *("init", "check", "schema", "explain", "diff", "suggest", "demo", "version", "run", "runs"),
        *("findings", "show", "dismiss", "handle", "snooze", "reopen", "assign", "notify", "audit"),
    ):
        assert re.search(rf"^  {command} ", helped.out, re.MULTILINE), command
        assert Project(tmp_path)(command, "--help").code == 0


@pytest.mark.parametrize(
    "words",
    [
        *(
            ["init"],
            ["check"],
            ["schema"],
            ["explain"],
            ["diff"],
            ["version"],
            ["run"],
            ["runs"],
            ["findings"],
            ["show"],
        ),
        *(["dismiss"], ["handle"], ["snooze"], ["reopen"], ["assign"], ["notify", "preview"], ["notify", "test"]),
        *(["audit"], ["audit", "verify"]),
    ],
    ids=" ".join,
)
def test_every_command_knows_json_quiet_and_no_color(words: list[str], tmp_path: Path) -> None:
    text = Project(tmp_path)(*words, "--help").out

    for option in ("--json", "--quiet", "--no-color"):
        assert option in text


def test_the_version_is_the_packages(tmp_path: Path) -> None:
    project = Project(tmp_path)

    assert project("version").out == project("--version").out == f"reconcile {reconcile.__version__}\n"
    assert project("version", "--json").json == {"version": reconcile.__version__}


def test_what_is_no_command_or_option_is_told_with_the_usage(tmp_path: Path) -> None:
    project = Project(tmp_path)

    in_words(project("rnu"), 2, "No such command 'rnu'", lines=4)
    in_words(project("ignore"), 2, "did you mean 'dismiss' or 'snooze'?", lines=4)
    in_words(project("delte"), 2, "did you mean 'plan' or 'erase'?", lines=4)
    in_words(project("users", "ad"), 2, "did you mean 'add'?", lines=4)
    in_words(project("qqq"), 2, "--help lists all", lines=4)
    in_words(project("help", "validate"), 2, "did you mean `check`?", lines=4)
    in_words(project("run", "--drry-run"), 2, "No such option: --drry-run", lines=4)
    assert project().code == 2


# run and runs


def test_a_run_tells_a_line_a_rule_and_what_to_do_next(shop: Project) -> None:
    done = shop("run")

    assert done.code == 0
    assert re.search(r"^nightly  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC  succeeded  run1_\w+$", done.out, re.MULTILINE)
    assert re.search(r"^twice +high +1 +1 +0 +0 +0 +0 +2 +embedded$", done.out, re.MULTILINE)
    assert "notified team" in done.out
    assert done.err == "checking twice\nNext: reconcile findings, reconcile show ID, reconcile dismiss ID\n"


@pytest.mark.slow
def test_quiet_leaves_the_result_and_json_leaves_one_document(shop: Project) -> None:
    quiet, document = shop("run", "--quiet"), shop("run", "--json", "--all")

    assert quiet.err == document.err == ""
    assert "twice" in quiet.out
    run = document.json
    assert {"run", "job", "slot", "release", "status", "rules", "findings"} <= set(run)
    assert run["rules"][0]["findings"]["known"] == 1
    assert run["findings"][0]["keeper"] == ["P-1"]
    assert run["findings"][0]["surplus"] == [["P-2"]]


@pytest.mark.slow
def test_several_jobs_are_a_list_in_json(shop: Project) -> None:
    shop.write(CHANNEL.replace("jobs: {", "jobs: {weekly: {rules: [twice]}, "))

    assert [item["job"] for item in shop("run", "--json").json] == ["weekly", "nightly"]
    assert shop("run", "weekly", "--json").json["job"] == "weekly"


def test_a_slot_is_run_once_and_then_found(shop: Project) -> None:
    first = shop("run", "--slot", "2026-11-21T05:15Z", "--json").json
    second = shop("run", "--slot", "2026-11-21T06:15+01:00", "--json").json

    assert first["run"] == second["run"]
    assert second["repeated"] is True
    in_words(shop("run", "--slot", "yesterday"), 2, "--slot 'yesterday' is not a time", lines=1)
    in_words(shop("run", "--slot", "2026-11-21T05:15Z", "--rule", "twice"), 2, "is for a whole job", lines=1)


def test_a_dry_run_remembers_and_tells_nothing(shop: Project) -> None:
    done = shop("run", "--dry-run")

    assert done.code == 0
    assert "dry run: nothing was stored, nobody was notified" in done.out
    assert sorted(path.name for path in shop.folder.iterdir()) == ["orders.csv", "reconcile.yaml"]
    assert shop("run", "--dry-run", "--fail-on", "high", "--json").code == 1


def test_names_that_are_unknown_are_told_with_the_nearest(shop: Project) -> None:
    in_words(shop("run", "nigthly"), 2, "no job 'nigthly'", "did you mean `nightly`?", lines=1)
    in_words(shop("run", "--rule", "twic"), 2, "no rule 'twic'", "did you mean `twice`?", lines=1)
    in_words(shop("run", "--fail-on", "hihg"), 2, "did you mean `high`?", lines=4)
    in_words(shop("runs", "nigthly"), 2, "did you mean `nightly`?", lines=1)
    in_words(shop("explain", "twic"), 2, "did you mean `twice`?", lines=1)
    in_words(shop("check", "--source", "shpo"), 2, "did you mean `shop`?", lines=1)
    in_words(shop("notify", "test", "taem"), 2, "did you mean `team`?", lines=1)
    in_words(shop("run", "-c", "other.yaml"), 2, "other.yaml:1:1: file not found", lines=1)


@pytest.mark.slow
def test_runs_are_listed_the_latest_first(shop: Project) -> None:
    assert "There is no state database at " in shop("runs").err
    for hour in (1, 2, 3):
        shop("run", "--slot", f"2026-11-21T0{hour}:00Z")

    assert [item["slot"][11:13] for item in shop("runs", "--json").json] == ["03", "02", "01"]
    assert len(shop("runs", "nightly", "--limit", "2", "--json").json) == 2
    assert "2026-11-21 03:00:00 UTC" in shop("runs").out


# Exit codes


def test_the_exit_code_is_the_first_that_applies() -> None:
    order = [exits.DEFECT, exits.WRONG, exits.REFUSED, exits.FAILED, exits.FOUND, exits.DONE]

    assert order == [70, 2, 4, 3, 1, 0]
    for place, code in enumerate(order):
        assert exits.first_that_applies(*reversed(order[place:])) == code


@pytest.mark.slow
def test_findings_are_1_only_where_asked_and_only_as_severe_as_asked(shop: Project) -> None:
    codes = {severity: shop("run", "--fail-on", severity).code for severity in ("info", "high", "critical")}

    assert codes == {"info": 1, "high": 1, "critical": 0}


@pytest.mark.slow
def test_a_source_that_failed_counts_more_than_findings(shop: Project) -> None:
    rules = "rules: {gone: {kind: duplicates, dataset: gone, key: [order_id]}, "
    text = CHANNEL.replace("rules: {", rules, 1).replace(
        "datasets: {", "datasets: {gone: {source: shop, path: gone.csv}, "
    )
    shop.write(text)

    done = shop("run", "--fail-on", "info")

    assert done.code == 3
    assert "could not check gone: Source 'shop' has no file gone.csv" in done.out
    assert re.search(r"^twice +high +1", done.out, re.MULTILINE), "what could be done was done"
    assert shop("run", "--rule", "twice", "--fail-on", "info").code == 1


def test_a_reason_that_stops_several_rules_is_said_once(shop: Project) -> None:
    shop.write(FILES.replace("rules: {", "rules: {other: {kind: duplicates, dataset: orders, key: [order_id]}, "))
    (shop.folder / "orders.csv").unlink()

    done = shop("run")

    assert done.code == 3
    assert done.out.count("has no file orders.csv") == 1
    assert "could not check other, twice: " in done.out


def test_a_channel_that_fails_is_3_and_what_was_found_is_kept(shop: Project) -> None:
    shop.write(CHANNEL.replace("path: told.txt", "path: orders.csv/told.txt"))

    done = shop("run")

    assert done.code == 3, done.said
    assert "not delivered yet: team: " in done.out
    assert len(shop("findings", "--json").json) == 1


def test_a_defect_is_70_with_a_file_that_holds_no_data(shop: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("".join(reversed("dohpaZ")))

    monkeypatch.setattr("reconcile.detection.detect.explain", broken)
    monkeypatch.setenv("TMPDIR", str(shop.folder))
    monkeypatch.setattr("tempfile.tempdir", str(shop.folder))

    done = shop("explain", "twice", "--sql")

    in_words(done, 70, "Reconcile itself failed (ValueError), which is a defect", "Please report it", lines=1)
    report = Path(done.err.strip().rpartition(" ")[2])
    assert report.stat().st_mode & 0o777 == 0o600
    text = report.read_text()
    assert "builtins.ValueError" in text
    assert "in broken" in text
    assert "Zaphod" not in text + done.said


# check, schema, explain


@pytest.mark.slow
def test_check_looks_at_everything_and_says_what_it_saw(shop: Project) -> None:
    done = shop("check")

    assert done.code == 0
    starts = [line.split(":")[0] for line in done.out.splitlines()]
    seen = ["state", "source shop", "dataset orders", "rule twice", "channel team"]
    assert starts == [f"ok     {item}" for item in seen]
    assert shop("check", "--quiet").said == ""
    assert shop("check", "--source", "shop").code == 0
    assert all(item["ok"] for item in shop("check", "--json").json["checks"])
    assert not (shop.folder / "reconcile.db").exists()


@pytest.mark.slow
def test_check_says_of_a_file_channel_what_a_run_would_meet_and_makes_nothing(shop: Project) -> None:
    shop.write(CHANNEL.replace("path: told.txt", "path: notes/told.txt"))

    missing = shop("check")
    told = shop("notify", "test", "team")
    (shop.folder / "notes").mkdir()
    ready = shop("check")
    created = list((shop.folder / "notes").iterdir())
    (shop.folder / "notes" / "told.txt").mkdir()
    folder = shop("check")
    shop.write(CHANNEL.replace("path: told.txt", "path: told.txt, template: none.txt"))
    untold = shop("check")

    assert (missing.code, told.code, ready.code, folder.code) == (3, 3, 0, 3)
    text = "Channel 'team' cannot write to notes/told.txt: its folder does not exist. Nothing was written; correct"
    assert f"error  channel team: {text}" in missing.out
    assert text in told.err
    assert created == []
    assert "error  channel team: Channel 'team' cannot write to notes/told.txt: is a directory" in folder.out
    assert (untold.code, "error  channel team: Template none.txt: cannot be read" in untold.out) == (3, True)


@pytest.mark.slow
def test_a_defect_in_one_rule_stops_no_other_and_gives_its_code(
    shop: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A message of such an error can hold data, so neither the run nor the file repeats it."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    shop.write(CHANNEL.replace("rules: {", "rules: {broken: {kind: duplicates, dataset: orders, key: [paid_at]}, "))
    detected = check.detected

    def falls_over(rule: Rule, *given: Any, **more: Any) -> Detected:
        if rule.name == "broken":
            raise ZeroDivisionError("Mrs Petersen")
        return detected(rule, *given, **more)

    monkeypatch.setattr(check, "detected", falls_over)
    dry = shop("run", "--dry-run", "--json")

    done = shop("run", "--json")

    assert (dry.code, done.code) == (exits.DEFECT, exits.DEFECT)
    for answer in (dry, done):
        broken, twice = answer.json["rules"]
        assert (broken["defect"], twice["findings"]["new"]) == (True, 1)
        assert "Reconcile itself failed (ZeroDivisionError)" in broken["failed"]
        assert "Petersen" not in answer.said
        [file] = [word for word in broken["failed"].split() if word.endswith(".txt")]
        assert "falls_over" in Path(file).read_text()
    assert done.json["status"] == "failed"
    assert "Reconcile itself failed" in (shop.folder / "told.txt").read_text()
    monkeypatch.undo()
    assert shop("run").code == exits.DONE
    assert len(shop("findings", "--json").json) == 1


@pytest.mark.slow
def test_check_tells_each_trouble_with_its_code(shop: Project) -> None:
    shop.write(CHANNEL.replace("[order_id]", "[order]"))
    misfit = shop("check", "--json")
    (shop.folder / "orders.csv").unlink()
    missing = shop("check", "--json")
    shop.write(CHANNEL.replace("root: .", "root: gone"))
    down = shop("check", "--json")
    shop.write(CHANNEL + "nonsense: 1\n")
    mistake = shop("check", "--json")

    assert (misfit.code, missing.code, down.code, mistake.code) == (2, 2, 3, 2)
    assert [item["subject"] for item in misfit.json["checks"] if not item["ok"]] == ["rule twice"]
    assert [item["subject"] for item in missing.json["checks"] if not item["ok"]] == ["dataset orders"]
    assert (mistake.out, "`nonsense` is not known here" in mistake.err) == ("", True)


@pytest.mark.slow
def test_what_is_never_used_is_a_note_and_no_error(shop: Project) -> None:
    shop.write(CHANNEL.replace("datasets: {", "datasets: {spare: {source: shop, path: orders.csv}, "))

    done = shop("check")

    assert done.code == 0
    assert "no rule reads dataset `spare`" in done.err


def test_the_schema_is_one_json_document(tmp_path: Path) -> None:
    schema = Project(tmp_path)("schema").json

    assert schema["$schema"].startswith("https://json-schema.org/")
    assert {"sources", "datasets", "rules", "jobs", "channels"} <= set(schema["properties"])


def test_explain_shows_the_engine_the_reason_and_the_sql(shop: Project) -> None:
    files = shop("explain", "twice", "--sql")
    with sqlite(shop.folder / "shop.db") as db:
        db.execute("create table orders(id text, order_id text)")
    shop.write(
        'sources: {shop: {type: sql, url: "sqlite:///shop.db"}}\n'
        "datasets: {orders: {source: shop, table: orders, id: id}}\n"
        "rules: {twice: {kind: duplicates, dataset: orders, key: [order_id]}}\n"
    )
    pushed = shop("explain", "twice", "--sql", "--json").json

    assert files.out.startswith("twice runs embedded (DuckDB, in this process): source 'shop' cannot run queries")
    assert "SELECT" in files.out
    assert "\\n" not in files.out
    assert pushed["engine"] == "pushdown"
    assert any("orders" in statement for statement in pushed["sql"])


@pytest.mark.server
def test_explain_of_postgresql_shows_what_runs_there(tmp_path: Path, postgres_url: str) -> None:
    import sqlalchemy as sa  # noqa: PLC0415 - only this test

    engine = sa.create_engine(postgres_url)
    with engine.begin() as db:
        db.exec_driver_sql("create table orders(id text, order_id text)")
    engine.dispose()
    project = Project(tmp_path).write(
        f'sources: {{shop: {{type: sql, url: "{postgres_url}"}}}}\n'
        "datasets: {orders: {source: shop, table: orders, id: id}}\n"
        "rules: {twice: {kind: duplicates, dataset: orders, key: [order_id]}}\n"
    )

    done = project("explain", "twice", "--sql")

    assert done.code == 0
    assert re.match(r"twice runs (pushed down|embedded)", done.out)
    assert "FROM" in done.out


# notify, audit


def test_a_channel_is_previewed_and_tried(shop: Project) -> None:
    before = shop("notify", "preview", "team")
    shop("run")
    shown = shop("notify", "preview", "team")
    tried = shop("notify", "test", "team")

    assert (before.code, before.out) == (2, "")
    assert "There is no state database at " in before.err
    assert "twice" in shown.out
    assert "twice" in shop("notify", "preview", "team", "--json").json["message"]
    assert tried.out.startswith("team: the test message arrived at ")
    assert shop("notify", "test", "team", "--json").json["channel"] == "team"


def test_instants_are_shown_in_the_time_zone_of_the_project(shop: Project) -> None:
    keyed = CHANNEL.replace("key: [order_id]", "key: [order_id], gap: {paid_at: 1m}")
    shop.write(f"timezone: Europe/Berlin\n{keyed}")
    shop("run")
    [finding] = shop("findings", "--json").json

    shown, exact = shop("show", finding["id"]), shop("show", finding["id"], "--json")

    assert "2026-03-01 11:00:30 CET" in shown.out
    assert re.search(r"\d{2}:\d{2} CES?T  reconcile  found", shown.out)
    assert exact.json["span"] == ["2026-03-01T10:00:00Z", "2026-03-01T10:00:30Z"]


@pytest.mark.slow
def test_every_table_has_times_in_the_time_zone_of_the_project_and_json_and_csv_in_utc(shop: Project) -> None:
    shop.write(f"timezone: Pacific/Auckland\n{CHANNEL}")
    ran = shop("run", "--slot", "2026-01-20T13:00:30Z").out
    shop("users", "add", "ada", "--no-password")
    shop("tokens", "add", "nightly", "--user", "ada", "--expires", "2099-01-20T13:00:00Z")
    here = dt.datetime.now(ZoneInfo("Pacific/Auckland"))

    tables = {name: shop(name).out for name in ("runs", "jobs", "releases", "audit", "tokens", "findings")}

    assert "2026-01-21 02:00:30 NZDT" in ran
    assert "2026-01-21 02:00:30 NZDT" in tables["runs"]
    assert "2099-01-21 02:00 NZDT" in tables["tokens"]
    for name, table in tables.items():
        zones = set(re.findall(r"\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)? (\w+)", table))
        assert zones <= {"NZDT", "NZST"}, table
        assert zones or name == "findings", table
    assert f"{here:%Y-%m-%d}" in tables["findings"]
    assert shop("runs", "--json").json[0]["slot"] == "2026-01-20T13:00:30Z"
    assert "2026-01-20T13:00:30Z" in shop("runs", "-o", "csv").out
    assert shop("tokens", "--json").json[0]["expires_at"].startswith("2099-01-20T13:00:00")
    assert shop("audit", "--json").json[0]["at"].endswith("+00:00")
    assert shop("jobs", "--json").json[0]["last_success"].endswith("Z")


def test_a_preview_shows_the_next_message_or_says_that_nothing_is_new(shop: Project) -> None:
    shop("run")
    sent = shop("notify", "preview", "team")
    shop.write(CHANNEL.replace("told.txt}", "told.txt}, late: {type: file, path: late.txt}"))
    unsent = shop("notify", "preview", "late")

    assert "Nothing is new for channel team" in sent.err
    assert "first run" not in sent.out
    assert "Nothing is new" not in unsent.err
    assert "first run" in unsent.out


def test_a_preview_after_a_run_of_one_rule_is_about_all_rules_and_names_what_is_first(shop: Project) -> None:
    two = CHANNEL.replace("told.txt}", "told.txt}, late: {type: file, path: late.txt}")
    shop.write(
        two.replace("severity: high}", "severity: high}, again: {kind: duplicates, dataset: orders, key: [amount]}")
    )
    assert [shop(*words).code for words in (["run"], ["run"], ["run", "--rule", "again"])] == [0, 0, 0]

    of_team, of_late = shop("notify", "preview", "team"), shop("notify", "preview", "late")

    for shown in (of_team, of_late):
        assert shown.out.splitlines()[0].count("duplicate") == 2
        assert "Nothing new" not in shown.out
        assert "irst run" not in shown.out
    assert "first message to this channel" in of_late.out
    assert "first message" not in of_team.out


def test_a_dry_run_previews_the_message_of_each_channel_as_text_and_as_a_page(shop: Project) -> None:
    hostile = "<script>alert(1)</script>"
    (shop.folder / "orders.csv").write_text(
        f"id,order_id,amount,paid_at\n1,{hostile},5,2026-03-01 10:00\n2,{hostile},5,2026-03-01 10:00\n"
    )
    shop.write(
        CHANNEL.replace("[team]", "[team, chat]").replace(
            "told.txt}", "told.txt}, chat: {type: slack, webhook_url: 'https://hooks.example.com/x'}"
        )
    )

    shown = shop("notify", "preview", "--dry-run", "--html", "page.html")

    page = shop.folder / "page.html"
    assert (shown.code, shop("notify", "preview", "chat", "--dry-run", "--html", "no/page.html").code) == (0, 2)
    assert re.findall(r"^── (\w+) ──$", shown.out, re.MULTILINE) == ["team", "chat"]
    assert shown.out.count("first run: 1 group of duplicates in orders") == 2
    assert f"order_id {hostile}" in shown.out
    assert "<script" not in page.read_text()
    assert "&lt;script&gt;" in page.read_text()
    assert page.stat().st_mode & 0o777 == 0o600
    assert not (shop.folder / "reconcile.db").exists()


def test_the_audit_log_is_listed_and_proven(shop: Project) -> None:
    shop("run")

    entries = shop("audit", "--json").json

    assert [item["seq"] for item in entries] == list(range(1, len(entries) + 1))
    [ended] = [entry["body"] for entry in entries if entry["body"].get("run") and entry["event"].startswith("run.")]
    assert {"slot", "started", "release", "trigger", "rules", "attempt", "status", "failed"} <= ended.keys()
    assert len(shop("audit").out.splitlines()) == len(entries)
    assert {item["event"] for item in shop("audit", "--event", "finding", "--json").json} == {"finding.opened"}
    assert shop("audit", "--run", "run1_none", "--json").json == []
    assert shop("audit", "verify", "--json").json["intact"] is True


def test_a_tampered_audit_log_is_1_and_the_entry_is_named(shop: Project) -> None:
    shop("run")
    with sqlite(shop.folder / "reconcile.db") as db:
        db.execute("update audit set actor = 'mallory' where seq = 2")

    done = shop("audit", "verify")
    document = shop("audit", "verify", "--json")

    assert (done.code, document.code) == (1, 1)
    assert done.out.startswith("broken at entry 2: ")
    assert (document.json["intact"], document.json["seq"]) == (False, 2)


# Colours


@pytest.mark.slow
@pytest.mark.parametrize("how", [{"NO_COLOR": "1"}, {}])
def test_colours_are_for_terminals_that_want_them(how: dict[str, str], shop: Project) -> None:
    words = ["run"] if how else ["run", "--no-color"]
    parent, child = os.openpty()
    environ = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | {"TERM": "xterm"} | how
    done = subprocess.Popen([*RECONCILE, *words], cwd=shop.folder, env=environ, stdout=child, stderr=subprocess.DEVNULL)
    os.close(child)
    output = b""
    while True:
        try:
            part = os.read(parent, 65536)
        except OSError:
            break
        if not part:
            break
        output += part
    os.close(parent)

    assert done.wait(60) == 0
    assert b"twice" in output
    assert not re.search(rb"\x1b\[[0-9;]*3[0-9]m", output), "no colour"


@pytest.mark.slow
def test_json_of_every_reading_command_is_one_document(shop: Project) -> None:
    shop("run")
    for words in (["check"], ["runs"], ["findings"], ["audit"], ["audit", "verify"], ["schema"], ["explain", "twice"]):
        done = shop(*words, "--json")

        assert done.code == 0, words
        json.loads(done.out)


def test_doctor_prints_what_needs_attention_and_lists_the_rest_on_request(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project("init")
    checks = project("doctor", "--json").json["checks"]
    fine = [check for check in checks if check["state"] == "ok"]

    short, long = project("doctor"), project("doctor", "--all")

    assert short.out.splitlines()[-1] == f"ok      {len(fine)} checks passed; --all lists them"
    assert len(short.out.splitlines()) == len(checks) - len(fine) + 1
    assert len(long.out.splitlines()) == len(checks)
    assert "checks passed" not in project("doctor", "--quiet").out
