"""Verify an exported audit log of Reconcile: `python verify.py [DIRECTORY]`. One file, Python 3.11 and `cryptography`.

It recomputes every hash from the first entry on, checks the signatures of the checkpoints, and compares the log with
what its anchors hold. Exit code 0: the log is what was written; 1: it is not, and the first wrong entry is named; 2:
the export cannot be read. Reconcile itself verifies with the same code, so nothing here may import anything of it.

What it proves depends on what you bring: `--public-key` (what `reconcile audit key` printed long ago) shows that it was
this store that signed, `--anchor FILE` (a copy of an anchor file, from where only you can write) that nothing that was
anchored there was cut or rebuilt since. What follows the last anchor can have been cut unseen.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from json.encoder import encode_basestring_ascii as _quoted
from pathlib import Path
from typing import Any

EVERY = 100
"""The head after each entry whose number this divides is signed."""

FORMAT = "reconcile/audit-export/1"
RESTORED = "store.restored"
ERASED = "erasure.made"

_GENESIS = b"reconcile/audit/1/genesis\0"
_LEAF = b"reconcile/audit/1/leaf\0"
_HEAD = b"reconcile/audit/1/head\0"
_BODY = b"reconcile/audit/1/body\0"
_SIGNED = b"reconcile/audit/1/checkpoint\0"

Row = tuple[Any, ...]
"""seq, at, actor, event, subject, body_commitment, prev, head, salt, body, as stored; the last two may be None."""


# The chain


def genesis(store_id: str) -> str:
    """Head 0 of a store."""
    return hashlib.sha256(_GENESIS + store_id.encode()).hexdigest()


def commitment(salt: str, body: str) -> str:
    """What an entry says of its body: it proves the body where that still stands, and tells nothing where not."""
    return hashlib.sha256(_BODY + salt.encode() + b"\0" + body.encode()).hexdigest()


def next_head(prev: str, seq: int, at: str, actor: str, event: str, subject: str, body_commitment: str) -> str:
    """The head after an entry: SHA-256 over the head before it and the hash of its fields as sorted ASCII JSON."""
    leaf = (
        f'{{"actor":{_quoted(actor)},"at":{_quoted(at)},"body_commitment":{_quoted(body_commitment)},'
        f'"event":{_quoted(event)},"seq":{seq:d},"subject":{_quoted(subject)}}}'
    )
    return hashlib.sha256(_HEAD + prev.encode() + b"\0" + hashlib.sha256(_LEAF + leaf.encode()).digest()).hexdigest()


@dataclass(frozen=True)
class Problem:
    """What is wrong, at which entry; where only a range can be told, the entries `seq` to `until`."""

    seq: int
    sentence: str
    until: int | None = None


class Broken(Exception):
    """The chain is broken; what follows cannot be followed."""

    def __init__(self, seq: int, sentence: str) -> None:
        super().__init__(sentence)
        self.problem = Problem(seq, sentence)


@dataclass(frozen=True)
class Restore:
    """An entry that says a backup took the log's place: from `seq` on the log is of `epoch`."""

    seq: int
    epoch: int
    replaced_epoch: int
    replaced_entries: int
    replaced_head: str


class Chain:
    """The log followed from its first entry on, in bounded memory. `heads` are those after the entries in `wanted`."""

    def __init__(self, store_id: str, wanted: Iterable[int] = ()) -> None:
        self.seq = 0
        self.head = genesis(store_id)
        self.heads: dict[int, str] = {}
        self.missing: set[int] = set()
        self.erased: dict[int, int] = {}
        self.restores: list[Restore] = []
        self._wanted = frozenset(wanted)

    def follow(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The same rows, each once it was found right; raises Broken at the first that is not."""
        seq, head, wanted, heads = self.seq, self.head, self._wanted, self.heads
        for row in rows:
            if row[0] != seq + 1:
                raise Broken(seq + 1, "the entry is missing")
            seq += 1
            _, at, actor, event, subject, body_commitment, prev, stored, salt, body = row
            if prev != head:
                raise Broken(seq, "the entry does not follow the one before it: one of the two was changed or moved")
            try:
                head = next_head(prev, seq, at, actor, event, subject, body_commitment)
                right = stored == head
            except (TypeError, AttributeError, ValueError):
                right = False
            if not right:
                raise Broken(seq, "the entry was changed")
            if body is None:
                self.missing.add(seq)
            else:
                self._check_body(seq, body_commitment, salt, body)
                if event in (RESTORED, ERASED):
                    self._note(seq, event, body)
            if seq in wanted:
                heads[seq] = head
            self.seq, self.head = seq, head
            yield row

    @staticmethod
    def _check_body(seq: int, said: str, salt: Any, body: Any) -> None:
        try:
            right = said == commitment(salt, body)
        except (TypeError, AttributeError, ValueError):
            right = False
        if not right:
            raise Broken(seq, "the entry's body was changed")

    def _note(self, seq: int, event: str, body: str) -> None:
        said = json.loads(body)
        if event == ERASED:
            self.erased.update((one["seq"], seq) for one in said["entries"])
            return
        was = said["replaced"]
        self.restores.append(Restore(seq, said["epoch"], was["epoch"], was["entries"], was["head"]))

    def bodies(self) -> Iterator[Problem]:
        """Bodies that are gone without an erasure that names them, and those that stand in spite of one."""
        for seq in sorted(self.missing - self.erased.keys()):
            yield Problem(seq, "the entry's body is missing, and no erasure names it")
        for seq in sorted(self.erased.keys() - self.missing):
            yield Problem(seq, f"the entry's body stands here, though it was erased: see entry {self.erased[seq]}")


# Signed heads


@dataclass(frozen=True)
class Mark:
    """A head of a store's log, signed: what a checkpoint is and what anchors hold. `signer` is the public key."""

    store: str
    epoch: int
    seq: int
    head: str
    at: str
    signer: str
    signature: str

    @property
    def signed(self) -> bytes:
        """The bytes that the signature is of."""
        said = {"at": self.at, "epoch": self.epoch, "head": self.head, "seq": self.seq, "store": self.store}
        return _SIGNED + json.dumps(said, sort_keys=True, separators=(",", ":")).encode()

    @property
    def is_signed(self) -> bool:
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - costs time, and few need it
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415 - see above

        try:
            key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(self.signer))
            key.verify(bytes.fromhex(self.signature), self.signed)
        except (InvalidSignature, ValueError, TypeError):
            return False
        return True

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def line(self) -> str:
        """One line of JSON, as files hold it."""
        return json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))

    @classmethod
    def of(cls, said: Any) -> Mark:
        """The mark that `to_json` made; raises ValueError for anything else."""
        names = cls.__dataclass_fields__
        if not isinstance(said, dict) or not names.keys() <= said.keys():
            raise ValueError("it is no signed head")
        whole = all(type(said[name]) is (int if name in ("epoch", "seq") else str) for name in names)
        if not whole or said["seq"] < 1:
            raise ValueError("it is no signed head")
        return cls(**{name: said[name] for name in names})


@dataclass(frozen=True)
class Held:
    """What is kept of a mark."""

    epoch: int
    seq: int
    head: str


class Marks:
    """All signed heads at hand, by where they stand: the list of checkpoints, and each anchor.

    Of each only what the comparison needs is kept; those of other stores are only counted, in `strangers`.
    """

    def __init__(self, store_id: str, public_key: str) -> None:
        self._store = store_id
        self._key = public_key
        self._checked: dict[bytes, bool] = {}
        self.heads: dict[str, dict[tuple[int, int], str]] = {}
        self.strangers: dict[str, int] = {}
        self.problems: list[Problem] = []

    def add(self, source: str, marks: Iterable[Mark]) -> None:
        """Take in what a source holds; a mark that is not the store's is a problem."""
        kept = self.heads.setdefault(source, {})
        for one in marks:
            if one.store != self._store:
                self.strangers[source] = self.strangers.get(source, 0) + 1
            elif one.signer != self._key:
                self.problems.append(Problem(one.seq, f"{source} has a head there that another key signed"))
            elif not self._is_signed(one):
                self.problems.append(Problem(one.seq, f"{source} has a head there whose signature is wrong"))
            elif kept.setdefault((one.epoch, one.seq), one.head) != one.head:
                self.problems.append(Problem(one.seq, f"{source} has two different heads there, both signed"))

    def _is_signed(self, one: Mark) -> bool:
        name = hashlib.sha256(one.signed + one.signature.encode()).digest()
        if name not in self._checked:
            self._checked[name] = one.is_signed
        return self._checked[name]

    @property
    def wanted(self) -> set[int]:
        return {seq for kept in self.heads.values() for _, seq in kept}

    def last(self, source: str) -> tuple[int, int] | None:
        """Epoch and entry of the newest head of a source."""
        return max(self.heads.get(source, {}), default=None)

    def compare(self, chain: Chain, *, whole: bool = True) -> Iterator[Problem]:
        """What does not agree with the chain; unless it is `whole`, it was followed to where it is broken."""
        yield from self.problems
        for source, kept in self.heads.items():
            right = 0
            for (epoch, seq), head in sorted(kept.items()):
                if seq > chain.seq and not whole:
                    continue
                problem = self._against(chain, source, Held(epoch, seq, head), right)
                if problem is not None:
                    yield problem
                    break  # what follows in the same place follows from it
                if chain.heads.get(seq) == head:
                    right = seq

    @staticmethod
    def _against(chain: Chain, source: str, held: Held, right: int) -> Problem | None:
        """What is wrong with a head that a source holds, which held the right one of entry `right` before."""
        gone = next((one for one in chain.restores if one.epoch > held.epoch), None)
        if gone is not None and held.seq >= gone.seq:  # of a life that a restore ended
            at_end = held.seq == gone.replaced_entries and held.head != gone.replaced_head
            if held.epoch == gone.replaced_epoch and (held.seq > gone.replaced_entries or at_end):
                said = f"the log that was replaced there was not whole: {source} knows its entry {held.seq}"
                return Problem(gone.seq, said)
            return None
        if chain.heads.get(held.seq) == held.head:
            return None
        said = (
            f"{source} holds another head of entry {held.seq}: what stands from here to there is not what was written"
        )
        if held.seq > chain.seq:
            said = (
                f"{source} holds the head of entry {held.seq}, and the log ends with {chain.seq}: it was cut or rebuilt"
            )
            return Problem(min(right, chain.seq) + 1, said, held.seq)
        return Problem(right + 1, said, held.seq)

    def unsigned(self, source: str, chain: Chain) -> Iterator[Problem]:
        """From the first checkpoint on every hundredth entry is signed."""
        seqs = {seq for _, seq in self.heads.get(source, {})}
        if not seqs:
            return
        for seq in range(-(-min(seqs) // EVERY) * EVERY, chain.seq + 1, EVERY):
            if seq not in seqs:
                before = max((one for one in seqs if one < seq), default=0)
                yield Problem(
                    before + 1, f"the checkpoint of entry {seq} is missing: nothing from here on is signed", seq
                )
                return


def first(problems: Iterable[Problem]) -> Problem | None:
    """The problem at the earliest entry; where that is a range, the earliest in it that can be told exactly."""
    found = list(problems)
    earliest = min(found, key=lambda one: (one.seq, one.until or one.seq), default=None)
    if earliest is None:
        return None
    last = earliest.until or earliest.seq
    exact = (one for one in found if one.until in (None, one.seq) and earliest.seq <= one.seq <= last)
    return min(exact, key=lambda one: one.seq, default=earliest)


# An export


class Unreadable(Exception):
    """This is no export, or not a whole one."""


def verify(
    place: Path, anchors: Iterable[Path] = (), public_key: str | None = None
) -> tuple[dict[str, Any], Problem | None]:
    """What the export says of itself, with what was found, and the first problem. Raises Unreadable."""
    about = _read(place / "export.json")
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise Unreadable(f"{place} holds no export of a Reconcile audit log that this verifier knows")
    marks = Marks(about["store"], public_key or about["public_key"])
    marks.add("the list of checkpoints", _marks(place / "checkpoints.jsonl"))
    for file in (*sorted(place.glob("anchors/*.jsonl")), *anchors):
        marks.add(f"the anchor {file.stem!r}", _marks(file))
    chain = Chain(about["store"], marks.wanted)
    problems = []
    try:
        for _ in chain.follow(_rows(place / "log.jsonl")):
            pass
        if chain.seq != about["entries"]:
            problems.append(
                Problem(chain.seq + 1, f"{about['entries']} entries were exported, and here are {chain.seq}")
            )
        elif chain.head != about["head"]:
            problems.append(Problem(chain.seq, "the log does not end with the head that was exported"))
        problems += [*chain.bodies(), *marks.compare(chain), *marks.unsigned("the list of checkpoints", chain)]
    except Broken as broken:
        problems += [broken.problem, *marks.compare(chain, whole=False)]
    said = {
        "entries": chain.seq,
        "head": chain.head,
        "sources": {name: len(kept) for name, kept in marks.heads.items()},
    }
    return {**about, **said, "anchored": _anchored(marks, chain)}, first(problems)


def _anchored(marks: Marks, chain: Chain) -> int:
    """The last entry that an anchor outside the log covers."""
    outside = [kept for name, kept in marks.heads.items() if name.startswith("the anchor")]
    return max((s for kept in outside for (_, s), head in kept.items() if chain.heads.get(s) == head), default=0)


_FIELDS = ("seq", "at", "actor", "event", "subject", "body_commitment", "prev", "head", "salt", "body")


def _rows(file: Path) -> Iterator[Row]:
    for number, said in _lines(file):
        if not isinstance(said, Mapping):
            raise Broken(number, "the entry was changed")
        yield tuple(said.get(name) for name in _FIELDS)


def _marks(file: Path) -> Iterator[Mark]:
    for number, said in _lines(file):
        try:
            yield Mark.of(said)
        except ValueError as error:
            raise Unreadable(f"{file}, line {number}: {error}") from error


def _lines(file: Path) -> Iterator[tuple[int, Any]]:
    try:
        with file.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    yield number, json.loads(line)
                except ValueError:
                    yield number, None
    except OSError as error:
        raise Unreadable(f"{file} cannot be read: {error.strerror}") from error


def _read(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Unreadable(f"{file} cannot be read") from error


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    asked = argparse.ArgumentParser(description="Verify an exported audit log of Reconcile.")
    asked.add_argument(
        "directory", nargs="?", default=Path(__file__).parent, type=Path, help="the export; here, unless said"
    )
    asked.add_argument(
        "--anchor", action="append", default=[], type=Path, help="a copy of an anchor file that you keep"
    )
    asked.add_argument("--public-key", help="the store's public key as you know it")
    given = asked.parse_args(arguments)
    try:
        said, problem = verify(given.directory, given.anchor, given.public_key)
    except Unreadable as error:
        sys.stderr.write(f"{error}\n")
        return 2
    if problem is not None:
        where = (
            f"{problem.seq} to {problem.until}" if problem.until and problem.until != problem.seq else f"{problem.seq}"
        )
        sys.stdout.write(f"broken at entry {where}: {problem.sentence}\n")
        return 1
    sys.stdout.write(f"{said['entries']} entries of store {said['store']}, unbroken; the head is {said['head']}\n")
    for name, count in said["sources"].items():
        sys.stdout.write(f"{name}: {count} signed heads, all of this log\n")
    if said["anchored"] < said["entries"]:
        rest = said["entries"] - said["anchored"]
        sys.stdout.write(f"the last {rest} entries are in no anchor: what followed them could have been cut unseen\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
