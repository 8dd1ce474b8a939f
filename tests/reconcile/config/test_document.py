"""YAML is read as its author wrote it, with every place known, and a hostile text costs no more than its length."""

import string
import time
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rules.document import tree as document
from rules.document.tree import ListNode, MapNode, ScalarNode, data, locate, parse, walk


def sentences(text: str | bytes) -> list[str]:
    return [f"{p.line}:{p.column}: {p.sentence}" for p in parse(text).problems]


@pytest.mark.parametrize(
    "written",
    ["no", "yes", "on", "0123", "12:30:45", "1e5", "0x1F", "1_000", "2026-03-01", ".inf", "+1", "=", "007.50"],
)
def test_a_scalar_stays_what_its_author_wrote(written: str) -> None:
    assert data(parse(f"a: {written}\nb: [{written}]\n{written}: x\n").root) == {
        "a": written,
        "b": [written],
        written: "x",
    }


def test_only_unquoted_nothing_is_none() -> None:
    text = "a:\nb: ~\nc: null\nd: ''\ne: 'null'\nf: \"~\"\n"

    assert data(parse(text).root) == {"a": None, "b": None, "c": None, "d": "", "e": "null", "f": "~"}


def test_a_byte_order_mark_is_passed_over() -> None:
    result = parse(b"\xef\xbb\xbfversion: 1\n")

    assert data(result.root) == {"version": "1"}
    assert locate(result.root, ("version",)).key_at.column == 1 if result.root else False


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: 1\nb: caf\u00e9\n".encode("latin-1"), "2:7: the file's text is not UTF-8 here; save it as UTF-8"),
        ("a: 1\n".encode("utf-16"), "1:1: the file's text is UTF-16 here; save it as UTF-8"),
        ("a: \x00\n", "1:4: control character U+0000 found; remove it or write it as an escape"),
        ("a: 1\n\tb: 2\n", "2:1: tab found; YAML is indented with spaces, so replace the tab with spaces"),
        ("severity: low\nseverity: low\n", "2:1: `severity` is defined twice, first in line 1; keep one"),
        ("a: &x 1\n", "1:4: `&x` is an anchor, which is not supported; remove it, or quote the value"),
        ("a: 1\n---\nb: 1\n", "2:1: a second document begins here; one file holds one, so remove `---`"),
        ("[a]: 1\n", "1:1: a key must be a single text; give it a name, or quote it"),
        ("~: 1\n", "1:1: a key must be a single text; give it a name, or quote it"),
    ],
)
def test_what_is_not_read_is_told(text: str | bytes, sentence: str) -> None:
    assert sentences(text) == [sentence]


def test_a_python_object_is_never_made() -> None:
    text = "a: !!python/object/apply:os.system [echo hacked]\nb: !!python/name:os.system\n"

    told = sentences(text)

    assert len(told) == 2
    assert all("is a tag, which is not supported" in item for item in told)


def test_a_billion_laughs_are_not_laughed() -> None:
    lines = ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    began = time.monotonic()

    result = parse("\n".join(lines))

    assert time.monotonic() - began < 2
    assert result.root is not None
    assert sum(1 for _ in walk(result.root)) < 300
    assert len(result.problems) == 12 + 11 * 10


@pytest.mark.parametrize("bomb", ["[" * 100_000, "{a: " * 100_000, "- " * 100_000, "? " * 50_000])
def test_deep_nesting_is_refused_at_once(bomb: str) -> None:
    began = time.monotonic()

    told = sentences(bomb)

    assert time.monotonic() - began < 2
    assert len(told) == 1
    assert "nested deeper than 40 levels" in told[0]


def test_a_huge_file_is_refused_unread() -> None:
    assert sentences(b"a: 1\n" * 300_000) == ["1:1: this file is larger than 1,000 kB; split it with `include:`"]


def test_too_many_values_are_refused_at_the_first_too_many() -> None:
    assert sentences("".join(f"k{n}: 1\n" for n in range(30_000))) == [
        "25000:9: this file has more than 50,000 values; split it with `include:`"
    ]


def test_a_file_of_the_largest_size_is_read_in_time() -> None:
    text = "".join(f"key-{n}: [{'value' * 14}, other]\n" for n in range(10_000))
    began = time.monotonic()

    result = parse(text)

    assert not result.problems
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    "text", ["a: b: c\n", 'a: "x\n', "a: [1\n", "a: @b\n", "a:\n  b: 1\n c: 2\n", "a: *.csv\n", "a: {"]
)
def test_both_parsers_of_pyyaml_are_told_alike(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with_libyaml = sentences(text)
    monkeypatch.setattr(document, "_Parser", yaml.SafeLoader)

    assert sentences(text) == with_libyaml
    assert len(with_libyaml) == 1


def nothing_alike(value: Any) -> Any:
    """A tree in which every way to write nothing, quoted or not, is None."""
    if isinstance(value, dict):
        return {key: nothing_alike(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [nothing_alike(inner) for inner in value]
    return None if value in ("", "~", "null", "Null", "NULL") else value


@given(st.text(max_size=200) | st.text("ab:- ,[]{}'\"#\n|>&*!~?", max_size=40))
def test_a_text_is_told_as_wrong_or_read_as_yaml_means_it(text: str) -> None:
    result = parse(text)

    assert all(p.line >= 1 and p.column >= 1 for p in result.problems)
    if not result.problems:
        assert nothing_alike(data(result.root)) == nothing_alike(yaml.load(text, yaml.CBaseLoader))  # noqa: S506 - texts only


@given(st.binary(max_size=200))
def test_no_bytes_are_too_strange_to_be_read_or_told(raw: bytes) -> None:
    assert all("while " not in p.sentence for p in parse(raw).problems)


NAMES = st.text(string.ascii_letters + string.digits + "-_", min_size=1, max_size=8).map(lambda name: f"k{name}")
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=12)
TREES = st.recursive(
    TEXTS,
    lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(NAMES, inner, min_size=1, max_size=3),
    max_leaves=12,
)


class Written:
    """A tree as block YAML, and for each path the line and column at which its value stands."""

    def __init__(self, tree: Any) -> None:
        self.lines: list[str] = []
        self.places: dict[tuple[str | int, ...], tuple[int, int]] = {}
        self._add(tree, (), "")

    def _add(self, value: Any, path: tuple[str | int, ...], head: str) -> None:
        if isinstance(value, str):
            self.places[path] = (len(self.lines) + 1, len(head) + 1)
            self.lines.append(head + "'" + value.replace("'", "''") + "'")
            return
        if path:
            self.lines.append(head.rstrip())
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            lead = " " * 2 * len(path) + (f"{key}: " if isinstance(value, dict) else "- ")
            self._add(inner, (*path, key), lead)


@given(st.dictionaries(NAMES, TREES, min_size=1, max_size=4))
def test_every_value_of_a_random_document_is_found_at_its_own_place(tree: dict[str, Any]) -> None:
    written = Written(tree)

    result = parse("\n".join(written.lines) + "\n")

    assert not result.problems
    assert data(result.root) == tree
    assert result.root is not None
    for path, (line, column) in written.places.items():
        place = locate(result.root, path)
        assert place.path == path
        assert (place.node.at.line, place.node.at.column) == (line, column)


def test_a_character_inside_a_text_has_its_place() -> None:
    root = parse("where: 'a = b'\nplain: a = b\nfolded: >\n  a\n  b\n").root
    assert isinstance(root, MapNode)

    quoted, plain, folded = (entry.node for entry in root.entries.values())

    assert isinstance(quoted, ScalarNode)
    assert quoted.position(2).column == 11
    assert isinstance(plain, ScalarNode)
    assert plain.position(2).column == 10
    assert isinstance(folded, ScalarNode)
    assert folded.position(2) == folded.at


def test_a_path_that_the_file_does_not_have_leads_to_the_nearest_place() -> None:
    root = parse("key: [a, {b: [trim]}]\n").root
    assert root is not None

    place = locate(root, ("key", "columns", 1, "b", 0, "name"))

    assert place.path == ("key", 1, "b", 0)
    assert isinstance(locate(root, ("key",)).node, ListNode)
