"""Verify an exported audit log of Reconcile: `python -I verify.py [DIRECTORY] --public-key KEY --anchor FILE`.

One file, Python 3.11 and `cryptography`. It recomputes every hash from the first entry on, checks the signatures of the
checkpoints, and compares the log with what its anchors hold. It exits with

0  the log is genuine: heads signed with your key, and heads in each of your anchors, cover it to the end;
1  the log is not genuine, and the first wrong entry is named; or your key or one of your anchors has no head of it;
2  the export, your key or your anchor cannot be read: the log was not verified;
3  nothing is wrong, but the log is proven only up to the entry that is named, or, without a key and an anchor of
   yours, not at all.

Bring `--public-key` (the output of `reconcile audit key` from long ago) to prove that this store signed the log. Bring
`--anchor FILE` (a copy of an anchor file in a place only you can write) to prove that no anchored entry was cut or
rebuilt since. Entries after the last anchor may have been cut unseen. Reconcile itself verifies with the same code, so
this file imports nothing of it.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import hashlib
import json
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from json.encoder import encode_basestring_ascii as _quoted
from pathlib import Path
from typing import Any, BinaryIO

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

_HASH = re.compile(r"[0-9a-f]{64}")
_SIGNATURE = re.compile(r"[0-9a-f]{128}")

Row = tuple[Any, ...]
"""seq, at, actor, event, subject, body_commitment, prev, head, salt, body, as stored; the last two may be None."""


# The chain


def genesis(store_id: str) -> str:
    """Head 0 of a store."""
    return hashlib.sha256(_GENESIS + store_id.encode()).hexdigest()


def commitment(salt: str, body: str) -> str:
    """The commitment of an entry to its body: it proves a kept body and reveals nothing of an erased one."""
    return hashlib.sha256(_BODY + salt.encode() + b"\0" + body.encode()).hexdigest()


def next_head(prev: str, seq: int, at: str, actor: str, event: str, subject: str, body_commitment: str) -> str:
    """The head after an entry: SHA-256 over the previous head and the hash of its fields as sorted ASCII JSON."""
    leaf = (
        f'{{"actor":{_quoted(actor)},"at":{_quoted(at)},"body_commitment":{_quoted(body_commitment)},'
        f'"event":{_quoted(event)},"seq":{seq:d},"subject":{_quoted(subject)}}}'
    )
    return hashlib.sha256(_HEAD + prev.encode() + b"\0" + hashlib.sha256(_LEAF + leaf.encode()).digest()).hexdigest()


@dataclass(frozen=True)
class WrongEntry:
    """A wrong entry and the reason; if only a range is certain, the entries `seq` to `until`."""

    seq: int
    sentence: str
    until: int | None = None


class Broken(Exception):
    """The chain is broken at this entry; later entries cannot be verified."""

    def __init__(self, seq: int, sentence: str) -> None:
        super().__init__(sentence)
        self.problem = WrongEntry(seq, sentence)


@dataclass(frozen=True)
class Restore:
    """An entry saying that a backup replaced the log: from `seq` on the log is of `epoch`."""

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
        """The same rows, each once it is verified; raises Broken at the first wrong one."""
        seq, head, wanted, heads = self.seq, self.head, self._wanted, self.heads
        for row in rows:
            if row[0] != seq + 1 or type(row[0]) is not int:
                raise Broken(seq + 1, "the entry is missing")
            seq += 1
            _, at, actor, event, subject, body_commitment, prev, stored, salt, body = row
            if prev != head:
                raise Broken(seq, "the entry does not follow the previous one: one of the two was changed or moved")
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
    def _check_body(seq: int, expected: str, salt: Any, body: Any) -> None:
        try:
            right = expected == commitment(salt, body)
        except (TypeError, AttributeError, ValueError):
            right = False
        if not right:
            raise Broken(seq, "the entry's body was changed")

    def _note(self, seq: int, event: str, body: str) -> None:
        try:
            fields = strict_json(body)
            if event == ERASED:
                entries = [_number(entry["seq"], until=seq - 1) for entry in fields["entries"]]
                self.erased.update(dict.fromkeys(entries, seq))
            else:
                self.restores.append(_restore(seq, fields))
        except (ValueError, TypeError, LookupError) as error:
            raise Broken(seq, f"the entry's body does not belong to {event}") from error

    def bodies(self) -> Iterator[WrongEntry]:
        """Missing bodies that no erasure names, and bodies that are present although an erasure names them."""
        for seq in sorted(self.missing - self.erased.keys()):
            yield WrongEntry(seq, "the entry's body is missing, and no erasure names it")
        for seq in sorted(self.erased.keys() - self.missing):
            yield WrongEntry(seq, f"the entry's body is present, though it was erased: see entry {self.erased[seq]}")


def _restore(seq: int, body: Any) -> Restore:
    lost = body["replaced"]
    if type(lost["head"]) is not str:
        raise ValueError("the head is not a text")
    return Restore(seq, _number(body["epoch"]), _number(lost["epoch"]), _number(lost["entries"]), lost["head"])


# Strict JSON


def strict_json(text: str) -> Any:
    """Parse the text; also raises ValueError for a repeated name, NaN, and text that would take much memory.

    Between two brackets of ours are more than sixteen characters; empty lists take fifty times their text.
    """
    if text.count("[") + text.count("{") > 100 + len(text) // 16:
        raise ValueError("too many brackets")
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("too deep") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a name appears twice")
    return fields


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not a number")


def _number(value: Any, until: int = 2**63 - 1) -> int:
    if type(value) is not int or not 0 <= value <= until:
        raise ValueError("it is not an entry number")
    return int(value)


# Signed heads


@dataclass(frozen=True)
class Mark:
    """A signed head of a store's log, as checkpoints and anchors hold it. `signer` is the public key."""

    store: str
    epoch: int
    seq: int
    head: str
    at: str
    signer: str
    signature: str

    @property
    def signed(self) -> bytes:
        """The bytes that are signed."""
        fields = {"at": self.at, "epoch": self.epoch, "head": self.head, "seq": self.seq, "store": self.store}
        return _SIGNED + json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()

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
        """The mark as one line of JSON, for files."""
        return json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))

    @classmethod
    def of(cls, fields: Any) -> Mark:
        """Read a mark from the output of `to_json`; raises ValueError for anything else."""
        names = cls.__dataclass_fields__
        if type(fields) is not dict or names.keys() != fields.keys():
            raise ValueError("it is not a signed head")
        whole = all(type(fields[name]) is (int if name in ("epoch", "seq") else str) for name in names)
        if not whole or not 1 <= fields["seq"] < 2**63 or not 0 <= fields["epoch"] < 2**63:
            raise ValueError("it is not a signed head")
        hexadecimal = _HASH.fullmatch(fields["head"]) and _HASH.fullmatch(fields["signer"])
        if not hexadecimal or not _SIGNATURE.fullmatch(fields["signature"]):
            raise ValueError("it is not a signed head")
        return cls(**{name: fields[name] for name in names})


@dataclass(frozen=True)
class _Head:
    """The parts of a mark that are compared."""

    epoch: int
    seq: int
    head: str


class Marks:
    """All signed heads at hand, by source: the list of checkpoints, and each anchor.

    Only the parts that are compared are kept; heads of other stores are only counted, in `strangers`.
    """

    def __init__(self, store_id: str, public_key: str) -> None:
        self._store = store_id
        self.public_key = public_key
        self._checked: set[bytes] = set()
        self.heads: dict[str, dict[tuple[int, int], str]] = {}
        self.newest_only: set[str] = set()
        """Sources that hold only the newest head: other sources show up to where the log was right before it."""
        self.strangers: dict[str, int] = {}
        self._worst: dict[str, WrongEntry] = {}

    def add(self, source: str, marks: Iterable[Mark]) -> None:
        """Add the marks of a source; one that the store did not sign is a problem."""
        heads = self.heads.setdefault(source, {})
        for mark in marks:
            if mark.store != self._store:
                self.strangers[source] = self.strangers.get(source, 0) + 1
            elif mark.signer != self.public_key:
                self._note(source, mark.seq, f"{source} has a head there that another key signed")
            elif not self._is_signed(mark):
                self._note(source, mark.seq, f"{source} has a head there whose signature is wrong")
            elif heads.setdefault((mark.epoch, mark.seq), mark.head) != mark.head:
                self._note(source, mark.seq, f"{source} has two different heads there, both signed")

    def _note(self, source: str, seq: int, sentence: str) -> None:
        """Keep only the earliest problem of each source: an attacker may have written millions of heads."""
        worst = self._worst.get(source)
        if worst is None or seq < worst.seq:
            self._worst[source] = WrongEntry(seq, sentence)

    @property
    def problems(self) -> list[WrongEntry]:
        """The earliest problem of each source."""
        return list(self._worst.values())

    def _is_signed(self, mark: Mark) -> bool:
        digest = hashlib.sha256(mark.signed + mark.signature.encode()).digest()
        if digest in self._checked:
            return True
        if mark.is_signed:
            self._checked.add(digest)
            return True
        return False

    @property
    def wanted(self) -> set[int]:
        return {seq for heads in self.heads.values() for _, seq in heads}

    def covered(self, source: str, chain: Chain) -> int:
        """The last entry whose head the source holds as it is in the chain; 0 if none."""
        heads = self.heads.get(source, {})
        return max((seq for (_, seq), head in heads.items() if chain.heads.get(seq) == head), default=0)

    def compare(self, chain: Chain, *, whole: bool = True) -> Iterator[WrongEntry]:
        """The heads that differ from the chain; unless it is `whole`, it was followed up to the broken entry."""
        yield from self.problems
        for source, heads in self.heads.items():
            is_newest = source in self.newest_only and heads
            right = self._last_proven(chain, until=min(seq for _, seq in heads)) if is_newest else 0
            for (epoch, seq), head in sorted(heads.items()):
                if seq > chain.seq and not whole:
                    continue
                problem = self._difference(chain, source, _Head(epoch, seq, head), right)
                if problem is not None:
                    yield problem
                    break  # later differences in this source follow from this one
                if chain.heads.get(seq) == head:
                    right = seq

    def _last_proven(self, chain: Chain, until: int) -> int:
        """The last entry, up to this one, whose right head any source holds."""
        heads = (item for source_heads in self.heads.values() for item in source_heads.items())
        return max((seq for (_, seq), head in heads if seq <= until and chain.heads.get(seq) == head), default=0)

    @staticmethod
    def _difference(chain: Chain, source: str, mark: _Head, right: int) -> WrongEntry | None:
        """The problem of a head in a source whose previous right head is that of entry `right`."""
        restore = next((entry for entry in chain.restores if entry.epoch > mark.epoch), None)
        if restore is not None and mark.seq >= restore.seq:  # of a history that a restore replaced
            at_end = mark.seq == restore.replaced_entries and mark.head != restore.replaced_head
            if mark.epoch == restore.replaced_epoch and (mark.seq > restore.replaced_entries or at_end):
                sentence = f"the log that was replaced there was not whole: {source} has its entry {mark.seq}"
                return WrongEntry(restore.seq, sentence)
            return None
        if chain.heads.get(mark.seq) == mark.head:
            return None
        sentence = f"{source} holds another head of entry {mark.seq}: entries between here and there were changed"
        if mark.seq > chain.seq:
            sentence = (
                f"{source} holds the head of entry {mark.seq}, but the log ends with {chain.seq}: it was "
                "truncated or rebuilt"
            )
            return WrongEntry(min(right, chain.seq) + 1, sentence, mark.seq)
        return WrongEntry(right + 1, sentence, mark.seq)

    def unsigned(self, source: str, chain: Chain) -> Iterator[WrongEntry]:
        """The first hundredth entry since the first checkpoint that is not signed."""
        seqs = {seq for _, seq in self.heads.get(source, {})}
        if not seqs:
            return
        for seq in range(-(-min(seqs) // EVERY) * EVERY, chain.seq + 1, EVERY):
            if seq not in seqs:
                previous = max((signed_seq for signed_seq in seqs if signed_seq < seq), default=0)
                yield WrongEntry(
                    previous + 1, f"the checkpoint of entry {seq} is missing: nothing from here on is signed", seq
                )
                return


def first(problems: Iterable[WrongEntry]) -> WrongEntry | None:
    """The problem at the earliest entry; if that is a range, the earliest exact problem in it."""
    all_problems = list(problems)
    earliest = min(all_problems, key=lambda problem: (problem.seq, problem.until or problem.seq), default=None)
    if earliest is None:
        return None
    last = earliest.until or earliest.seq
    in_range = (problem for problem in all_problems if earliest.seq <= problem.seq <= last)
    exact = (problem for problem in in_range if problem.until in (None, problem.seq))
    return min(exact, key=lambda problem: problem.seq, default=earliest)


# An export

_FIELDS = ("seq", "at", "actor", "event", "subject", "body_commitment", "prev", "head", "salt", "body")
_EXPORT_FIELDS = {"format", "store", "epoch", "public_key", "entries", "head", "unread_anchors"}
_OWN = "the list of checkpoints"
_LONGEST = 16 << 20
"""Bytes of a line of the log, the longest text held at once."""
_SHORT = 1 << 20
"""Bytes of a line that holds a head, and of export.json."""
_MOST = 1_000
"""Files of anchors in an export, and lines of an anchor that are not heads."""

# A line is one object of texts and numbers. The pattern never backtracks and is matched before anything is built.
_TEXT = r'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"'
_PAIR = rf"[ ]*+{_TEXT}[ ]*+:[ ]*+(?:{_TEXT}|null|-?[0-9]{{1,19}})[ ]*+"
_FLAT = re.compile(rf"\{{{_PAIR}(?:,{_PAIR}){{0,15}}+\}}\n?")


class Unreadable(Exception):
    """The export, or a file or key of the auditor, cannot be read."""


@dataclass(frozen=True)
class VerificationResult:
    """The result of `verify`: the log ends with entry `entries` and `head`.

    `covered` is the last entry covered by the list of checkpoints and by each anchor of the auditor; `is_trusted` is
    True if the auditor brought a key or an anchor; `sources` holds, by name, the number of heads of this log in each
    source and the last entry they cover; `anchored` is the last entry in any anchor.
    """

    store: str
    entries: int
    head: str
    public_key: str
    covered: int
    anchored: int
    is_trusted: bool
    sources: dict[str, tuple[int, int]]
    remarks: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        """True if the auditor's key and anchors prove everything."""
        return self.is_trusted and self.covered == self.entries


def verify(
    place: Path, anchors: Iterable[Path] = (), public_key: str | None = None
) -> tuple[VerificationResult, WrongEntry | None]:
    """Verify an export with the anchors and the key that the auditor brings.

    Returns the verdict and the first problem; without one, the log is proven up to entry `covered`. Raises Unreadable,
    also for a malformed key. It reads regular files only and holds one line and the heads in memory.
    """
    if public_key is not None and not _HASH.fullmatch(public_key):
        raise Unreadable("--public-key is not a key: keys have 64 hexadecimal digits, as `reconcile audit key` prints")
    about = _about(place)
    marks = Marks(about["store"], public_key or about["public_key"])
    marks.add(_OWN, _marks(place / "checkpoints.jsonl"))
    for file in _anchor_files(place / "anchors"):
        marks.add(f"the anchor {file.stem!r}", _marks(file))
    brought, remarks = [], []
    for number, file in enumerate(anchors, 1):
        torn: list[int] = []
        brought.append(f"your anchor {number} ({str(file)!r})")
        marks.add(brought[-1], _marks(file, torn))
        if torn:
            remarks.append(f"{brought[-1]} has lines that are not signed heads: {len(torn)}, the first is {torn[0]}")
    is_yours = about["public_key"] == marks.public_key
    problems = [] if is_yours else [WrongEntry(1, "another key signed the export: it is not yours")]
    chain = Chain(about["store"], marks.wanted)
    problems += _problems_of(about, chain, marks, place / "log.jsonl")
    required = {source: marks.covered(source, chain) for source in (_OWN, *brought)}
    for source, count in marks.strangers.items():
        if source in brought:
            remarks.append(f"{source} also holds {count} heads of other stores")
        else:
            problems.append(WrongEntry(1, f"{source} holds heads of another store", chain.seq))
    if not problems:
        problems = [
            WrongEntry(1, f"{source} holds no signed head of this log", chain.seq)
            for source, covered in required.items()
            if not covered
        ]
    verdict = VerificationResult(
        store=about["store"],
        entries=chain.seq,
        head=chain.head,
        public_key=marks.public_key,
        covered=min(required.values()),
        anchored=max((marks.covered(source, chain) for source in marks.heads if source != _OWN), default=0),
        is_trusted=public_key is not None or bool(brought),
        sources={source: (len(heads), marks.covered(source, chain)) for source, heads in marks.heads.items()},
        remarks=(*remarks, *_restored(chain)),
    )
    return verdict, first(problems)


def _problems_of(about: dict[str, Any], chain: Chain, marks: Marks, log: Path) -> list[WrongEntry]:
    """Follow the log to its end or its broken entry; return its problems and those of the heads."""
    try:
        for _ in chain.follow(_rows(log)):
            pass
    except Broken as broken:
        return [broken.problem, *marks.compare(chain, whole=False)]
    problems = [*chain.bodies(), *marks.compare(chain), *marks.unsigned(_OWN, chain)]
    if chain.seq != about["entries"]:
        problems.append(WrongEntry(chain.seq + 1, f"{about['entries']} entries were exported; the log has {chain.seq}"))
    elif chain.head != about["head"]:
        problems.append(WrongEntry(chain.seq, "the log does not end with the head that was exported"))
    epochs = {epoch for epoch, seq in marks.heads[_OWN] if seq == chain.seq} or {about["epoch"]}
    if about["epoch"] not in epochs:
        problems.append(WrongEntry(chain.seq, "the last head was signed in another epoch than the export names"))
    return problems


def _restored(chain: Chain) -> Iterator[str]:
    """Remarks on restores: they excuse earlier heads, so the auditor must see them."""
    for restore in chain.restores[:10]:
        sentence = f"the log that was replaced had {restore.replaced_entries} entries"
        yield f"entry {restore.seq} says that a backup was restored: {sentence}"
    if len(chain.restores) > 10:
        yield f"{len(chain.restores) - 10} more entries say so"


def _about(place: Path) -> dict[str, Any]:
    file = place / "export.json"
    try:
        about = strict_json(b"".join(line for _, line in _lines(file, _SHORT, most=_SHORT)).decode())
    except ValueError:
        about = None
    if type(about) is not dict or about.get("format") != FORMAT:
        raise Unreadable(f"{str(place)!r} is not an export of a Reconcile audit log that this verifier can read")
    texts = {"store": re.compile(r"[A-Za-z0-9_.:-]{1,100}"), "public_key": _HASH, "head": _HASH}
    right = about.keys() == _EXPORT_FIELDS and type(about["unread_anchors"]) is dict
    right = right and all(type(about[name]) is str and form.fullmatch(about[name]) for name, form in texts.items())
    right = right and all(type(about[name]) is int and 0 <= about[name] < 2**63 for name in ("entries", "epoch"))
    if not right or not all(type(reason) is str for reason in about["unread_anchors"].values()):
        raise Unreadable(f"{str(file)!r} lacks fields of an export, or has wrong ones")
    return about


def _anchor_files(folder: Path) -> list[Path]:
    try:
        if folder.is_symlink():
            raise Unreadable(f"{str(folder)!r} cannot be read: it is a link")
        with os.scandir(folder) as entries:
            names = [name for name, _ in zip((entry.name for entry in entries), range(_MOST + 1), strict=False)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise Unreadable(f"{str(folder)!r} cannot be read: {error.strerror}") from error
    if len(names) > _MOST:
        raise Unreadable(f"{str(folder)!r} holds more than {_MOST} files")
    return [folder / name for name in sorted(names) if name.endswith(".jsonl")]


def _rows(file: Path) -> Iterator[Row]:
    for number, line in _lines(file, _LONGEST):
        try:
            entry = _flat(line)
        except ValueError:
            raise Broken(number, "the entry was changed") from None
        if entry.keys() != set(_FIELDS) or (entry["salt"] is None) != (entry["body"] is None):
            raise Broken(number, "the entry was changed")
        yield tuple(entry[name] for name in _FIELDS)


def _marks(file: Path, torn: list[int] | None = None) -> Iterator[Mark]:
    """The heads in a file. Other lines are an error, or are noted in `torn`: an anchor has them after a crash.

    With `torn`, the auditor named the file, so it may be a link to a regular file.
    """
    for number, line in _lines(file, _SHORT, follow=torn is not None):
        try:
            yield Mark.of(_flat(line))
        except ValueError as error:
            if torn is None or len(torn) == _MOST:
                raise Unreadable(f"{str(file)!r}, line {number}, cannot be read: it is not a signed head") from error
            torn.append(number)


def _flat(line: bytes) -> dict[str, Any]:
    """One object of texts and whole numbers; raises ValueError for any other line."""
    text = line.decode()
    if not _FLAT.fullmatch(text):
        raise ValueError("it is not a line of an export")
    return dict(json.loads(text, object_pairs_hook=_unique))


def _lines(file: Path, longest: int, *, most: int | None = None, follow: bool = False) -> Iterator[tuple[int, bytes]]:
    """The lines of a regular file, up to its size at opening, each of at most `longest` bytes."""
    try:
        with _opened(file, follow=follow) as content:
            remaining, number = os.fstat(content.fileno()).st_size, 0
            if most is not None and remaining > most:
                raise Unreadable(f"{str(file)!r} cannot be read: it has more than {most} bytes")
            while remaining > 0 and (line := content.readline(min(longest, remaining) + 1)):
                remaining, number = remaining - len(line), number + 1
                if len(line) > longest:
                    raise Unreadable(f"{str(file)!r}, line {number}, cannot be read: it has more than {longest} bytes")
                yield number, line
    except OSError as error:
        reason = "it is a link" if error.errno == errno.ELOOP else error.strerror
        raise Unreadable(f"{str(file)!r} cannot be read: {reason}") from error


@contextlib.contextmanager
def _opened(file: Path, *, follow: bool) -> Iterator[BinaryIO]:
    """Open a regular file without waiting; other kinds are refused, before opening where possible."""
    flags = os.O_RDONLY
    for name in ("O_CLOEXEC", "O_NONBLOCK", "O_NOCTTY", "O_BINARY", *(() if follow else ("O_NOFOLLOW",))):
        flags |= getattr(os, name, 0)  # not every system has each
    status = file.stat() if follow else file.lstat()
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, "it is a link")
    _refuse_irregular(file, status)
    with open(os.open(file, flags), "rb") as content:  # noqa: PTH123 - a descriptor
        _refuse_irregular(file, os.fstat(content.fileno()))
        yield content


def _refuse_irregular(file: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise Unreadable(f"{str(file)!r} cannot be read: it is not a regular file")


# The command line


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(description="Verify an exported audit log of Reconcile.")
    parser.add_argument(
        "directory", nargs="?", default=Path(__file__).parent, type=Path, help="the export (default: this folder)"
    )
    parser.add_argument(
        "--anchor", action="append", default=[], type=Path, help="a copy of an anchor file that you keep"
    )
    parser.add_argument("--public-key", help="the store's public key, from your own records")
    options = parser.parse_args(arguments)
    try:
        verdict, problem = verify(options.directory, options.anchor, options.public_key)
    except Unreadable as error:
        return _print(2, [str(error)], sys.stderr)
    except ImportError as error:
        return _print(2, [f"the package {error.name} is missing: python -m pip install cryptography"], sys.stderr)
    except MemoryError:
        return _print(2, ["not enough memory to read the export"], sys.stderr)
    except KeyboardInterrupt:
        return _print(130, ["interrupted: nothing was verified"], sys.stderr)
    if problem is not None:
        last = "" if problem.until in (None, problem.seq) else f" to {problem.until}"
        return _print(1, [f"broken at entry {problem.seq}{last}: {problem.sentence}", *verdict.remarks], sys.stdout)
    return _print(0 if verdict.is_whole else 3, _lines_of(verdict), sys.stdout)


def _lines_of(verdict: VerificationResult) -> Iterator[str]:
    yield f"{verdict.entries} entries of store {verdict.store}, unbroken; the head is {verdict.head}"
    for source, (count, covered) in verdict.sources.items():
        yield f"{source}: {count} signed heads of this log, up to entry {covered}"
    yield from verdict.remarks
    if not verdict.is_trusted:
        yield "not proven: only the export itself was used; add your own --public-key and --anchor FILE"
    elif verdict.is_whole:
        yield f"covered to the end: all {verdict.entries} entries are genuine"
    else:
        yield f"covered up to entry {verdict.covered} of {verdict.entries}: later entries are not proven"
    if verdict.anchored < verdict.entries:
        uncovered = verdict.entries - verdict.anchored
        yield f"entries in no anchor: {uncovered}; later entries could have been removed unnoticed"


def _print(code: int, lines: Iterable[str], stream: Any) -> int:
    """Write plain ASCII, even of other names and reasons; a closed pipe does not change the exit code."""
    try:
        for line in lines:
            stream.write(re.sub(r"[^ -~]", lambda match: ascii(match[0])[1:-1], line) + "\n")
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return code


if __name__ == "__main__":
    sys.exit(main())
