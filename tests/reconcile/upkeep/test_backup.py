"""Backups: whole and verified while others write, restored whole or not at all under whoever is at work."""

import datetime as dt
import os
import re
import shutil
import signal
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from reconcile.audit import log
from reconcile.coordination import lease
from reconcile.people import sessions, users
from reconcile.people.roles import Role
from reconcile.store import Store, errors, key, tables
from reconcile.upkeep import backup, restore
from reconcile.upkeep.backup import BackupExists, BackupNotWritten, BackupUnusable
from reconcile.upkeep.restore import OtherStore, StateIsNewer
from tests.support import filled, next_version
from tests.support.cli import Project
from tests.support.runs import NEXT, START, ChargesProject, charge, twice
from tests.support.servers import STATE
from tests.support.store import FixedClock, Program

NEW = "sqlite:///new.db"
NOW = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
AT_WORK = {"audit", "audit_bodies", "audit_head", "expectations", "leases", "meta", "outbox", "schedules", "slots"}
AT_WORK |= {"plans", "effects", "facts", "sessions"}
"""Tables in which a restore changes rows; all others are as they were."""
IN_HAND = 3
"""So many plans are in somebody's hand in the filled state: a restore gives them to nobody, and says so."""


@pytest.fixture
def store(url: str, tmp_path: Path) -> Iterator[Store]:
    """A state with rows in every table, in every state."""
    filled.build(url, tmp_path)
    with Store.open(url, tmp_path, patience=dt.timedelta(seconds=1)) as store:
        yield store


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "backup.db"


def note(store: Store, *names: str) -> None:
    """Entries of the audit log, so that there is something the backup does not hold."""
    with store.begin() as tx:
        for name in names:
            log.append(tx, "eve", "test.noted", name, {"run": name})


def noted(url: str, root: Path) -> list[str]:
    """What the log of a state, which must be whole, says of `note`."""
    with Store.open(url, root) as store:
        assert log.verify(store).intact
        with store.read() as tx:
            return [entry.body["run"] for entry in log.entries(tx, event="test")]


# Making one


@pytest.mark.slow
def test_a_backup_holds_every_row_as_it_is_stored(store: Store, url: str, tmp_path: Path, file: Path) -> None:
    created = backup.make(store, file)

    state, copy = filled.stored(url, tmp_path), filled.stored("sqlite:///backup.db", tmp_path)
    assert copy == state
    assert created.rows == {name: len(rows) for name, rows in state.items()}
    assert (created.store, created.entries, created.schema) == (filled.STORE, 3, tables.REVISION)


def test_a_backup_is_two_files_that_their_owner_alone_can_read(store: Store, tmp_path: Path, file: Path) -> None:
    before = set(tmp_path.iterdir())

    backup.make(store, file)

    new = {path.name: path.stat().st_mode & 0o777 for path in set(tmp_path.iterdir()) - before}
    assert {name: mode for name, mode in new.items() if "state" not in name} == {
        "backup.db": 0o600,
        "backup.db.key": 0o600,
    }
    assert key.read(tmp_path / "backup.db.key", "here") == filled.KEY


def test_a_backup_is_itself_a_store(store: Store, tmp_path: Path, file: Path) -> None:
    backup.make(store, file)

    with Store.open("sqlite:///backup.db", tmp_path) as copy:
        note(copy, "written into it")

    assert noted("sqlite:///backup.db", tmp_path) == ["written into it"]


def test_a_backup_never_overwrites_a_file_unless_it_is_told_to(store: Store, tmp_path: Path, file: Path) -> None:
    backup.make(store, file)
    before = file.read_bytes()
    note(store, "later")

    with pytest.raises(BackupExists, match=r"backup\.db already exists"):
        backup.make(store, file)
    assert file.read_bytes() == before

    assert backup.make(store, file, replace=True).entries == 4
    assert noted("sqlite:///backup.db", tmp_path) == ["later"]


def test_a_key_file_of_another_backup_is_not_overwritten(store: Store, tmp_path: Path, file: Path) -> None:
    key.write(tmp_path / "backup.db.key", b"x" * 32, "here")

    with pytest.raises(BackupExists, match=r"backup\.db\.key already exists"):
        backup.make(store, file)

    key.write(tmp_path / "backup.db.key", filled.KEY, "here")  # as a backup that was killed leaves it
    assert backup.make(store, file).entries == 3


def test_a_state_whose_log_was_changed_is_not_called_backed_up(
    store: Store, url: str, tmp_path: Path, file: Path
) -> None:
    with filled.connected(url, tmp_path) as connection:
        connection.execute(sa.text("UPDATE audit SET actor = 'mallory' WHERE seq = 2"))

    with pytest.raises(BackupNotWritten, match="its audit log is broken at entry 2: the entry was changed"):
        backup.make(store, file)
    assert list(tmp_path.glob("*backup*")) == []


def test_a_folder_that_is_not_there_is_told(store: Store, tmp_path: Path) -> None:
    with pytest.raises(BackupNotWritten, match="No such file or directory"):
        backup.make(store, tmp_path / "nowhere" / "backup.db")


STORM = """
with Store.open(url, root, patience=dt.timedelta(seconds=30)) as store:
    print("open")
    while not (root / "enough").exists():
        with store.begin() as tx:
            for n in range(3):
                audit.append(tx, "eve", "test.stormed", f"n{n}", {"run": "r"})
            tx.connection.execute(sa.insert(tables.pauses).values(
                subject=os.urandom(9).hex(), reason="storm", by="eve", since=tx.now))
"""


@pytest.mark.slow
def test_a_backup_in_a_storm_of_writers_is_of_one_moment_and_stops_none(
    store: Store, url: str, tmp_path: Path, file: Path
) -> None:
    storm = [Program(STORM, url, tmp_path).ready().go() for _ in range(2)]
    for item in storm:
        assert item.line() == "open"

    createds = [backup.make(store, tmp_path / f"{n}.db") for n in range(3)]

    (tmp_path / "enough").touch()
    for item in storm:
        item.end()
    for item in createds:
        assert item.rows["audit"] == item.rows["audit_bodies"] == item.entries
        assert item.entries - 3 == 3 * (item.rows["pauses"] - 1)
    assert createds[0].entries < createds[1].entries < createds[2].entries
    assert log.verify(store).entries > createds[2].entries


@pytest.mark.slow
def test_a_backup_that_is_killed_leaves_no_file_of_that_name(url: str, tmp_path: Path) -> None:
    shop = ChargesProject.at(tmp_path / "shop", url)
    filled.build(url, shop.folder)
    through = shop.held("backup", "through.db").ready().go()
    assert through.end().code == 0

    for moment in {2, through.statements // 2, through.statements}:
        killed = shop.held("backup", "backup.db", dies_at=moment).ready().go()
        assert killed.end().code == -signal.SIGKILL
        assert not (shop.folder / "backup.db").exists()

    assert shop.cli("backup", "backup.db").code == 0
    assert shop.chained()


LARGE = """
import resource
from reconcile.upkeep import backup, restore
store = Store.open(url, root)
used = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
before = used()
made = backup.make(store, root / "large.db")
restore.restore(store, root / "large.db", yes=True)
print(made.entries, used() - before)
"""


@pytest.mark.slow
def test_a_large_state_is_backed_up_and_restored_in_little_memory(store: Store, url: str, tmp_path: Path) -> None:
    for _ in range(10):
        with store.begin() as tx:
            for n in range(1_000):
                log.append(tx, "eve", "test.noted", "x", {"run": f"{n}", "text": "x" * 5_000})

    entries, megabytes = map(int, Program(LARGE, url, tmp_path).ready().go().end().split())

    assert entries == 10_003
    assert megabytes < 45  # of some 60 MB of rows


# Restoring


def restored(store: Store, file: Path, **allowed: bool) -> restore.Restored:
    return restore.restore(store, file, actor="eve", **allowed)


def test_a_restored_state_is_that_of_the_backup_and_its_log_says_what_is_gone(
    store: Store, url: str, tmp_path: Path, file: Path
) -> None:
    created = backup.make(store, file)
    before = filled.stored(url, tmp_path)
    note(store, "gone", "gone too")

    done = restored(store, file, yes=True)

    after = filled.stored(url, tmp_path)
    assert {name: after[name] for name in set(after) - AT_WORK} == {name: before[name] for name in set(after) - AT_WORK}
    assert done.gone == {"audit": 2, "audit_bodies": 2}
    with Store.open(url, tmp_path) as again:
        assert log.verify(again).entries == 3 + IN_HAND + 1
        with again.read() as tx:
            [entry] = log.entries(tx, event="store")
            taken = [item.body["plan"] for item in log.entries(tx, event="operation.taken_over")]
    assert taken == sorted(row["id"] for row in before["plans"] if row["owner"] is not None)
    assert {row["owner"] for row in after["plans"]} == {None}
    assert (entry.seq, entry.actor, entry.event) == (3 + IN_HAND + 1, "eve", "store.restored")
    assert entry.body["backup"]["head"] == created.head
    assert entry.body["replaced"]["entries"] == 5
    assert (entry.body["gone"], entry.body["epoch"]) == (done.gone, 2)


@pytest.mark.slow
def test_nobody_from_before_is_taken_for_who_it_was(store: Store, url: str, tmp_path: Path, file: Path) -> None:
    backup.make(store, file)
    with store.begin() as tx:
        tx.connection.execute(sa.update(tables.leases).where(tables.leases.c.name == "job:other").values(fence=70))
        row = {"name": "job:new", "owner": None, "fence": 3, "lease_until": tx.now, "taken_at": tx.now}
        tx.connection.execute(sa.insert(tables.leases).values(row))

    restored(store, file, yes=True)

    after = filled.stored(url, tmp_path)
    assert {(row["name"], row["owner"], row["fence"]) for row in after["leases"]} == {
        ("job:nightly", None, 71),
        ("job:other", None, 71),
        ("job:new", None, 71),
    }
    assert {row["fence"] for row in after["outbox"] if row["status"] == "queued"} == {71}


def test_a_session_that_ended_after_the_backup_does_not_come_back(
    store: Store, url: str, tmp_path: Path, file: Path
) -> None:
    with store.begin() as tx:
        users.add(tx, "zoe", Role.ADMIN, by="eve", password=None)
    session = sessions.sign_in_by_proxy(store, "zoe", sessions.Lifetime())
    backup.make(store, file)
    sessions.sign_out(store, session.secret)

    restored(store, file, yes=True)

    with Store.open(url, tmp_path) as again:
        assert sessions.resume(again, session.secret, sessions.Lifetime()) is None


def test_due_times_of_before_are_missed_and_none_since_comes_up(url: str, tmp_path: Path, file: Path) -> None:
    filled.build(url, tmp_path)
    with Store.open(url, tmp_path, clock=FixedClock(NOW)) as store:
        backup.make(store, file)

        done = restored(store, file)

    after = filled.stored(url, tmp_path)
    assert done.slots_missed == 2
    assert sorted((row["status"], row["reason"]) for row in after["slots"]) == [
        ("failed", None),
        ("missed", "because"),
        ("missed", "the state was restored from a backup"),
        ("missed", "the state was restored from a backup"),
        ("succeeded", None),
    ]
    [schedule] = after["schedules"]
    assert schedule["since"] == schedule["watermark"] == "2026-11-21T12:00:00.000000Z"


def test_messages_that_waited_are_looked_for_before_they_are_sent(
    store: Store, url: str, tmp_path: Path, file: Path
) -> None:
    backup.make(store, file)

    done = restored(store, file)

    assert done.messages_unknown == 2
    assert {
        row["message"]: (row["status"], row["outcome_unknown"]) for row in filled.stored(url, tmp_path)["outbox"]
    } == {
        "m-queued": ("queued", True),
        "m-sending": ("queued", True),
        "m-sent": ("sent", False),
        "m-failed": ("failed", True),
    }


def test_what_the_state_holds_beyond_the_backup_is_given_up_only_when_somebody_says_so(
    store: Store, url: str, tmp_path: Path, file: Path
) -> None:
    backup.make(store, file)
    note(store, "newer")

    with pytest.raises(StateIsNewer, match="its audit log has 4 entries, the backup's 3"):
        restored(store, file)

    assert noted(url, tmp_path) == ["newer"]
    restored(store, file, yes=True)
    assert noted(url, tmp_path) == []


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Store]:
    """Another state, with a key of its own, that is not empty."""
    folder = tmp_path / "other"
    folder.mkdir()
    with Store.open(NEW, folder) as other_store:
        note(other_store, "of the other")
        yield other_store


def test_a_backup_of_another_state_is_refused_unless_somebody_says_so(
    store: Store, other: Store, url: str, tmp_path: Path, file: Path
) -> None:
    backup.make(other, file)

    with pytest.raises(OtherStore, match="is a backup of another state"):
        restored(store, file, yes=True)
    with pytest.raises(StateIsNewer):
        restored(store, file, other_store=True)
    assert noted(url, tmp_path) == []

    restored(store, file, yes=True, other_store=True)

    assert noted(url, tmp_path) == ["of the other"]
    with Store.open(url, tmp_path) as again:
        assert (again.id, again.key, again.epoch) == (other.id, other.key, 2)
    assert list(tmp_path.glob("*.next")) == []


@pytest.mark.server
def test_a_state_moves_to_postgresql_and_back_row_by_row(postgres_url: str, tmp_path: Path) -> None:
    filled.build(STATE, tmp_path)
    (tmp_path / "back").mkdir()
    with Store.open(STATE, tmp_path) as first, Store.open(postgres_url, tmp_path) as second:
        backup.make(first, tmp_path / "there.db")
        restored(second, tmp_path / "there.db")
    with Store.open(postgres_url, tmp_path) as second, Store.open(STATE, tmp_path / "back") as third:
        backup.make(second, tmp_path / "back.db")
        restored(third, tmp_path / "back.db")

    before, rows = filled.stored(STATE, tmp_path), filled.stored(postgres_url, tmp_path)
    back = filled.stored(STATE, tmp_path / "back")
    assert filled.stored("sqlite:///back.db", tmp_path) == rows
    for name in set(before) - AT_WORK:
        assert before[name] == rows[name] == back[name], name
    for name in ("audit", "audit_bodies"):
        assert [row for row in back[name] if row["seq"] <= 3] == before[name]
        assert [row for row in back[name] if row["seq"] <= 3 + IN_HAND + 1] == rows[name]
    assert noted(STATE, tmp_path / "back") == []


@pytest.mark.server
def test_a_sentence_with_a_nul_moves_to_postgresql(postgres_url: str, tmp_path: Path, file: Path) -> None:
    with Store.open(STATE, tmp_path) as old, Store.open(postgres_url, tmp_path) as new:
        with old.begin() as tx:
            row = {"subject": "everything", "reason": "a\0b", "by": "eve", "since": tx.now}
            tx.connection.execute(sa.insert(tables.pauses).values(row))
        backup.make(old, file)
        restored(new, file)

    assert [row["reason"] for row in filled.stored(postgres_url, tmp_path)["pauses"]] == ["a␀b"]


@pytest.mark.parametrize("revision", filled.REVISIONS)
@pytest.mark.slow
def test_a_backup_of_an_older_schema_is_upgraded_on_its_way(
    revision: str, url: str, tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "old").mkdir()
    filled.build(STATE, tmp_path / "old", revision)
    shutil.move(tmp_path / "old" / "reconcile.db", file)
    shutil.move(tmp_path / "old" / "reconcile.db.key", tmp_path / "backup.db.key")
    before = file.read_bytes()
    next_version.install(tmp_path / "versions", monkeypatch.setattr)

    with Store.open(url, tmp_path) as store:
        done = restored(store, file)

    assert done.backup.schema == next_version.REVISION
    assert file.read_bytes() == before
    after = filled.stored(url, tmp_path)
    assert len(after["findings"]) == sum(
        len(filled.ROWS[remembered].get("findings", [])) for remembered in filled.REVISIONS if remembered <= revision
    )
    assert noted(url, tmp_path) == []


def rewrite(file: Path, *statements: str) -> None:
    connection = sqlite3.connect(file)
    with connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def _other_key(file: Path) -> None:
    key.write(file.with_name(f"{file.name}.key"), b"x" * 32, "here")


def _as_a_state_in_use(file: Path) -> None:
    file.with_name(f"{file.name}-wal").write_bytes(b"x")


UNUSABLE: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (Path.unlink, "file not found"),
    "a folder": (lambda file: (file.unlink(), file.mkdir()), "it is a folder"),
    "empty": (lambda file: file.write_bytes(b""), "it is not a complete SQLite file"),
    "text": (lambda file: file.write_text("a,b\n" * 999), "it is not a complete SQLite file"),
    "truncated": (lambda file: os.truncate(file, 60_000), "it is not a complete SQLite file|it is damaged"),
    "foreign": (lambda file: rewrite(file, "PRAGMA application_id = 7"), "it is another program's database"),
    "newer": (lambda file: rewrite(file, "UPDATE meta SET revision = '0999'"), "a newer version of Reconcile made it"),
    "without key": (lambda file: file.with_name("backup.db.key").unlink(), r"its key file .*backup\.db\.key cannot be"),
    "wrong key": (_other_key, r"its key file .*backup\.db\.key belongs to another store"),
    "open key": (lambda file: file.with_name("backup.db.key").chmod(0o644), "can be read by other users"),
    "changed log": (
        lambda file: rewrite(file, "UPDATE audit_bodies SET body = '{}' WHERE seq = 3"),
        "its audit log is broken at entry 3: the entry's body was changed",
    ),
    "cut log": (
        lambda file: rewrite(file, "DELETE FROM audit_bodies WHERE seq = 3", "DELETE FROM audit WHERE seq = 3"),
        "its audit log is broken at entry 4: the log ends here, but 3 entries|broken at entry 3",
    ),
    "lost rows": (
        lambda file: rewrite(file, "DELETE FROM runs WHERE id = 'run1_good'"),
        "refer to missing rows of runs",
    ),
    "in use": (_as_a_state_in_use, "it is a state in use"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("damage", "said"), UNUSABLE.values(), ids=UNUSABLE)
def test_what_is_no_whole_backup_is_refused_in_one_sentence(
    damage: Callable[[Path], object], said: str, tmp_path: Path, file: Path
) -> None:
    filled.build(STATE, tmp_path)
    with Store.open(STATE, tmp_path) as store:
        backup.make(store, file)
        note(store, "stays")
        damage(file)

        with pytest.raises(BackupUnusable, match=said) as caught:
            restored(store, file, yes=True)

    assert "\n" not in str(caught.value)
    assert filled.KEY.hex() not in str(caught.value)
    assert noted(STATE, tmp_path) == ["stays"]


# Under whoever is at work

WORKER = """
store = Store.open(url, root, patience=dt.timedelta(seconds=20))
mine = lease.acquire(store, "job:working", dt.timedelta(minutes=1))
print(mine.fence)
wait()
for attempt in ("first", "second"):
    try:
        with store.begin() as tx:
            lease.check(tx, mine)
            audit.append(tx, "eve", "test.noted", attempt, {"run": attempt})
        print("wrote")
    except Exception as error:
        print(type(error).__name__)
    wait()
"""


def test_a_worker_that_goes_on_after_a_restore_writes_nothing(
    store: Store, url: str, tmp_path: Path, file: Path
) -> None:
    backup.make(store, file)
    worker = Program(WORKER, url, tmp_path).ready().go()
    assert worker.line() == "1"

    restored(store, file, yes=True)

    for _ in range(2):
        worker.go()
        assert worker.line() == "StoreReplaced"
    worker.kill()
    assert noted(url, tmp_path) == []
    with Store.open(url, tmp_path) as again:
        taken = lease.acquire(again, "job:working", dt.timedelta(minutes=1))
        assert isinstance(taken, lease.Lease)
        assert taken.fence > 1


@pytest.mark.slow
def test_a_transaction_that_has_begun_ends_before_the_rows_are_replaced(
    store: Store, url: str, tmp_path: Path, file: Path
) -> None:
    """It was let in by the state of before: written into the restored one, its rows would be of nowhere."""
    backup.make(store, file)
    outcome: list[object] = []

    def replace() -> None:
        with Store.open(url, tmp_path) as second:
            outcome.append(restored(second, file, yes=True))

    thread = threading.Thread(target=replace)
    with store.begin() as tx:
        thread.start()
        thread.join(1.0)
        assert outcome == []
        log.append(tx, "eve", "test.noted", "x", {"run": "before the restore"})
    thread.join()

    assert len(outcome) == 1
    assert noted(url, tmp_path) == []
    with pytest.raises(errors.StoreReplaced, match="was restored from a backup while this process was running"):
        note(store, "after")


@pytest.mark.slow
def test_a_state_that_stays_locked_is_left_as_it_is(store: Store, url: str, tmp_path: Path, file: Path) -> None:
    backup.make(store, file)
    with Store.open(url, tmp_path, patience=dt.timedelta(milliseconds=200)) as second:
        with store.begin(), pytest.raises(errors.StoreLocked):
            restored(second, file)

        note(second, "goes on")
    assert noted(url, tmp_path) == ["goes on"]


@pytest.mark.slow
def test_a_reader_sees_the_state_of_before_or_that_of_after(store: Store, url: str, tmp_path: Path, file: Path) -> None:
    """PostgreSQL empties tables for every view at once: one that was let in just then must not find nothing."""
    backup.make(store, file)
    count = sa.select(sa.func.count()).select_from(tables.findings)
    stop, seen = threading.Event(), set()

    def look() -> None:
        with Store.open(url, tmp_path) as reader:
            while not stop.is_set():
                try:
                    with reader.read() as tx:
                        seen.add(tx.connection.execute(count).scalar_one())
                except errors.StoreReplaced:
                    return

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    while not seen:
        stop.wait(0.01)
    restored(store, file)
    stop.wait(0.05)
    stop.set()
    for thread in threads:
        thread.join()

    assert seen == {6}


@pytest.mark.slow
def test_a_restore_that_is_killed_leaves_the_old_state_or_the_new_one(url: str, tmp_path: Path) -> None:
    shop = ChargesProject.at(tmp_path / "shop", url)
    filled.build(url, shop.folder)
    with Store.open(url, shop.folder) as store:
        backup.make(store, shop.folder / "backup.db")
        note(store, "newer")
    assert "add --yes" in shop.cli("restore", "backup.db").err
    whole = shop.held("restore", "backup.db", "--yes").ready().go()
    assert whole.end().code == 0
    collected = []
    for moment in (1, whole.statements // 2, whole.statements - 2, whole.statements - 1, whole.statements):
        with Store.open(url, shop.folder) as store:
            note(store, "newer")
        before = filled.stored(url, shop.folder)
        killed = shop.held("restore", "backup.db", "--yes", dies_at=moment).ready().go()
        assert killed.end().code == -signal.SIGKILL
        collected.append(noted(url, shop.folder) == [])
        assert collected[-1] or filled.stored(url, shop.folder) == before

    assert collected == sorted(collected)  # first the old state, from its end on the new one
    assert not collected[1]
    assert shop.cli("restore", "backup.db", "--yes").code == 0
    assert noted(url, shop.folder) == []


def test_a_restore_killed_between_the_rows_and_the_key_leaves_a_state_that_opens(
    store: Store, other: Store, url: str, tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup.make(other, file)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(key, "take_next", die)
    with pytest.raises(KeyboardInterrupt):
        restored(store, file, yes=True, other_store=True)
    monkeypatch.undo()

    assert noted(url, tmp_path) == ["of the other"]
    assert list(tmp_path.glob("*.next")) == []
    assert noted(url, tmp_path) == ["of the other"]


def test_a_key_laid_ready_by_a_restore_that_failed_is_not_taken_later(
    store: Store, url: str, tmp_path: Path, file: Path
) -> None:
    backup.make(store, file)
    key.write(key.next_of(store.key_file), b"x" * 32, "here")

    restored(store, file)

    assert noted(url, tmp_path) == []


# The command line


@pytest.mark.slow
def test_the_commands_say_what_they_did_and_what_they_refuse(tmp_path: Path) -> None:
    shop = ChargesProject.at(tmp_path / "shop").add(*twice(1, "A-1"), charge(9, "A-9"))
    nothing = shop.cli("backup")
    shop.run("--slot", START)

    created = shop.cli("backup", "b.db", "--json")
    again = shop.cli("backup", "b.db")
    named = shop.cli("backup")
    shop.add(*twice(11, "A-2")).run("--slot", NEXT)
    newer = shop.cli("restore", "b.db")
    done = shop.cli("restore", "b.db", "--yes", "--json")
    missing = shop.cli("restore", "c.db")

    assert (nothing.code, "no state database" in nothing.err) == (2, True)
    assert (created.code, created.json["rows"]["findings"], created.json["file"]) == (0, 1, "b.db")
    assert (again.code, "b.db already exists" in again.err) == (2, True)
    assert len(list(shop.folder.glob("reconcile-backup-*Z.db"))) == 1
    assert "1 run, 1 finding, " in named.out
    assert (newer.code, "add --yes" in newer.err) == (4, True)
    assert (done.code, done.json["gone"]["findings"], done.json["epoch"]) == (0, 1, 2)
    assert (missing.code, "c.db cannot be used as a backup: file not found" in missing.err) == (2, True)
    assert len(shop.findings()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("decision", ["dismiss", "handle"])
def test_a_restore_says_in_words_what_is_gone(decision: str, tmp_path: Path) -> None:
    """A pair that was handled is the same: it is not listed as one that is not."""
    shop = ChargesProject.at(tmp_path / "shop").add(*twice(1, "A-1"))
    shop.run("--slot", START)
    shop.cli("backup", "b.db")
    shop.add(*twice(11, "A-2")).run("--slot", NEXT)
    newest = shop.findings()[-1]["id"]
    assert shop.cli(decision, newest).code == 0

    done = shop.cli("restore", "b.db", "--yes")

    [gone] = [line for line in done.out.splitlines() if line.startswith("lost: ")]
    assert gone.startswith("lost: 1 run, 1 finding, 1 decision about a pair of records, ")
    assert re.search(r", \d+ log entries, \d+ related rows$", gone)
    assert "_" not in gone, "no name of a table"


@pytest.mark.slow
def test_a_restore_needs_no_state_to_be_there(tmp_path: Path) -> None:
    shop = ChargesProject.at(tmp_path / "shop").add(*twice(1, "A-1"))
    shop.run("--slot", START)
    assert shop.cli("backup", "b.db").code == 0
    for path in shop.folder.glob("state.db*"):
        path.unlink()

    assert shop.cli("restore", "b.db").code == 0

    assert len(shop.findings()) == 1
    assert shop.intact()


@pytest.mark.slow
def test_a_disk_that_is_full_leaves_no_half_a_backup_and_the_state_as_it_was(tmp_path: Path) -> None:
    shop = ChargesProject.at(tmp_path / "shop").add(*twice(1, "A-1"))
    shop.run("--slot", START)
    project = Project(shop.folder)
    before = {path.name for path in shop.folder.iterdir() if not path.name.startswith(".")}

    full = project.start("backup", "full.db", file_size=100_000).end()

    assert (full.code, "could not be written" in full.err) == (3, True)
    assert {path.name for path in shop.folder.iterdir() if "full" in path.name} == set()
    assert before <= {path.name for path in shop.folder.iterdir()}
    assert shop.cli("backup", "b.db").code == 0
    shop.add(*twice(11, "A-2")).run("--slot", NEXT)

    full = project.start("restore", "b.db", "--yes", file_size=100_000).end()

    assert (full.code, "has no space left" in full.err) == (3, True)
    assert len(shop.findings()) == 2
    assert shop.intact()
