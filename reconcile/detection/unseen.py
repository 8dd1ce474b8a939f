"""Count texts with characters that programs do not show: they look equal to others, but differ."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from rules.values.normal_forms import INVISIBLE

_WRITTEN_ON_PURPOSE = frozenset("\u200c\u200d") | frozenset(map(chr, range(0xFE00, 0xFE10)))
"""Joiners and variants, which emoji and some scripts need."""
_UNSEEN = re.compile(
    "[" + "".join(chr(c) for a, b in INVISIBLE for c in range(a, b + 1) if chr(c) not in _WRITTEN_ON_PURPOSE) + "]"
)


def sentences(columns: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """Yield a sentence for each column with such texts, of the first records. `columns` are texts with their counts."""
    for name, counts in columns.items():
        matches = {text: match for text in counts if not text.isascii() and (match := _UNSEEN.search(text))}
        if not matches:
            continue
        count = sum(counts[text] for text in matches)
        first = ord(next(iter(matches.values()))[0])
        subject = "1 value" if count == 1 else f"{count:,} values"
        yield (
            f"{subject} of `{name}` in the first records {'has' if count == 1 else 'have'} invisible characters, such "
            f"as U+{first:04X}; `trim`, `squeeze` and `nfkc` drop them from a key"
        )
