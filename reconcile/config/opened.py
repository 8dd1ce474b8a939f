"""What a configuration names and what is open: sources, channels, anchors, each opened when first asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pkgutil import resolve_name
from typing import TYPE_CHECKING, TypeVar

from connectors.base import Source, Stoppable
from connectors.errors import ConnectorError, Reaction
from notifications.base import Channel
from notifications.errors import ChannelError
from notifications.errors import Reaction as ChannelReaction
from reconcile.config.settings import Project
from reconcile.plugins import Kinds

if TYPE_CHECKING:  # few commands need one
    from reconcile.audit.anchors.base import Anchor

T = TypeVar("T")


class Opened(Mapping[str, T]):
    """Things by name, of which each is opened when it is first asked for and kept."""

    def __init__(self, names: Collection[str], opened: Callable[[str], T]) -> None:
        self._names = names
        self._opened = opened
        self._open: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        """Raises what opening it raises, and KeyError for a name there is not."""
        if name not in self._open:
            self._open[name] = self._opened(name)
        return self._open[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class SecretMissing(ConnectorError):
    """A command that runs from a kept release needs a source, and something its settings refer to is missing."""

    reaction = Reaction.ASK

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(f"Source {source!r} cannot be used: {reason}. Nothing was read or changed there")


class ChannelUnusable(ChannelError):
    """The same of a channel."""

    reaction = ChannelReaction.ASK

    def __init__(self, channel: str, reason: str) -> None:
        super().__init__(f"Channel {channel!r} cannot be used: {reason}")


class Sources(Opened[Source]):
    """The sources of a project, closed together."""

    def __init__(self, project: Project) -> None:
        def opened(name: str) -> Source:
            if reason := project.unusable.get(("sources", name)):
                raise SecretMissing(name, reason)
            chosen = project.sources[name]
            kind: Callable[..., Source] = Kinds("connectors").load(chosen.type)
            return kind(name, chosen.settings, project.directory)

        super().__init__(_with_unusable(project.sources, project, "sources"), opened)

    def stop(self, name: str) -> None:
        """End the reads of that source that are under way, where it can be told to."""
        source = self._open.get(name)
        if source is not None and isinstance(source, Stoppable):
            source.stop()

    def close(self) -> None:
        while self._open:
            self._open.popitem()[1].close()


def channels(project: Project) -> Opened[Channel]:
    """The channels of a project."""

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
    """The anchors of a project's audit log. Asking for one that cannot be used raises AnchorError."""

    def opened(name: str) -> Anchor:
        from reconcile.audit.anchors import KINDS  # noqa: PLC0415 - see above
        from reconcile.audit.anchors.base import AnchorError  # noqa: PLC0415 - see above

        settings = project.audit.anchors[name]
        if reason := project.unusable.get(("channels", getattr(settings, "channel", ""))):
            raise AnchorError(name, f"cannot be used: {reason}")
        configured = {called: one.settings for called, one in project.channels.items()}
        kind: Callable[..., Anchor] = resolve_name(KINDS[settings.type])
        return kind(name, settings, project.directory, configured)

    return Opened(project.audit.anchors.keys(), opened)
