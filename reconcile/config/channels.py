"""Checks of channels against each other: names, fallbacks, and findings that no channel gets."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from reconcile.config.sections import Sections
from reconcile.config.settings import ChannelConfig, JobConfig
from rules.document.mistakes import Mistake, short, suggestion
from rules.document.tree import locate

_NAMED = (("escalate", "to"), ("fallback",))
"""Settings that name another channel."""


@dataclass(frozen=True)
class ChannelCheck:
    """The channels that could be read, and the jobs that name them."""

    sections: Sections
    channels: Mapping[str, ChannelConfig]
    jobs: Mapping[str, JobConfig]

    def problems(self) -> Iterator[Mistake]:
        for name, channel in self.channels.items():
            for path in _NAMED:
                yield from self._of_name(name, _named_by(channel, path), path)
            yield from self._of_fallback(name, channel)
            yield from self._of_route(name, channel)

    def notes(self) -> Iterator[Mistake]:
        """Yield remarks about jobs with findings that may reach no channel."""
        for job in self.jobs.values():
            told = [self.channels[name] for name in job.notify if name in self.channels]
            if told and all(channel.entry.route for channel in told):
                at = locate(self.sections["jobs"][job.name].node, ("notify",)).node.at
                sentence = f"every channel of job `{job.name}` has a `route`: findings that match none are not sent"
                yield Mistake.at(at, sentence)

    def used(self, alerts: Collection[str]) -> set[str]:
        """Return the channels that something names."""
        of_channels = {_named_by(channel, path) for channel in self.channels.values() for path in _NAMED}
        return {*alerts, *(name for job in self.jobs.values() for name in job.notify), *filter(None, of_channels)}

    def _of_name(self, name: str, named: str | None, path: tuple[str, ...]) -> Iterator[Mistake]:
        entries = self.sections["channels"]
        if named is None or (named in entries and named != name):
            return
        at = locate(entries[name].node, path).node.at
        if named == name:
            yield Mistake.at(at, f"`{path[0]}` must name another channel than `{short(name)}`")
        elif self.sections.whole:
            yield Mistake.at(at, f"there is no channel `{short(named)}`; {suggestion(named, entries)}")

    def _of_fallback(self, name: str, channel: ChannelConfig) -> Iterator[Mistake]:
        """Check that a fallback may show what its channel shows: it gets the same message."""
        fallback = self.channels.get(channel.entry.fallback or "")
        hidden = set(channel.settings.show) - set(fallback.settings.show) if fallback else set()
        if hidden:
            at = locate(self.sections["channels"][name].node, ("fallback",)).node.at
            columns = ", ".join(sorted(hidden))
            yield Mistake.at(at, f"`fallback`: channel `{short(name)}` shows {columns}; `show` them there too")

    def _of_route(self, name: str, channel: ChannelConfig) -> Iterator[Mistake]:
        rules = self.sections["rules"]
        for rule in channel.entry.route.rule if channel.entry.route else ():
            if rule not in rules and self.sections.whole:
                at = locate(self.sections["channels"][name].node, ("route", "rule")).node.at
                yield Mistake.at(at, f"there is no rule `{short(rule)}`; {suggestion(rule, rules)}")


def _named_by(channel: ChannelConfig, path: tuple[str, ...]) -> str | None:
    if path == ("fallback",):
        return channel.entry.fallback
    return channel.entry.escalate.to if channel.entry.escalate else None
