"""Which configuration new runs take: the file's by itself, and what a person holds whatever the file says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from reconcile.app import Application, load
from reconcile.audit import log
from reconcile.config import ConfigProblems
from reconcile.coordination import releases
from reconcile.runs.report import RunReport
from reconcile.store import Transaction, tables
from reconcile.store import releases as stored
from tests.support.runs import NEXT, START, ChargesProject, twice
from tests.support.store import in_parallel

CANARY = "canary-8c1f"
TEXT = """\
version: 1
state: ${STATE}
sources: {lists: {type: files, root: "${ROOT:-.}"}}
datasets: {people: {source: lists, path: people.csv, id: id}}
rules: {twin: {kind: duplicates, dataset: people, key: KEY}}
jobs:
  JOB: {rules: all}
"""
TOLD = "channels: {told: {type: webhook, url: HOOK}}\n"


@dataclass
class PeopleProject:
    """A folder with a list of people and a configuration whose rule compares names, until it is changed."""

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def file(self) -> Path:
        return self.folder / "reconcile.yaml"

    def write(self, key: str = "name", job: str = "nightly", more: str = "") -> PeopleProject:
        self.file.write_text(TEXT.replace("KEY", key).replace("JOB", job) + more)
        return self

    def open(self, **environ: str) -> Application:
        return load(self.file, self.environ | environ)

    def adopt(self) -> str:
        """What `serve` does with the file when it starts; the release that new runs then take."""
        with self.open() as application, application.store.begin() as tx:
            return releases.adopt(tx, application.project, "reconcile").release

    def hold(self, asked: str | None = None, note: str | None = None) -> str:
        with self.open() as application, application.store.begin() as tx:
            return releases.hold(tx, application.project, asked, by="ann", note=note).release

    def promote(self, asked: str | None = None, note: str | None = None) -> str:
        with self.open() as application, application.store.begin() as tx:
            return releases.promote(tx, application.project, asked, by="ben", note=note).release

    def free(self) -> None:
        with self.open() as application, application.store.begin() as tx:
            releases.free(tx, by="cem", note=None)

    def run(self, **given: Any) -> RunReport:
        with self.open() as application:
            return application.run(**given)

    def look(self, what: Any) -> Any:
        with self.open() as application, application.store.read() as tx:
            return what(tx)

    def current(self) -> releases.Current | None:
        return self.look(releases.current)  # type: ignore[no-any-return]


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.server)])
def people(request: pytest.FixtureRequest, tmp_path: Path) -> PeopleProject:
    is_file = request.param == "sqlite"
    state = "sqlite:///state.db" if is_file else str(request.getfixturevalue("postgres_url"))
    (tmp_path / "people.csv").write_text("id,name,town\n1,Ann,Bonn\n2,Ann,Köln\n3,Ben,Bonn\n4,Cem,Bonn\n")
    return PeopleProject(tmp_path, {"STATE": state}).write()


def surplus(report: RunReport) -> list[str]:
    return sorted(record[0] for finding in report.to_json()["findings"] for record in finding["surplus"])


def events(people: PeopleProject) -> list[tuple[str, str, Any]]:
    """The audit entries on releases: who, what, with which note."""
    checks = people.look(lambda tx: list(log.entries(tx, event="release")))
    return [(item.actor, item.event, item.body["note"]) for item in checks]


# By itself


def test_who_starts_last_makes_its_release_the_current_one(people: PeopleProject) -> None:
    first = people.adopt()
    again = people.adopt()
    second = people.write(key="town").adopt()

    now = people.current()

    assert first == again != second
    assert now is not None
    assert (now.release, now.held, now.by) == (second, False, "reconcile")
    assert events(people) == [("reconcile", "release.adopted", None)] * 2


@pytest.mark.slow
def test_a_run_by_hand_uses_its_file_and_does_not_change_what_serves(people: PeopleProject) -> None:
    served = people.adopt()

    report = people.write(key="town").run()

    now = people.current()
    assert surplus(report) == ["3", "4"]
    assert report.release != served
    assert now is not None
    assert now.release == served


@pytest.mark.slow
def test_runs_alone_make_no_release_current(people: PeopleProject) -> None:
    people.run()

    assert people.current() is None
    assert events(people) == []


# Held


@pytest.mark.slow
def test_a_held_release_is_run_whatever_the_file_says(people: PeopleProject) -> None:
    held = people.hold(note="end of the year")
    people.write(key="town")

    with people.open() as application:
        report = application.run()
        remark = application.held

    assert (report.release, surplus(report)) == (held, ["2"])
    assert remark is not None
    assert remark.startswith(f"Release {held[:12]} is held by ann since ")
    assert "(end of the year): it was run instead of " in remark


def test_a_started_configuration_does_not_replace_a_held_one_but_can_be_promoted(people: PeopleProject) -> None:
    held = people.hold()
    people.write(key="town")

    adopted = people.adopt()
    with people.open() as application:
        release = application.project.release
    promoted = people.promote(release[:8], note="reviewed")

    now = people.current()
    assert (adopted, promoted) == (held, release)
    assert now is not None
    assert (now.release, now.held, now.note) == (release, True, "reviewed")
    assert events(people) == [("ann", "release.held", None), ("ben", "release.promoted", "reviewed")]


def test_let_go_the_next_start_decides_again(people: PeopleProject) -> None:
    held = people.hold()
    people.free()
    after = people.current()

    started = people.write(key="town").adopt()

    assert after is not None
    assert (after.release, after.held) == (held, False)
    assert started != held
    assert [event for _, event, _ in events(people)] == ["release.held", "release.freed", "release.adopted"]


def test_saying_the_same_again_changes_nothing(people: PeopleProject) -> None:
    people.free()
    people.hold()
    before = people.current()

    people.hold()
    people.promote()

    assert people.current() == before
    assert len(events(people)) == 1


def test_what_to_hold_is_asked_where_the_file_is_not_what_serves(people: PeopleProject) -> None:
    served = people.adopt()
    people.write(key="town")

    with pytest.raises(releases.WhichRelease, match=f"reconcile hold {served[:12]}, or reconcile hold "):
        people.hold()

    assert people.hold(served[:12]) == served


def test_promoting_while_nothing_is_held_leaves_the_next_start_free(people: PeopleProject) -> None:
    first = people.adopt()
    second = people.write(key="town").adopt()

    promoted = people.promote(first)

    now = people.current()
    assert promoted == first
    assert now is not None
    assert not now.held
    assert people.adopt() == second


@pytest.mark.slow
def test_a_job_that_only_the_held_release_has_runs_and_one_of_the_file_alone_does_not(people: PeopleProject) -> None:
    held = people.hold()
    people.write(key="town", job="weekly")

    assert people.run(job="nightly").release == held
    with pytest.raises(Exception, match=f"no job 'weekly' in the held release {held[:12]}; ") as unknown:
        people.run(job="weekly")
    with people.open() as application:
        [report] = application.run_all()

    assert type(unknown.value).__name__ == "NameUnknown"
    assert (report.job, report.release) == ("nightly", held)


@pytest.mark.slow
def test_a_dry_run_tries_the_file(people: PeopleProject) -> None:
    people.hold()
    people.write(key="town")

    assert surplus(people.run(dry_run=True)) == ["3", "4"]


@pytest.mark.slow
def test_a_promotion_between_two_jobs_of_one_command_counts_for_the_second(people: PeopleProject) -> None:
    held = people.write(more="  weekly: {rules: all}\n").hold()
    people.free()
    people.write(key="town", more="  weekly: {rules: all}\n")
    promoted: list[str] = []

    def watch(_rule: str, _read: int) -> None:
        if not promoted:
            promoted.append(people.hold(held))

    with people.open() as application:
        file = application.project.release
        reports = application.run_all(watch=watch)

    assert [(report.job, report.release) for report in reports] == [("nightly", file), ("weekly", held)]


@pytest.mark.slow
def test_a_slot_that_was_run_before_a_promotion_stays_as_it_was(people: PeopleProject) -> None:
    people.hold()
    held = people.run(slot=START).release
    people.write(key="town")
    promoted = people.promote()

    again, following = people.run(slot=START), people.run(slot=NEXT)

    assert (again.release, again.repeated) == (held, True)
    assert following.release == promoted


# Kept texts


@pytest.mark.slow
def test_a_held_release_survives_its_file_and_reads_its_variables_from_the_environment_of_now(
    people: PeopleProject,
) -> None:
    more = "include: [more/*.yaml]\n"
    (people.folder / "more").mkdir()
    included = people.folder / "more" / "a.yaml"
    included.write_text("rules: {same-town: {kind: duplicates, dataset: people, key: town}}\n")
    held = people.write(more=more).hold()
    people.write(key="[name, town]")
    included.unlink()

    report = people.run()

    assert report.release == held
    assert [rule.rule for rule in report.rules] == ["twin", "same-town"]


def test_a_variable_with_another_value_is_another_release_and_is_refused(people: PeopleProject) -> None:
    people.hold()
    people.write(key="town")

    with pytest.raises(
        releases.ReleaseDiffers, match=r"a different configuration at `sources.lists.root`\. A variable"
    ):
        _ran(people, ROOT="elsewhere")

    assert _runs(people) == 0


def test_a_variable_that_is_gone_is_named(people: PeopleProject) -> None:
    held = people.write(more='channels: {told: {type: webhook, url: "${secret:HOOK}"}}\n')
    people.environ["HOOK"] = "https://hooks.example.com/x"
    release = held.hold()
    people.write(key="town")
    del people.environ["HOOK"]

    with pytest.raises(ConfigProblems, match=rf"^release {release[:12]} reconcile.yaml:\d+:\d+: .* `HOOK` is not set"):
        people.run()


def test_a_secret_that_was_renewed_is_still_the_same_release(people: PeopleProject) -> None:
    people.environ["HOOK"] = "https://hooks.example.com/x"
    held = people.write(more='channels: {told: {type: webhook, url: "${secret:HOOK}"}}\n').hold()
    people.write(key="town")

    assert _ran(people, HOOK="https://hooks.example.com/y").release == held


@pytest.mark.slow
def test_a_release_with_a_secret_in_clear_runs_only_where_its_file_is(people: PeopleProject) -> None:
    hook = f"https://hooks.example.com/{CANARY}"
    held = people.write(more=TOLD.replace("HOOK", hook)).hold()
    same = people.run()
    people.write(key="town")

    with pytest.raises(releases.ReleaseNotKept, match="they contain a plain-text secret"):
        people.run()

    assert same.release == held
    assert CANARY not in people.look(_everything)


@pytest.mark.slow
def test_texts_of_a_release_that_was_first_seen_without_them_are_added(people: PeopleProject) -> None:
    people.run()
    with people.open() as application, application.store.begin() as tx:
        tx.connection.execute(sa.update(tables.releases).values(files=None))
    before = people.look(lambda tx: [item.files for item in stored.listed(tx, 9)])

    people.run()

    after = people.look(lambda tx: [item.files for item in stored.listed(tx, 9)])
    assert before == [None]
    assert [list(files) for files in after] == [["reconcile.yaml"]]


@pytest.mark.slow
def test_what_a_release_keeps_holds_no_secret_and_no_comment(people: PeopleProject) -> None:
    comment = f"# once: postgresql://ada:{CANARY}@db/x\n"
    people.environ["HOOK"] = f"https://hooks.example.com/{CANARY}"
    people.write(more=comment + TOLD.replace("HOOK", '"${secret:HOOK}"'))

    people.hold()
    people.run()

    assert CANARY not in people.look(_everything)


def _everything(tx: Transaction) -> str:
    names = (tables.releases, tables.promotion, tables.audit_bodies, tables.runs)
    return str([list(tx.connection.execute(sa.select(table))) for table in names])


def _ran(people: PeopleProject, **environ: str) -> RunReport:
    with people.open(**environ) as application:
        return application.run()


def _runs(people: PeopleProject) -> int:
    return people.look(  # type: ignore[no-any-return]
        lambda tx: tx.connection.execute(sa.select(sa.func.count()).select_from(tables.runs)).scalar()
    )


def test_who_serves_follows_the_current_release_with_the_state_of_its_own_file(people: PeopleProject) -> None:
    served = people.adopt()
    state = people.environ["STATE"]
    with people.write(key="town").open() as store, store.store.begin() as tx:
        same = releases.to_run(tx, store.project, people.environ)
        releases.hold(tx, store.project, served, by="ann", note=None)

        chosen = releases.to_run(tx, store.project, people.environ)

    assert (same.release, same.files) == (served, chosen.files)
    assert chosen.release == served
    assert chosen.state == store.project.state
    assert state.removeprefix("sqlite:///") in chosen.state.get_secret_value()


# Names


def test_a_release_is_named_by_its_beginning(people: PeopleProject) -> None:
    first = people.adopt()
    second = people.write(key="town").adopt()
    with people.open() as application:
        project = application.project

    def name(asked: str) -> str:
        return people.look(lambda tx: releases.named(tx, asked, project))  # type: ignore[no-any-return]

    assert (name(first), name(second[:10]), name(first[:12].upper())) == (first, second, first)
    with pytest.raises(releases.ReleaseUnknown, match=f"did you mean `{first[:12]}`"):
        name(first[:10] + "zz")
    with pytest.raises(releases.ReleaseUnknown, match="`reconcile releases` lists them"):
        name("nothing-like-it")
    with pytest.raises(releases.ReleaseUnknown):
        name("")


def test_a_beginning_of_several_releases_names_none(people: PeopleProject) -> None:
    people.adopt()
    with people.open() as application, application.store.begin() as tx:
        for end in "ab":
            tx.connection.execute(sa.insert(tables.releases).values(hash="f" * 63 + end, config={}, first_seen=tx.now))

        with pytest.raises(releases.ReleaseAmbiguous, match="Several releases begin with 'ffff'"):
            releases.named(tx, "ffff", application.project)


@pytest.mark.slow
def test_processes_that_start_at_once_agree_on_the_current_release(people: PeopleProject) -> None:
    people.run()
    code = """
        from reconcile import config
        from reconcile.coordination import releases
        project = config.load(root / "reconcile.yaml", {"STATE": url})
        with Store.open(url, root) as store, store.begin() as tx:
            print(releases.adopt(tx, project, "reconcile").release)
        """

    answer = in_parallel(4, code, people.environ["STATE"], people.folder)

    now = people.current()
    assert now is not None
    assert answer == [now.release] * 4
    assert len(events(people)) == 1


# The command line


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[ChargesProject]:
    shop = ChargesProject.at(tmp_path / "shop").add(*twice(1, "A-17"))
    yield shop
    assert shop.intact()


def edited(shop: ChargesProject, **rule: Any) -> ChargesProject:
    shop.config["rules"] = {"double-charge": shop.config["rules"]["double-charge"] | rule}
    return shop.write()


@pytest.mark.slow
def test_a_person_holds_promotes_and_lets_go_at_the_command_line(shop: ChargesProject) -> None:
    first = shop.run("nightly", "--slot", START).json["release"]
    held = shop.cli("hold", "--note", "audit week", "--json").json
    edited(shop, severity="low")
    while_held = shop.cli("run", "nightly", "--slot", NEXT)
    listed = shop.cli("releases", "--json").json
    text = shop.cli("releases").out
    promoted = shop.cli("promote", "--json").json
    run = shop.run("nightly").json["release"]
    off = shop.cli("hold", "--off", "--json").json

    assert held == {"release": first, "held": True, "changed": True, "before": None, "kept": True}
    assert while_held.code == 0
    assert f"Release {first[:12]} is held by " in while_held.err
    assert "(audit week): it was run instead of " in while_held.err
    assert [(item["release"], item["current"], item["held"], item["file"], item["kept"]) for item in listed] == [
        (first, True, True, False, True)
    ]
    assert (listed[0]["jobs"], listed[0]["rules"]) == (1, 1)
    assert listed[0]["last_run"] > listed[0]["first_seen"]
    assert "held" in text
    assert (promoted["before"], promoted["held"], promoted["release"]) == (first, True, run)
    assert run != first
    assert off == {"release": run, "held": False, "changed": True, "before": run, "kept": True}


@pytest.mark.slow
def test_a_quiet_run_of_a_held_release_says_in_its_json_which_one(shop: ChargesProject) -> None:
    held = shop.cli("hold", "--json").json["release"]
    edited(shop, severity="low")

    ended = shop.run("nightly")

    assert ended.json["release"] == held
    assert ended.err == ""


@pytest.mark.slow
def test_releases_are_shown_and_compared(shop: ChargesProject) -> None:
    first = shop.run("nightly").json["release"]
    second = edited(shop, severity="low").run("nightly").json["release"]

    shown = shop.cli("releases", "show", first[:12])
    between = shop.cli("releases", "diff", first, second)
    with_file = shop.cli("releases", "diff", first, "--json").json
    same = shop.cli("releases", "diff", second)

    assert "    severity: critical\n" in shown.out
    assert "url: sqlite:///shop.sqlite" in shown.out
    assert [line for line in between.out.splitlines() if line[0] in "+-"] == [
        f"--- {first[:12]}",
        f"+++ {second[:12]}",
        "-    severity: critical",
        "+    severity: low",
    ]
    assert (with_file["from"], with_file["to"]) == (first, second)
    assert "+    severity: low" in with_file["diff"]
    assert (same.out, same.err) == ("", "No differences.\n")


@pytest.mark.slow
def test_a_shown_release_can_be_put_back(shop: ChargesProject) -> None:
    first = shop.run("nightly").json["release"]
    edited(shop, severity="low")

    (shop.folder / "again.yaml").write_text(shop.cli("releases", "show", first).out)

    assert shop.cli("run", "-c", "again.yaml", "--json").json["release"] == first


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["promote", "zzzz"], 2, "There is no release 'zzzz'; `reconcile releases` lists them"),
        (["hold", "zzzz"], 2, "There is no release 'zzzz'; `reconcile releases` lists them"),
        (["releases", "show", "zzzz"], 2, "There is no release 'zzzz'; `reconcile releases` lists them"),
        (["releases", "diff", "zzzz"], 2, "There is no release 'zzzz'; `reconcile releases` lists them"),
        (["hold", "abc", "--off"], 2, "cannot be combined with a release"),
        (["hold", "--off"], 0, "No release was held; nothing was changed"),
    ],
)
@pytest.mark.slow
def test_what_cannot_be_done_is_said(words: list[str], code: int, says: str, shop: ChargesProject) -> None:
    shop.run("nightly")

    ended = shop.cli(*words)

    assert ended.code == code
    assert says in ended.err


@pytest.mark.slow
def test_a_held_release_that_cannot_run_here_ends_with_4_and_says_what_to_do(shop: ChargesProject) -> None:
    shop.config["channels"]["hook"] = {"type": "webhook", "url": f"https://hooks.example.com/{CANARY}"}
    shop.write()
    warned = shop.cli("hold")
    edited(shop, severity="low")

    ended = shop.cli("run", "nightly")

    assert "Its files are not stored, because they contain a secret in plain text" in warned.err
    assert ended.code == 4
    assert "Restore its configuration file, or make another release current: reconcile promote" in ended.err
    assert shop.cli("runs", "--json").json == []
    for path in shop.folder.glob("state.db*"):
        assert CANARY.encode() not in path.read_bytes()
