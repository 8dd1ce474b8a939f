"""The English of the product: no sentence that reads as if translated comes back, in code, tests or documentation."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from tests.support.folders import ROOT

PACKAGES = ("reconcile", "rules", "connectors", "notifications")

TRANSLATED = (
    r"exist more often",
    r"what must not be",
    r"stands? (here|twice|there)\b",
    r"told once",
    r"hear only of",
    r"groups more\b",
    r"after the record before",
    r"there is no such (folder|file)",
    r"not looked at",
    r"counts as empty",
    r"compared nothing",
    r"nor ever did",
    r"Expected the end",
    r"indents with blanks",
    r"nobody (knows|hears)",
    r"[Ll]et(s|ting)? go of",
    r"no process schedules",
    r"by their share of all",
    r"stands in its way",
    r"told of\b",
    r"put before\b",
    r"all the same\b",
    r"planned anew",
    r"to begin anew",
    r"[Nn]othing of it was used",
    r"cut or damaged",
    r"of no other one",
    r"[Nn]o (finding|entry) fits",
    r"refers? to nothing",
    r"not as Reconcile makes it",
    r"more fields differ",
)
"""The left column of the language page, and the turns of phrase that it names, as patterns."""

VAGUE = ("one", "other", "found", "said", "known", "made", "there")


def _python(*folders: str) -> Iterator[Path]:
    return chain.from_iterable(sorted((ROOT / folder).rglob("*.py")) for folder in folders)


def _pages() -> list[Path]:
    written = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").rglob("*.yaml"))]
    return [*_python(*PACKAGES, "tests", "bench", "examples"), *written, ROOT / "Makefile"]


@pytest.mark.slow
@pytest.mark.parametrize("pattern", TRANSLATED)
def test_no_sentence_reads_as_if_translated(pattern: str) -> None:
    places = [
        f"{page.relative_to(ROOT)}:{number}: {line.strip()}"
        for page in _pages()
        if page != Path(__file__)
        for number, line in enumerate(page.read_text("utf-8").splitlines(), 1)
        if re.search(pattern, line)
    ]
    assert not places, "\n".join(places)


@pytest.mark.slow
@pytest.mark.parametrize("folders", [PACKAGES, ("tests",)], ids=["product", "tests"])
def test_a_name_says_what_it_holds(folders: tuple[str, ...]) -> None:
    bound = Counter(
        name
        for module in _python(*folders)
        for node in ast.walk(ast.parse(module.read_text("utf-8")))
        for name in _bound(node)
        if name in VAGUE
    )
    assert {name: number for name, number in bound.items() if number >= 20} == {}


def _bound(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.arg):
        yield node.arg
