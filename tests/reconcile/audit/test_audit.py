"""The audit log: gapless under racing writers and kills, and every way of tampering is named at the right entry."""

import datetime as dt
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from reconcile.audit import log as audit
from reconcile.audit import verifier
from reconcile.store import Store, Transaction, audit_log, tables
from tests.support.servers import STATE
from tests.support.store import FixedClock, Program, in_parallel, store

__all__ = ["store"]

LENGTH = 40
FIELDS = ("seq", "at", "actor", "event", "subject", "body_commitment")
PLACES = (1, 2, 17, LENGTH - 1, LENGTH)


def write(store: Store, count: int, *, each: int = 7) -> None:
    """That many entries, several a transaction."""
    for start in range(0, count, each):
        with store.begin() as tx:
            for n in range(start, min(start + each, count)):
                audit.append(tx, "reconcile", "finding.opened", f"finding:F-{n}", {"finding": f"F-{n}", "records": n})


def run_sql(store: Store, *statements: str, **values: object) -> None:
    with store.begin() as tx:
        for statement in statements:
            tx.connection.execute(sa.text(statement), values)


# Writing


def test_an_entry_is_there_exactly_when_its_transaction_is(store: Store) -> None:
    with store.begin() as tx:
        audit.append(tx, "ann", "finding.dismissed", "finding:F-1", {"finding": "F-1"})
    with pytest.raises(sa.exc.IntegrityError):
        _dismiss_and_break(store)

    with store.read() as tx:
        assert [(entry.seq, entry.actor, entry.body) for entry in audit.entries(tx)] == [(1, "ann", {"finding": "F-1"})]
    assert audit.verify(store).intact


def _dismiss_and_break(store: Store) -> None:
    with store.begin() as tx:
        audit.append(tx, "ann", "finding.dismissed", "finding:F-2", {"finding": "F-2"})
        tx.connection.execute(sa.update(tables.meta).values(id=2))


def test_an_empty_log_is_intact(store: Store) -> None:
    result = audit.verify(store)

    assert (result.intact, result.entries, result.head) == (True, 0, verifier.genesis(store.id))


def test_a_subject_is_stored_under_the_stores_key_and_can_still_be_searched_for(store: Store) -> None:
    with store.begin() as tx:
        audit.append(tx, "ann", "person.seen", "ann@example.org", {})

    with store.read() as tx:
        stored = tx.connection.execute(sa.select(tables.audit.c.subject)).scalar_one()
        seqs = [entry.seq for entry in audit.entries(tx, subject="ann@example.org")]
        others = [entry.seq for entry in audit.entries(tx, subject="bob@example.org")]
    assert "ann" not in stored
    assert (seqs, others) == ([1], [])


def test_entries_are_filtered_by_finding_run_event_and_time(tmp_path: Path) -> None:
    clock = FixedClock()
    with Store.open(STATE, tmp_path, clock=clock) as store:
        for event, body in (
            ("run.started", {"run": "r1"}),
            ("finding.opened", {"run": "r1", "finding": "F-1"}),
            ("finding.dismissed", {"finding": "F-1"}),
            ("findings", {"finding": "F-2"}),
        ):
            with store.begin() as tx:
                audit.append(tx, "ann", event, "x", body)
            clock.sleep(60)

        with store.read() as tx:
            seqs = {
                "finding": [entry.seq for entry in audit.entries(tx, finding="F-1")],
                "run": [entry.seq for entry in audit.entries(tx, run="r1")],
                "event": [entry.seq for entry in audit.entries(tx, event="finding.opened")],
                "prefix": [entry.seq for entry in audit.entries(tx, event="finding")],
                "both": [entry.seq for entry in audit.entries(tx, run="r1", finding="F-1")],
            }

    assert seqs == {"finding": [2, 3], "run": [1, 2], "event": [2], "prefix": [2, 3], "both": [2]}


@pytest.mark.parametrize("text", ["\x00", "\ud800", "Zoë 🦆", "<!channel>", "a\nb"])
def test_a_body_keeps_any_text_and_verifies(text: str, store: Store) -> None:
    with store.begin() as tx:
        audit.append(tx, "reconcile", "note", "x", {"text": text})

    with store.read() as tx:
        assert [entry.body for entry in audit.entries(tx)] == [{"text": text}]
    assert audit.verify(store).intact


def test_the_head_is_what_anybody_computes_from_the_documented_form(tmp_path: Path) -> None:
    """A golden value: a chain written today must verify with every later version."""
    with Store.open(STATE, tmp_path) as store, store.begin() as tx:
        store.id, store.key = "st_0", b"k" * 32
        row = {"seq": 1, "at": "2026-11-21T12:00:00.000000Z", "actor": "ann", "event": "run.started"}
        row |= {"subject": audit.subject_of(store, "run:1"), "body_commitment": verifier.commitment("aa", "{}")}

        assert verifier.genesis("st_0") == GOLDEN[0]
        assert verifier.next_head(verifier.genesis("st_0"), *(row[name] for name in FIELDS)) == GOLDEN[1]
        assert tx.now.tzinfo is dt.UTC


GOLDEN = (
    "dfdcddf3f4fa2cf4450e9a7c6e5e71284bacac6ff570dcbd047daf92c06451e8",
    "318a913a7b07c58b742868b8f63edb3d4f54574d2714f2f2cce343bb7fc65a02",
)


@pytest.mark.slow
def test_eight_processes_append_at_once_and_the_chain_has_neither_gap_nor_fork(
    url: str, store: Store, tmp_path: Path
) -> None:
    code = """
    with Store.open(url, root, patience=dt.timedelta(seconds=60)) as store:
        for n in range(20):
            with store.begin() as tx:
                audit.append(tx, str(os.getpid()), "test", "x", {"n": n})
                audit.append(tx, str(os.getpid()), "test", "x", {"n": n})
    """

    in_parallel(8, code, url, tmp_path)

    result = audit.verify(store)
    assert (result.problem, result.entries) == (None, 320)
    with store.read() as tx:
        actors = [entry.actor for entry in audit.entries(tx)]
    assert all(actors[n] == actors[n + 1] for n in range(0, 320, 2)), "a transaction's entries stand together"


@pytest.mark.slow
def test_a_writer_killed_at_any_moment_leaves_a_chain_that_verifies_with_all_it_was_told_is_kept(
    url: str, store: Store, tmp_path: Path
) -> None:
    code = """
    with Store.open(url, root) as store:
        for n in range(100000):
            with store.begin() as tx:
                audit.append(tx, "reconcile", "test", "x", {"n": n})
                audit.append(tx, "reconcile", "test", "x", {"n": n})
            print(n)
    """
    kept = 0

    for commits in (1, 2, 5, 9, 14, 20):
        program = Program(code, url, tmp_path).ready().go()
        for _ in range(commits):
            program.line()
        program.kill()

        result = audit.verify(store)
        assert result.problem is None
        assert result.entries % 2 == 0
        assert result.entries >= kept + 2 * commits
        kept = result.entries


@pytest.mark.slow
def test_verifying_needs_no_more_memory_for_a_longer_log(store: Store) -> None:
    peaks = []
    for _ in range(2):
        write(store, 4_000, each=4_000)
        tracemalloc.start()
        assert audit.verify(store).intact
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()

    assert peaks[1] < peaks[0] * 1.3


# Tampering

Tampering = Callable[[Transaction, int], int]
"""Changes the log at an entry, and says which entry must be named."""


def _sql(*statements: str, named: int = 0) -> Tampering:
    def tamper(tx: Transaction, seq: int) -> int:
        for statement in statements:
            tx.connection.execute(sa.text(statement), {"seq": seq} if ":seq" in statement else {})
        return seq + named

    return tamper


def _edit_and_rehash(tx: Transaction, seq: int) -> int:
    """The next entry betrays it, or at the end of the log the head's row."""
    log = audit_log.RAW_ENTRIES
    row = dict(tx.connection.execute(sa.select(log).where(log.c.seq == seq)).mappings().one())
    head = hashed({**row, "actor": "mallory"})
    tx.connection.execute(sa.update(log).where(log.c.seq == seq).values(actor="mallory", head=head))
    return min(seq + 1, LENGTH)


def hashed(row: dict[str, object]) -> str:
    return verifier.next_head(*(row[name] for name in ("prev", *FIELDS)))  # type: ignore[arg-type]  # as they are stored


def _shift(tx: Transaction, first: int, by: int) -> None:
    """Renumber the entries from `first` on, by way of numbers nobody uses."""
    for table in ("audit", "audit_bodies"):
        tx.connection.execute(sa.text(f"UPDATE {table} SET seq = -seq WHERE seq >= {first}"))
        tx.connection.execute(sa.text(f"UPDATE {table} SET seq = -seq + {by} WHERE seq < 0"))


def _delete_and_close_the_gap(tx: Transaction, seq: int) -> int:
    _sql("DELETE FROM audit_bodies WHERE seq = :seq", "DELETE FROM audit WHERE seq = :seq")(tx, seq)
    _shift(tx, seq + 1, -1)
    return seq


def _insert_forged(tx: Transaction, seq: int) -> int:
    """A forged entry that follows the one before it rightly: the entry after it betrays it."""
    log, bodies = audit_log.RAW_ENTRIES, audit_log.RAW_BODIES
    row = dict(tx.connection.execute(sa.select(log).where(log.c.seq == seq)).mappings().one())
    body = dict(tx.connection.execute(sa.select(bodies).where(bodies.c.seq == seq)).mappings().one())
    _shift(tx, seq, 1)
    row["actor"] = "mallory"
    tx.connection.execute(sa.insert(log).values({**row, "head": hashed(row)}))
    tx.connection.execute(sa.insert(bodies).values(body))
    return seq + 1


def _insert_copy(tx: Transaction, seq: int) -> int:
    log, bodies = audit_log.RAW_ENTRIES, audit_log.RAW_BODIES
    row = dict(tx.connection.execute(sa.select(log).where(log.c.seq == seq)).mappings().one())
    body = dict(tx.connection.execute(sa.select(bodies).where(bodies.c.seq == seq)).mappings().one())
    _shift(tx, seq + 1, 1)
    tx.connection.execute(sa.insert(log).values({**row, "seq": seq + 1}))
    tx.connection.execute(sa.insert(bodies).values({**body, "seq": seq + 1}))
    return seq + 1


def _swap(tx: Transaction, seq: int) -> int:
    second = seq + 1 if seq < LENGTH else seq - 1
    for table in ("audit", "audit_bodies"):
        for old, new in ((seq, -1), (second, seq), (-1, second)):
            tx.connection.execute(sa.text(f"UPDATE {table} SET seq = {new} WHERE seq = {old}"))
    return min(seq, second)


TAMPERINGS: dict[str, tuple[Tampering, str]] = {
    "edit the event": (_sql("UPDATE audit SET event = 'run.started' WHERE seq = :seq"), "was changed"),
    "edit the actor": (_sql("UPDATE audit SET actor = 'mallory' WHERE seq = :seq"), "was changed"),
    "edit the time": (_sql("UPDATE audit SET at = '2020-01-01T00:00:00.000000Z' WHERE seq = :seq"), "was changed"),
    "spoil the time": (_sql("UPDATE audit SET at = 'yesterday' WHERE seq = :seq"), "was changed"),
    "edit the subject": (_sql("UPDATE audit SET subject = 'x' WHERE seq = :seq"), "was changed"),
    "edit the commitment": (_sql("UPDATE audit SET body_commitment = 'x' WHERE seq = :seq"), "was changed"),
    "edit prev": (_sql("UPDATE audit SET prev = 'x' WHERE seq = :seq"), "does not follow"),
    "edit the head": (_sql("UPDATE audit SET head = 'x' WHERE seq = :seq"), "was changed"),
    "edit and hash again": (_edit_and_rehash, ""),
    "delete": (
        _sql("DELETE FROM audit_bodies WHERE seq = :seq", "DELETE FROM audit WHERE seq = :seq"),
        "",
    ),
    "delete and close the gap": (_delete_and_close_the_gap, ""),
    "delete three": (
        _sql(
            "DELETE FROM audit_bodies WHERE seq BETWEEN :seq AND :seq + 2",
            "DELETE FROM audit WHERE seq BETWEEN :seq AND :seq + 2",
        ),
        "",
    ),
    "cut the tail": (
        _sql("DELETE FROM audit_bodies WHERE seq >= :seq", "DELETE FROM audit WHERE seq >= :seq"),
        f"{LENGTH} entries were written",
    ),
    "insert a forged entry": (_insert_forged, ""),
    "insert a copy": (_insert_copy, ""),
    "swap two": (_swap, "does not follow"),
    "edit the body": (
        _sql("""UPDATE audit_bodies SET body = '{"finding":"F-9"}' WHERE seq = :seq"""),
        "body was changed",
    ),
    "spoil the body": (_sql("UPDATE audit_bodies SET body = '' WHERE seq = :seq"), "body was changed"),
    "add a blank to the body": (
        _sql("UPDATE audit_bodies SET body = body || ' ' WHERE seq = :seq"),
        "body was changed",
    ),
    "edit the salt": (_sql("UPDATE audit_bodies SET salt = 'x' WHERE seq = :seq"), "body was changed"),
    "remove the body": (_sql("DELETE FROM audit_bodies WHERE seq = :seq"), "body is missing"),
    "file it elsewhere": (
        _sql("UPDATE audit_bodies SET finding = 'F-1x' WHERE seq = :seq"),
        "the finding or run of the entry",
    ),
}


@pytest.fixture
def unguarded(url: str, tmp_path: Path) -> Iterator[Store]:
    """A store of LENGTH entries whose database no longer minds foreign keys, as an attacker would have it."""
    with Store.open(url, tmp_path) as store:
        write(store, LENGTH)
        if store.is_shared:
            run_sql(store, "ALTER TABLE audit_bodies DROP CONSTRAINT fk_audit_bodies_seq")
        else:
            sa.event.listen(store._engine, "connect", lambda raw, _: raw.execute("PRAGMA foreign_keys = OFF"))
            store._engine.dispose()
        for table in ("audit", "audit_bodies", "audit_head"):
            run_sql(store, f"CREATE TABLE {table}_before AS SELECT * FROM {table}")
        yield store


def restore(store: Store) -> None:
    for table in ("audit_bodies", "audit", "audit_head"):
        run_sql(store, f"DELETE FROM {table}", f"INSERT INTO {table} SELECT * FROM {table}_before")


def test_every_way_of_tampering_is_named_at_the_right_entry(unguarded: Store) -> None:
    wrong = []
    for name, (tamper, words) in TAMPERINGS.items():
        for seq in PLACES:
            with unguarded.begin() as tx:
                expected = tamper(tx, seq)
            result = audit.verify(unguarded)
            if result.intact or result.seq != expected or words not in str(result.problem):
                wrong.append((name, seq, expected, result))
            restore(unguarded)

    assert wrong == []
    assert audit.verify(unguarded).entries == LENGTH


@pytest.mark.parametrize(
    ("statement", "seq", "words"),
    [
        ("UPDATE audit_head SET seq = seq + 1", LENGTH + 1, "41 entries were written"),
        ("UPDATE audit_head SET seq = seq - 1", LENGTH, "is after the end"),
        ("UPDATE audit_head SET head = 'x'", LENGTH, "differs from the recorded end"),
        ("DELETE FROM audit_head", LENGTH + 1, "the row that holds the end of the log is missing"),
        (
            "INSERT INTO audit_bodies (seq, salt, body) SELECT 77, salt, body FROM audit_bodies WHERE seq = 3",
            77,
            "this body has no entry",
        ),
        (
            "INSERT INTO audit SELECT 41, at, actor, event, subject, salt, head, head FROM audit_40",
            41,
            "was changed",
        ),
    ],
)
def test_tampering_with_the_end_is_named(unguarded: Store, statement: str, seq: int, words: str) -> None:
    run_sql(unguarded, statement.replace("audit_40", "audit JOIN audit_bodies USING (seq) WHERE seq = 40"))

    result = audit.verify(unguarded)

    assert result.seq == seq
    assert words in str(result.problem)


def test_a_chain_moved_from_another_store_is_named_at_its_first_entry(unguarded: Store, tmp_path: Path) -> None:
    run_sql(unguarded, "UPDATE meta SET store_id = 'st_other'")
    unguarded.id = "st_other"

    assert audit.verify(unguarded).seq == 1


def test_a_tail_cut_together_with_the_head_is_not_seen_without_anchors(unguarded: Store) -> None:
    """The limit the docs state: this test is here to fail on the day anchors make it visible."""
    run_sql(
        unguarded,
        "DELETE FROM audit_bodies WHERE seq > 30",
        "DELETE FROM audit WHERE seq > 30",
        "UPDATE audit_head SET seq = 30, head = (SELECT head FROM audit WHERE seq = 30)",
    )

    assert audit.verify(unguarded) == audit.VerifyResult(30, audit.verify(unguarded).head)
