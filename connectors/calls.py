"""The port of a target that is called: a call is sent and answered, such as a refund, and undone by another call.

A row is changed in a transaction; a call is not: once it is sent, only the target knows if it was made. So each call
has an idempotency key, is made by a plan of its own, and the target is asked before anything is sent again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from connectors.target import Row, RowName

Answer = Mapping[str, str]
"""The parts of a target's answer that may be kept and shown: no secret is among them. It is the receipt of the call."""


@dataclass(frozen=True)
class Call:
    """The planned call about one record.

    `sends` holds all that the connector sends, asks with and expects as the answer, by name: people approve it, and
    only the connector understands its texts. `undo` is the same for the call that takes this one back; None: nothing
    does. `answer` is the target's answer to the call that this one takes back.
    """

    row: RowName
    sends: Mapping[str, str]
    undo: Mapping[str, str] | None = None
    answer: Answer | None = None


@runtime_checkable
class CallTarget(Protocol):
    """A target (`connectors.target.Target`) that is called. One whose rows cannot be changed promises nothing of them.

    `key` is the call's idempotency key: the same for every attempt and process, and never that of another call.
    """

    def current(self, rows: Sequence[RowName]) -> dict[RowName, Row]:
        """The current ones among these rows: a call is only sent while its record is as it was planned."""

    def call(self, call: Call, key: str, seconds: float) -> Answer:
        """Send the call once, and return its answer within so many seconds.

        Raises a TargetError, which is UNKNOWN unless the call was certainly not made and can no longer arrive.
        """

    def probe(self, call: Call, key: str, seconds: float) -> Answer | None:
        """Return the answer of the call with this key if it was made; None if it was not, and can no longer arrive.

        Sends nothing that has an effect. Raises a TargetError: UNKNOWN if the target cannot tell, so that a call that
        may have been sent is left to a person; any other if it cannot be asked now.
        """
