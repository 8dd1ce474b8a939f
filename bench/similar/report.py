"""Tables in Markdown, and a page of sections that are replaced one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

HEAD = "# Results of `make bench-similar`\n\n"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def section(name: str, *paragraphs: str) -> str:
    return "\n\n".join([f"### {name}", *(paragraph for paragraph in paragraphs if paragraph)])


def write(page: Path, about: str, sections: str) -> None:
    """Write new sections into a page, each in place of the one with the same heading."""
    previous = page.read_text(encoding="utf-8") if page.exists() else ""
    parts: Mapping[str, str] = {
        part.splitlines()[0]: part.strip() for text in (previous, sections) for part in text.split("### ")[1:]
    }
    body = "\n\n".join(f"### {part}" for part in parts.values())
    page.write_text(f"{HEAD}{about}\n\n{body}\n", encoding="utf-8")


def rate(value: float) -> str:
    """Return a share with three digits as papers write it: .983, or 1.000."""
    return f"{value:.3f}".removeprefix("0") if value >= 0 else f"−{rate(-value)}"


def difference(value: float) -> str:
    """Return a difference of shares with its sign, nothing if it rounds to zero."""
    if abs(value) < 0.0005:
        return "·"
    return f"+{rate(value)}" if value > 0 else rate(value)
