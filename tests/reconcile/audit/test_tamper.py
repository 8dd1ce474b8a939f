"""Ten ways to tamper with a log of 10,000 entries, by attackers who may write more and more of what proves it.

What is seen is named at the right entry; what cannot be seen, as docs/guarantees.md and docs/audit.md say, is asserted
to be unseen, so that whoever closes a gap has to correct the docs.
"""

from __future__ import annotations

import json
import secrets
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from reconcile.audit import anchoring, checkpoints, facts, proof
from reconcile.audit import log as audit
from reconcile.audit.anchors.base import Anchor
from reconcile.audit.anchors.file import FileAnchor
from reconcile.audit.anchors.settings import FileAnchorSettings
from reconcile.audit.verifier import EVERY, Mark, commitment, genesis, next_head
from reconcile.store import Store, tables
from reconcile.store.columns import json_text
from tests.support.store import NOON

pytestmark = pytest.mark.slow

LENGTH = 10_000
EACH = 500
"""Entries between two heads in the anchor."""
OLD = 6_500
"""How long the log was when the whole file was copied, to be put back later."""
URL = "sqlite:///reconcile.db"
FILE, ANCHOR, BEFORE = "reconcile.db", "anchor.jsonl", "before.db"
FIELDS = ("seq", "at", "actor", "event", "subject", "body_commitment")
FINDINGS = 2_500
STEPS = (
    ("opened", None, "open"),
    ("snoozed", "open", "snoozed"),
    ("woken", "snoozed", "open"),
    ("dismissed", "open", "dismissed"),
)


def anchor(root: Path) -> dict[str, Anchor]:
    return {"log": FileAnchor("log", FileAnchorSettings(type="file", path=ANCHOR), root, {})}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which 2,500 findings went through four states each, anchored every 500 entries."""
    root = tmp_path_factory.mktemp("log")
    with Store.open(URL, root, clock=lambda: NOON) as store:
        with store.begin() as tx:
            tx.connection.execute(sa.insert(tables.releases).values(hash="r1", config={}, first_seen=NOON))
            fixed = {"job": "nightly", "release": "r1", "trigger": "manual", "status": "running", "attempt": 1}
            tx.connection.execute(sa.insert(tables.runs).values(id="run-1", slot=NOON, fence=1, started=NOON, **fixed))
            tx.connection.execute(sa.insert(tables.findings), [_finding(number) for number in range(FINDINGS)])
        for start in range(0, LENGTH, EACH):
            with store.begin() as tx:
                for n in range(start, start + EACH):
                    event, was, to = STEPS[n // FINDINGS]
                    name = f"F-{n % FINDINGS}"
                    body = {"finding": name, "run": "run-1", "from": was, "to": to, "records": 2}
                    audit.append(tx, "reconcile", f"finding.{event}", name, body)
                if start < FINDINGS:
                    audit.touch(tx, facts.FINDING, [f"F-{n}" for n in range(start, start + EACH)])
            anchoring.write_due(store, anchor(root), {"log": NOON - NOON})
            if start + EACH == OLD:
                with closing(sqlite3.connect(root / FILE)) as source, closing(sqlite3.connect(root / BEFORE)) as copy:
                    source.backup(copy)
    return root


def _finding(number: int) -> dict[str, Any]:
    row: dict[str, Any] = {"id": f"F-{number}", "fingerprint": f"m{number}", "rule": "twin", "kind": "duplicates"}
    row |= {"dataset": "charges", "state": "dismissed", "severity": 2, "version": 1, "key": [], "payload": {}}
    row |= {"money": {}, "records": 2, "first_run": "run-1", "last_run": "run-1"}
    return row | dict.fromkeys(("first_seen", "last_seen", "state_since"), NOON)


@pytest.fixture
def root(built: Path, tmp_path: Path) -> Path:
    """A copy to tamper with."""
    for name in (FILE, ANCHOR, f"{FILE}.key"):
        shutil.copy2(built / name, tmp_path / name)
    return tmp_path


def proven(root: Path, *, anchored: bool = True) -> proof.Proof:
    with Store.open(URL, root) as store:
        return proof.prove(store, anchor(root) if anchored else {})


# The attackers' tools


@dataclass
class Log:
    """The log in the attacker's hands: entries and bodies in order, to be changed and put back."""

    store: str
    entries: list[dict[str, Any]]

    @classmethod
    def taken(cls, root: Path) -> Log:
        with closing(sqlite3.connect(root / FILE)) as database:
            database.row_factory = sqlite3.Row
            rows = database.execute("SELECT * FROM audit JOIN audit_bodies USING (seq) ORDER BY seq").fetchall()
            [store] = database.execute("SELECT store_id FROM meta").fetchone()
        return cls(store, [dict(row) for row in rows])

    def rehash(self) -> None:
        """Every number, commitment and head as if the entries had been written like this."""
        head = genesis(self.store)
        for seq, entry in enumerate(self.entries, 1):
            entry |= {"seq": seq, "prev": head, "body_commitment": commitment(entry["salt"], entry["body"])}
            head = entry["head"] = next_head(head, *(entry[name] for name in FIELDS))

    def put_back(self, root: Path) -> None:
        names = ("seq", "at", "actor", "event", "subject", "body_commitment", "prev", "head")
        bodies = ("seq", "salt", "body", "finding", "run")
        with closing(sqlite3.connect(root / FILE)) as database, database:
            for table, columns in (("audit_bodies", bodies), ("audit", names)):
                database.execute(f"DELETE FROM {table}")
                rows = [[entry[name] for name in columns] for entry in self.entries]
                marks = ", ".join("?" * len(columns))
                database.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)


def end_here(root: Path, log: Log) -> None:
    last = log.entries[-1]
    with closing(sqlite3.connect(root / FILE)) as database, database:
        database.execute("UPDATE audit_head SET seq = ?, head = ?", (last["seq"], last["head"]))


def drop_checkpoints(root: Path, log: Log) -> None:
    """Those that no longer fit go: without the key nobody can sign others."""
    heads = {entry["seq"]: entry["head"] for entry in log.entries}
    with closing(sqlite3.connect(root / FILE)) as database, database:
        for seq, head in database.execute("SELECT seq, head FROM checkpoints").fetchall():
            if heads.get(seq) != head:
                database.execute("DELETE FROM checkpoints WHERE seq = ?", (seq,))
        database.execute("DELETE FROM anchors WHERE seq NOT IN (SELECT seq FROM checkpoints)")


def sign_anew(root: Path, log: Log) -> None:
    """With the key: every hundredth head of the log as it is now."""
    with closing(sqlite3.connect(root / FILE)) as database, database:
        [epoch] = database.execute("SELECT epoch FROM meta").fetchone()
        database.execute("DELETE FROM checkpoints")
        with Store.open(URL, root) as store:
            marks = [
                checkpoints.mark(store, entry["seq"], entry["head"], entry["at"])
                for entry in log.entries
                if entry["seq"] % EVERY == 0
            ]
        rows = [(m.seq, epoch, m.head, m.at, m.signer, m.signature) for m in marks]
        database.executemany(
            "INSERT INTO checkpoints (seq, epoch, head, at, signer, signature) VALUES (?, ?, ?, ?, ?, ?)", rows
        )
        database.execute("DELETE FROM anchors WHERE seq > ?", (log.entries[-1]["seq"],))


def anchor_anew(root: Path, log: Log) -> None:
    """With the key and the anchor's file: heads of the log as it is now, where there were heads before."""
    heads = {entry["seq"]: entry["head"] for entry in log.entries}
    marks = [Mark.of(json.loads(line)) for line in (root / ANCHOR).read_text().splitlines()]
    with Store.open(URL, root) as store:
        kept = [checkpoints.mark(store, m.seq, heads[m.seq], m.at) for m in marks if m.seq in heads]
    (root / ANCHOR).write_text("".join(f"{mark.line()}\n" for mark in kept))


# What they do: each changes the log and says which entry is the first wrong one

Attack = Callable[[Log, int], int]


def edit(log: Log, seq: int) -> int:
    log.entries[seq - 1]["actor"] = "mallory"
    return seq


def edit_body(log: Log, seq: int) -> int:
    entry = log.entries[seq - 1]
    entry["body"] = json_text({**json.loads(entry["body"]), "records": 3})
    return seq


def delete(log: Log, seq: int) -> int:
    del log.entries[seq - 1]
    return seq


def insert(log: Log, seq: int) -> int:
    forged = {
        **log.entries[seq - 1],
        "event": "message.sent",
        "body": json_text({"message": "m"}),
        "finding": None,
        "run": None,
    }
    log.entries.insert(seq - 1, forged)
    return seq


def reorder(log: Log, seq: int) -> int:
    log.entries[seq - 1], log.entries[seq] = log.entries[seq], log.entries[seq - 1]
    return seq


def truncate(log: Log, seq: int) -> int:
    del log.entries[seq - 1 :]
    return seq


def truncate_and_append(log: Log, seq: int) -> int:
    del log.entries[seq - 1 :]
    for entry in log.entries[: min(seq - 1, 700)]:
        body = json.loads(entry["body"])
        body.pop(audit.FACTS, None)  # this finding did not change again
        log.entries.append({**entry, "actor": "mallory", "body": json.dumps(body)})
    return seq


def rebuild(log: Log, seq: int) -> int:
    for entry in log.entries[seq - 1 :]:
        entry["salt"] = secrets.token_hex(32)
    return seq


ATTACKS: dict[str, Attack] = {
    item.__name__: item for item in (edit, edit_body, delete, insert, reorder, truncate, truncate_and_append, rebuild)
}
PLACES = (2, 9_960)


def carry_out(root: Path, attack: Attack, seq: int, power: str) -> int:
    log = Log.taken(root)
    wrong = attack(log, seq)
    if power == "rows":  # writes rows, and knows nothing of hashes
        for number, entry in enumerate(log.entries, 1):
            entry["seq"] = number
        log.put_back(root)
        return wrong
    log.rehash()
    log.put_back(root)
    end_here(root, log)
    if power == "database":
        drop_checkpoints(root, log)
    else:
        sign_anew(root, log)
    if power == "anchor":
        anchor_anew(root, log)
    return wrong


def names(result: proof.Proof, wrong: int) -> bool:
    """The entry is named, or the range between two signed heads in which it is."""
    problem = result.problem
    return problem is not None and problem.seq <= wrong <= (problem.until or problem.seq)


def explained(root: Path) -> None:
    """The attackers also make the state fit: nothing but the log's own proof is to betray them."""
    with closing(sqlite3.connect(root / FILE)) as database, database:
        answer = database.execute("SELECT body FROM audit_bodies WHERE finding IS NOT NULL ORDER BY seq").fetchall()
        last = {(body := json.loads(text))["finding"]: body["to"] for [text] in answer}
        database.execute("PRAGMA foreign_keys = OFF")
        findings = [name for [name] in database.execute("SELECT id FROM findings")]
        database.executemany("DELETE FROM findings WHERE id = ?", [[name] for name in findings if name not in last])
        database.executemany("UPDATE findings SET state = ? WHERE id = ?", [(to, name) for name, to in last.items()])


@pytest.fixture(scope="module")
def untouched(built: Path) -> proof.Proof:
    return proven(built)


def test_the_log_that_nobody_touched_is_proven(untouched: proof.Proof) -> None:
    assert untouched.problem is None
    assert (untouched.entries, untouched.signed, untouched.anchored) == (LENGTH, LENGTH, LENGTH)
    assert untouched.remarks == ()


@pytest.mark.parametrize("seq", PLACES)
@pytest.mark.parametrize("name", ATTACKS)
def test_who_writes_rows_is_named_at_the_entry(name: str, seq: int, root: Path) -> None:
    wrong = carry_out(root, ATTACKS[name], seq, "rows")

    problem = proven(root, anchored=False).problem

    assert problem is not None
    assert problem.seq == wrong


@pytest.mark.parametrize("seq", PLACES)
@pytest.mark.parametrize("name", ATTACKS)
def test_who_writes_the_database_and_knows_the_hashes_is_named(name: str, seq: int, root: Path) -> None:
    wrong = carry_out(root, ATTACKS[name], seq, "database")
    explained(root)

    assert names(proven(root), wrong)


@pytest.mark.parametrize("seq", [2, 5_003, 9_960])
@pytest.mark.parametrize("name", ATTACKS)
def test_who_also_has_the_stores_key_is_named_by_the_anchor(name: str, seq: int, root: Path) -> None:
    wrong = carry_out(root, ATTACKS[name], seq, "key")
    explained(root)

    assert names(proven(root), wrong)


@pytest.mark.parametrize("name", ATTACKS)
def test_who_also_rewrites_every_anchor_is_not_seen(name: str, root: Path) -> None:
    """docs/audit.md: a person with the database, the key and every anchor can rebuild all of it."""
    carry_out(root, ATTACKS[name], 5_003, "anchor")
    explained(root)

    assert proven(root).problem is None


# Without an anchor


@pytest.mark.parametrize("name", [attack for attack in ATTACKS if attack != "truncate"])
def test_without_an_anchor_signatures_still_show_what_is_rebuilt_without_the_key(name: str, root: Path) -> None:
    wrong = carry_out(root, ATTACKS[name], 5_003, "database")
    explained(root)

    assert names(proven(root, anchored=False), wrong)


def test_without_an_anchor_a_tail_cut_with_its_checkpoints_is_not_seen(root: Path) -> None:
    """docs/audit.md: what follows the last anchor can be cut unseen, and without one everything follows."""
    carry_out(root, truncate, 5_003, "database")
    explained(root)

    assert proven(root, anchored=False).problem is None


def test_without_an_anchor_whoever_has_the_key_is_not_seen(root: Path) -> None:
    carry_out(root, rebuild, 2, "key")
    explained(root)

    assert proven(root, anchored=False).problem is None


# The whole file, the state, the anchor


def roll_back(root: Path, built: Path) -> None:
    shutil.copy2(built / BEFORE, root / FILE)


def test_the_whole_file_rolled_back_is_named_by_the_anchor(root: Path, built: Path) -> None:
    roll_back(root, built)
    explained(root)

    problem = proven(root).problem

    assert problem is not None
    assert problem.seq == OLD + 1
    assert "the log ends with 6500" in problem.sentence


def test_the_whole_file_rolled_back_is_not_seen_without_an_anchor(root: Path, built: Path) -> None:
    roll_back(root, built)
    explained(root)

    assert proven(root, anchored=False).problem is None


def test_the_whole_file_rolled_back_together_with_the_anchor_is_not_seen(root: Path, built: Path) -> None:
    roll_back(root, built)
    explained(root)
    lines = (root / ANCHOR).read_text().splitlines(keepends=True)
    (root / ANCHOR).write_text("".join(lines[: OLD // EACH]))

    assert proven(root).problem is None


@pytest.mark.parametrize(
    ("statement", "seq", "words"),
    [
        ("UPDATE findings SET state = 'open' WHERE id = 'F-3'", 7_504, "F-3 is open, but the last entry"),
        (
            "DELETE FROM findings WHERE id = 'F-2499'",
            FINDINGS,
            "the finding F-2499 differs from what this entry recorded",
        ),
        (
            """INSERT INTO findings SELECT 'F-new', 'mark', rule, kind, dataset, state, severity, version, key, payload,
            money, records, first_run, first_seen, last_run, last_seen, state_since, snoozed_until, assigned_to,
            decided_by, note, merged_into, digest, amount_rank, probability FROM findings WHERE id = 'F-1'""",
            LENGTH + 1,
            "no entry is about it",
        ),
    ],
)
def test_state_changed_without_the_log_is_named_at_the_last_entry_about_it(
    statement: str, seq: int, words: str, root: Path
) -> None:
    with closing(sqlite3.connect(root / FILE)) as database, database:
        database.execute(statement)

    problem = proven(root).problem

    assert problem is not None
    assert (problem.seq, words in problem.sentence) == (seq, True)


REOPENED: dict[str, Any] = {"finding": "F-3", "from": "dismissed", "to": "open", "run": "run-1"}
ALSO = {"also": [["finding", "F-3", "dismissed", "open"]]}


def forge(root: Path, key: bytes, event: str = "finding.reopened", body: dict[str, Any] = REOPENED) -> None:
    """Change a finding and append the entry that tells of it, with a key of one's own."""
    with Store.open(URL, root) as store:
        store.key = key
        with store.begin() as tx:
            tx.connection.execute(sa.update(tables.findings).where(tables.findings.c.id == "F-3").values(state="open"))
            audit.append(tx, "reconcile", event, "F-3", body)


@pytest.mark.parametrize(
    ("event", "body"),
    [
        ("finding.reopened", REOPENED),
        ("run.reopened", REOPENED),
        ("plan.skipped", ALSO | {"plan": "P-1"}),
        ("plan.approved", ALSO | {"plans": [["P-1", "approved", "approved"]]}),
        ("operation.skipped", ALSO),
        ("approval.approved", {"plan": "P-1", "by": "eve", "decision": "approved", "plan_hash": "h"}),
        ("run.sent", {"plan": "P-1", "from": "approved", "to": "sent"}),
    ],
)
def test_an_entry_appended_without_the_key_is_named(event: str, body: dict[str, Any], root: Path) -> None:
    forge(root, b"x" * 32, event, body)

    problem = proven(root).problem

    assert problem is not None
    assert (problem.seq, "its subject has another key" in problem.sentence) == (LENGTH + 1, True)


def test_only_an_entry_of_a_plan_can_tell_what_moved_with_it(root: Path) -> None:
    forge(root, b"x" * 32, "run.reopened", ALSO)

    problem = proven(root).problem

    assert problem is not None
    assert "the finding F-3 is open, but the last entry about it says dismissed" in problem.sentence


def test_an_entry_appended_with_the_key_cannot_be_told_from_one_of_ours(root: Path) -> None:
    """docs/audit.md: a person with the key can add and sign entries."""
    forge(root, bytes.fromhex((root / f"{FILE}.key").read_text().strip()))

    assert proven(root).problem is None


def _lines(root: Path) -> list[str]:
    return (root / ANCHOR).read_text().splitlines(keepends=True)


def _with_another_head(line: str) -> str:
    return Mark(**{**json.loads(line), "head": "0" * 64}).line() + "\n"


EDITS: dict[str, tuple[Callable[[list[str]], list[str]], int, str]] = {
    "edit a head": (lambda lines: [*lines[:4], _with_another_head(lines[4]), *lines[5:]], 2_500, "signature is wrong"),
    "remove one": (lambda lines: [*lines[:4], *lines[5:]], 2_500, "no longer has it"),
    "cut the end": (lambda lines: lines[:-3], 9_000, "no longer has it"),
    "empty it": (lambda _: [], 500, "no longer has it"),
    "spoil a line": (lambda lines: ["{}\n", *lines[1:]], 500, "no longer has it"),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_anchor_that_was_edited_is_named(name: str, root: Path) -> None:
    edited, seq, words = EDITS[name]
    (root / ANCHOR).write_text("".join(edited(_lines(root))))

    problem = proven(root).problem

    assert problem is not None
    assert (problem.seq, words in problem.sentence) == (seq, True)


def test_an_anchor_edited_with_the_key_is_named_as_disagreeing(root: Path) -> None:
    lines = _lines(root)
    with Store.open(URL, root) as store:
        document = json.loads(lines[4])
        lines[4] = checkpoints.mark(store, document["seq"], "0" * 64, document["at"]).line() + "\n"
    (root / ANCHOR).write_text("".join(lines))

    assert names(proven(root), 2_500)


def test_a_last_line_that_a_crash_cut_off_is_told_and_is_no_tampering(root: Path) -> None:
    with (root / ANCHOR).open("a") as file:
        file.write('{"seq":10')

    result = proven(root)

    assert result.problem is None
    assert "is not a signed head" in result.remarks[0]


def test_a_second_anchor_shows_what_the_first_was_made_to_hide(root: Path) -> None:
    kept = [Mark.of(json.loads(line)) for line in _lines(root)]
    wrong = carry_out(root, edit, 5_003, "anchor")
    explained(root)

    class Elsewhere:
        def write(self, mark: Mark) -> dict[str, str]:
            raise NotImplementedError

        def read(self, store: str) -> Iterator[Mark]:
            return (mark for mark in kept if mark.store == store)

    with Store.open(URL, root) as store:
        result = proof.prove(store, {**anchor(root), "elsewhere": Elsewhere()})

    assert names(result, wrong)
