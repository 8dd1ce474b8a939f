"""The links between the records of a finding, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from notifications.wording import words
from reconcile.findings.shown import Finding
from rules.pairs.evidence import Link


def sentences(finding: Finding, names: Sequence[str], alternatives: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each link, those that hold the group together first.

    `names` are those of the finding's members, and `alternatives` the match keys in words.
    """
    for link in sorted(finding.links, key=lambda link: not link.bridge):
        yield _sentence(link, f"{names[link.first]} and {names[link.second]}", alternatives)


def evidence(finding: Finding, names: Sequence[str]) -> tuple[str, ...]:
    """Return the sentences of the links whose rule says by what their records are alike."""
    return tuple(
        f"{names[link.first]} and {names[link.second]}: {link.evidence}" for link in finding.links if link.evidence
    )


def _sentence(link: Link, pair: str, alternatives: Sequence[str]) -> str:
    keys = words.listed([alternatives[key] if key < len(alternatives) else f"key {key + 1}" for key in link.keys])
    joined = f"only {keys or 'this'} links {pair}" if link.bridge else f"{pair} agree by {keys}" if keys else pair
    return f"{joined}: {link.evidence}" if link.evidence else joined
