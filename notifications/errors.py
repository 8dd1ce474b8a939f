"""The errors of channels, each with its own sentence and reaction."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from notifications.base import DeliveryReceipt


class DeliveryReaction(enum.Enum):
    """The outbox's reaction to an error."""

    RETRY = "transient"
    LOOK = "unknown"  # it may have arrived: ask `find` before sending again
    ASK = "pause"
    STOP = "terminal"


class ChannelError(Exception):
    """A message could not be delivered. The message is one sentence for people; it never holds a secret or a value.

    `retry_after` is the pause in seconds that the channel asked for, if any. `exit_code` is that of a command that ends
    with it, as docs/cli.md lists them.
    """

    exit_code: ClassVar[int] = 3
    reaction = DeliveryReaction.STOP
    retry_after: float | None = None


class ChannelUnreachable(ChannelError):
    """The connection was never made, so the message is known not to have been sent."""

    reaction = DeliveryReaction.RETRY

    def __init__(self, channel: str, where: str, reason: str) -> None:
        super().__init__(
            f"Channel {channel!r} is unreachable at {where}: {reason}. The message was not sent and will be retried. "
            f"To test the channel: reconcile notify test {channel}"
        )


class RateLimited(ChannelError):
    """The channel refused for now; the message is known not to have been sent."""

    reaction = DeliveryReaction.RETRY

    def __init__(self, channel: str, retry_after: float) -> None:
        self.retry_after = retry_after
        super().__init__(
            f"Channel {channel!r} is rate limited for {retry_after:g} s. The message was not sent and will be retried."
        )


class RefusedForNow(ChannelError):
    """The channel did not accept the message now; it is known not to have been sent."""

    reaction = DeliveryReaction.RETRY

    def __init__(self, channel: str, code: str) -> None:
        super().__init__(
            f"Channel {channel!r} does not accept the message now ({code}). It was not sent and will be retried."
        )


class DeliveryUnknown(ChannelError):
    """The message may have arrived: the answer was lost, or said nothing either way."""

    reaction = DeliveryReaction.LOOK

    def __init__(self, channel: str, reason: str, retry_after: float | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(
            f"Channel {channel!r} may have received the message: {reason}. Reconcile checks before it sends again; "
            "if the channel can't be checked, `on_unknown` decides."
        )


class PartlySent(ChannelError):
    """The message arrived, but its last part did not, or may not have, or some recipients did not get it.

    `begun` is the receipt of what arrived, and the channel's `finish` sends the rest. It reacts as the error that
    stopped that.
    """

    def __init__(self, channel: str, begun: DeliveryReceipt, error: ChannelError) -> None:
        self.begun = begun
        self.reaction = error.reaction
        self.retry_after = error.retry_after
        super().__init__(f"Channel {channel!r} received the message, but not yet all of it. {error}")


class ChannelRefused(ChannelError):
    """The channel rejects the message until a person changes something."""

    def __init__(self, channel: str, code: str, advice: str) -> None:
        self.code = code
        super().__init__(f"Channel {channel!r} refused the message ({code}): {advice}")


class TokenMissingScope(ChannelRefused):
    """The token is good but may not do this."""

    def __init__(self, channel: str, method: str, needed: str) -> None:
        self.needed = needed
        super().__init__(
            channel,
            "missing_scope",
            f"the token cannot call {method}; add the scope {needed} under OAuth & Permissions of the Slack app, "
            "install the app again and use the new token.",
        )


class AddressRefused(ChannelError):
    """The address is not allowed; nothing was sent."""

    def __init__(self, channel: str, subject: str, network: str) -> None:
        """`subject` is an address, also with the host that has it; `network` allows it."""
        super().__init__(
            f"Channel {channel!r}: {subject} is not a public address, so nothing was sent. If this is "
            f'intended, set `allow: ["{network}"]` in the channel.'
        )


class CannotBeAsked(ChannelError):
    """This channel cannot say whether a message arrived."""

    reaction = DeliveryReaction.ASK

    def __init__(self, channel: str, reason: str) -> None:
        super().__init__(f"Channel {channel!r} cannot check whether a message arrived: {reason}.")


class FileNotWritable(ChannelError):
    """The file of a file channel cannot be written to; nothing was lost."""

    def __init__(self, channel: str, path: str, reason: str) -> None:
        super().__init__(
            f"Channel {channel!r} cannot write to {path}: {reason}. Nothing was written; correct `path` or the "
            f"permissions of the file, then: reconcile notify test {channel}"
        )


class TemplateRefused(ChannelError):
    """A template of the user's own cannot be used as written."""

    def __init__(self, template: str, line: int | None, reason: str) -> None:
        where = f"{template}:{line}" if line else template
        super().__init__(f"Template {where}: {reason}. To preview it without a run: reconcile notify preview")
