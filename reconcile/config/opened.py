"""Sources, channels and anchors of a configuration, each opened on first use."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pkgutil import resolve_name
from typing import TYPE_CHECKING, TypeVar

from connectors.base import Source, Stoppable, Versioned
from connectors.errors import Reaction, SourceUnavailable
from notifications.base import Channel
from notifications.errors import ChannelError, DeliveryReaction
from reconcile.config.settings import Project
from reconcile.plugins import Kinds

if TYPE_CHECKING:  # few commands need an anchor
    from reconcile.audit.anchors.base import Anchor

T = TypeVar("T")


class Opened(Mapping[str, T]):
    """A mapping that opens each object on first use and keeps it."""

    def __init__(self, names: Collection[str], opened: Callable[[str], T]) -> None:
        self._names = names
        self._opened = opened
        self._open: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        """Raise the errors of opening it, and KeyError for an unknown name."""
        if name not in self._open:
            self._open[name] = self._opened(name)
        return self._open[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class SecretMissing(SourceUnavailable):
    """A command runs from a kept release, and a secret or variable of the source is missing."""

    reaction = Reaction.ASK

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(source, f"Source {source!r} cannot be used: {reason}. Nothing was read or changed there")


class ChannelUnusable(ChannelError):
    """A command runs from a kept release, and a secret or variable of the channel is missing."""

    reaction = DeliveryReaction.ASK

    def __init__(self, channel: str, reason: str) -> None:
        super().__init__(f"Channel {channel!r} cannot be used: {reason}")


class Sources(Opened[Source]):
    """The sources of a project; `close` closes all of them."""

    def __init__(self, project: Project) -> None:
        def opened(name: str) -> Source:
            if reason := project.unusable.get(("sources", name)):
                raise SecretMissing(name, reason)
            chosen = project.sources[name]
            kind = Kinds("connectors").load(chosen.type)
            open_source: Callable[..., Source] = getattr(kind, "open", kind)
            return open_source(name, chosen.settings, project.directory)

        super().__init__(_with_unusable(project.sources, project, "sources"), opened)

    def stop(self, name: str) -> None:
        """Stop the running reads of that source, if it supports that."""
        source = self._open.get(name)
        if source is not None and isinstance(source, Stoppable):
            source.stop()

    def renew(self) -> None:
        """Let sources with versions read the newest ones from now on, and keep to them until the next call."""
        for source in self._open.values():
            if isinstance(source, Versioned):
                source.renew()

    def close(self) -> None:
        while self._open:
            self._open.popitem()[1].close()


def channels(project: Project) -> Opened[Channel]:
    """Return the channels of a project."""

    def opened(name: str) -> Channel:
        if reason := project.unusable.get(("channels", name)):
            raise ChannelUnusable(name, reason)
        chosen = project.channels[name]
        kind: Callable[..., Channel] = Kinds("channels").load(chosen.type)
        return kind(name, chosen.settings, project.directory)

    return Opened(_with_unusable(project.channels, project, "channels"), opened)


def _with_unusable(usable: Iterable[str], project: Project, section: str) -> list[str]:
    return [*usable, *(name for where, name in project.unusable if where == section)]


def anchors(project: Project) -> Opened[Anchor]:
    """Return the anchors of a project's audit log; an unusable one raises AnchorError on access."""

    def opened(name: str) -> Anchor:
        from reconcile.audit.anchors import KINDS  # noqa: PLC0415 - see above
        from reconcile.audit.anchors.base import AnchorError  # noqa: PLC0415 - see above

        settings = project.audit.anchors[name]
        if reason := project.unusable.get(("channels", getattr(settings, "channel", ""))):
            raise AnchorError(name, f"cannot be used: {reason}")
        configured = {called: channel.settings for called, channel in project.channels.items()}
        kind: Callable[..., Anchor] = resolve_name(KINDS[settings.type])
        return kind(name, settings, project.directory, configured)

    return Opened(project.audit.anchors.keys(), opened)
