"""Replace several files as one change: all of them, or none.

The system exchanges only one pair of files at a time, so a process can die, or somebody can save a file, between two
exchanges. All next versions are durable before the first one, and the notes of each file name the others. Whoever opens
one of the files next goes on with the change, or takes it back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from connectors.disk.cleaning.exchange import LockedFile, Outcome, Standing
from connectors.errors import ConnectorError
from connectors.target import TargetError, TransactionOutcome

_TRIES = 3
"""A save between two looks at the files makes the answer wrong, and they are looked at again."""


@dataclass(frozen=True)
class Member:
    """A file of a change: the digests of its version before and after it.

    `rows` tells the outcome by the rows of another version, None if the file is missing; `replaced_at` tells when a
    change of ours replaced the version with a digest.
    """

    file: LockedFile
    before: str
    after: str
    rows: Callable[[bytes | None], Outcome | None]
    replaced_at: Callable[[str], str | None]

    def standing(self) -> Standing:
        return self.file.standing(self.before, self.after)


def replace(members: Sequence[Member], versions: Sequence[bytes], note: Callable[[], None]) -> None:
    """Replace the files by these versions, in this order; `note` is called before the first exchange.

    Raises a TargetError: UNKNOWN if only the notes and the files can tell if it was done, otherwise nothing was.
    """
    try:
        for member, data in zip(members, versions, strict=True):
            member.file.write(data)
        note()
        for member in members:
            member.file.compare(member.before)
    except TargetError:
        _abandon(members)
        raise
    is_begun = False
    try:
        for member in members:
            member.file.exchange(member.before, member.after, member.replaced_at)
            is_begun = True
        _must_be_in_place(members)
    except TargetError as error:
        if is_begun:
            _settle_after(error, members)
            return
        if error.outcome is not TransactionOutcome.UNKNOWN:
            _abandon(members)
        raise
    for member in members:
        member.file.keep_former()


def _must_be_in_place(members: Sequence[Member]) -> None:
    """Raise a TargetError if somebody saved one of several files after its exchange, perhaps without our change."""
    for member in members if len(members) > 1 else ():
        member.file.must_hold(member.after)


def settle(members: Sequence[Member]) -> Outcome | None:
    """Go on with a change that a process did not finish, or take it back, and tell which; tidy up after it.

    It goes on if all files that lack it are as they were read, and is taken back if all others are as it left them.
    None if only a person can tell; then nothing is exchanged. Raises a TargetError, after which it can be tried again.
    """
    if len(members) == 1:
        return _settled_alone(members[0])
    for _ in range(_TRIES - 1):
        try:
            return _settled(members)
        except TargetError as error:
            if error.outcome is not TransactionOutcome.NOT_DONE:
                raise
    return _settled(members)


def _settled_alone(member: Member) -> Outcome | None:
    standing = member.standing()
    member.file.tidy_up(standing)
    if standing.outcome is None and standing.left != standing.after:
        return _by_rows(member, standing)
    return standing.outcome or "not_done"


def _settled(members: Sequence[Member]) -> Outcome | None:
    standings = [(member, member.standing()) for member in members]
    outcomes = [standing.outcome or _by_rows(member, standing) for member, standing in standings]
    lacking = [entry for entry, outcome in zip(standings, outcomes, strict=True) if outcome != "done"]
    having = [entry for entry, outcome in zip(standings, outcomes, strict=True) if outcome == "done"]
    outcome: Outcome | None = None
    if all(standing.can_go_on for _, standing in lacking) and having:
        _must_be_free([member for member, _ in lacking], members)
        for member, _ in lacking:
            member.file.exchange(member.before, member.after, member.replaced_at)
        outcome = "done"
    elif None not in outcomes and all(standing.can_go_back for _, standing in having):
        _must_be_free([member for member, _ in having], members)
        for member, standing in reversed(having):
            member.file.take_back(standing)
        outcome = "not_done"
    for member in members:
        member.file.tidy_up(member.standing())
    return outcome


def _must_be_free(changing: Sequence[Member], members: Sequence[Member]) -> None:
    """Raise a TargetError, which is a PAUSE, if one of these files is open or may not be written."""
    try:
        for member in changing:
            member.file.must_be_free()
    except TargetError as error:
        names = listed([member.file.name for member in members])
        sentence = f"A change of {names} was interrupted and has to be finished first. {error}"
        raise TargetError(sentence, error.outcome) from error


def _by_rows(member: Member, standing: Standing) -> Outcome | None:
    return member.rows(None if standing.now is None else member.file.read())


def _settle_after(error: TargetError, members: Sequence[Member]) -> None:
    """Finish a change that an error interrupted between two exchanges; raise a TargetError if it was not done."""
    try:
        outcome = settle(members)
    except ConnectorError as again:
        raise TargetError(str(again), TransactionOutcome.UNKNOWN) from again
    if outcome == "not_done":
        raise TargetError(str(error), TransactionOutcome.NOT_DONE) from error
    if outcome is None:
        raise TargetError(str(error), TransactionOutcome.UNKNOWN) from error


def listed(names: Sequence[str]) -> str:
    """Join names of files as a sentence does."""
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _abandon(members: Sequence[Member]) -> None:
    for member in members:
        member.file.abandon()
