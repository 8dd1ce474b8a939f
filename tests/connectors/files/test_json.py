"""JSON documents: an array at the top or at a path, lists inside records, and documents that are no such thing."""

import codecs
import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connectors.errors import ColumnMissing, ConnectorError, FileRefused, FileUnreadable
from connectors.files.connector import FilesDataset
from connectors.files.json import window
from tests.support.chance import examples
from tests.support.cli import Project
from tests.support.files import by_duckdb, records, source


def put(folder: Path, text: str | bytes, name: str = "a.json") -> Path:
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


ORDERS = [
    {"order": "A-1", "customer": {"id": 7}, "lines": [{"sku": "x", "price": {"net": 1.50}}, {"sku": "y"}]},
    {"order": "A-2", "customer": {"id": 8}, "lines": []},
    {"order": "A-3", "customer": {"id": 9}, "lines": None},
    {"order": "A-4", "customer": {"id": 9}},
]


@pytest.mark.slow
def test_an_array_is_a_dataset_and_its_duplicates_are_found(tmp_path: Path) -> None:
    project = Project(tmp_path)
    put(tmp_path, json.dumps({"page": 1, "data": {"items": [{"id": 1, "k": "A"}, {"id": 2, "k": "A"}, {"id": 3}]}}))
    project.write(
        "version: 1\nsources: {f: {type: files}}\n"
        "datasets:\n  d: {source: f, path: a.json, records: data.items, id: id}\n"
        "rules:\n  r: {kind: duplicates, dataset: d, key: [k]}\n"
    )

    assert project("check").code == 0
    [finding] = project("run", "--json", "--show").json["findings"]
    assert sorted([finding["keeper"], *finding["surplus"]]) == [["1"], ["2"]]


def test_numbers_keep_their_digits_and_rows_are_positions_in_the_array(tmp_path: Path) -> None:
    put(tmp_path, '[\n\n{"id": 123456789012345678901234567890.10, "x": {"y": 1e400}},\n{"x": {"z": [1.0]}}]')

    rows, _ = records(tmp_path, "a.json", ["id", "x", "x.y", "_row"], columns={"x.y": "text"})

    assert rows == [("123456789012345678901234567890.10", '{"y":1e400}', "1e400", 1), (None, '{"z":[1.0]}', None, 2)]
    assert by_duckdb(tmp_path, "a.json", ["id"]) is None


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_says_the_encoding(tmp_path: Path, encoding: str) -> None:
    put(tmp_path, '[{"a": "žluť"}]'.encode(encoding))

    assert records(tmp_path, "a.json")[0] == [("žluť",)]


def test_another_encoding_is_set(tmp_path: Path) -> None:
    put(tmp_path, '[{"a": "é"}]'.encode("utf-16-le"))
    put(tmp_path, '[{"a": 1},\n{"a": "é"}]'.encode("cp1252"), "b.json")

    with pytest.raises(FileUnreadable, match="has no byte order mark; set `encoding`, which may be utf-16-le"):
        records(tmp_path, "a.json")
    with pytest.raises(FileUnreadable, match="is not utf-8 text; set `encoding`, like cp1252"):
        records(tmp_path, "b.json")
    assert records(tmp_path, "a.json", encoding="utf-16-le")[0] == [("é",)]
    assert records(tmp_path, "b.json", encoding="cp1252")[0] == [("1",), ("é",)]
    with pytest.raises(FileUnreadable, match="encoding 'no-such' is unknown"):
        records(tmp_path, "b.json", encoding="no-such")


def test_a_compressed_document_is_read_and_a_cut_one_refused(tmp_path: Path) -> None:
    packed = gzip.compress(b'[{"a": 1}]')
    put(tmp_path, packed, "a.json.gz")
    put(tmp_path, packed[:-9], "b.json.gz")

    assert records(tmp_path, "a.json.gz")[0] == [("1",)]
    with pytest.raises(FileUnreadable, match=r"b\.json\.gz: it is truncated or damaged; fetch it again"):
        records(tmp_path, "b.json.gz")


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ('{"x": [{"a": 1}]}', "x", "1"),
        ('{"skip": [[1, {"x": 2}], {"q": {}}], "x": {"y.z": [{"a": 1}]}}', "x.y.z", "1"),
        ('[{"i": [{"a": 1}]}, {"i": [{"a": 2}]}]', "1.i", "2"),
        ('{"x": {"y": []}, "z": [{"a": 1}]}', "z", "1"),
    ],
)
def test_the_array_is_at_a_path(tmp_path: Path, text: str, path: str, expected: str) -> None:
    put(tmp_path, text)

    assert records(tmp_path, "a.json", records=path)[0] == [(expected,)]


@pytest.mark.parametrize(
    ("text", "path", "sentence"),
    [
        ('{"data": {"items": [{"a": 1}]}, "n": [1]}', None, "no array at its top; set `records: data.items`"),
        ('{"x": [{"a": 1}], "y": {"z": [{}]}}', None, "no array at its top; set `records: x` or `records: y.z`"),
        ('{"x": [{"a": 1}]}', "y", "no array at `records: y`; set `records: x`"),
        ('[{"a": 1}]', "y", "no array at `records: y`; leave out `records`: the document itself is the array"),
        ('{"x": 1}', None, "no array at its top; no other place in it has an array of objects"),
        ("5", None, "no array at its top; no other place"),
        ('{"x": {"a": 1}}', "x", "no array at `records: x`; no other place"),
        ('{"x": [{}], "x": [{}]}', "x", "a.json:1, column 17: `records` matches a second array here"),
        (
            '{"a": 1}\n{"a": 2}\n',
            None,
            "a.json:2, column 1: the document ends before this; write one array, or set `for",
        ),
        ('[{"a": 1}]\n x', None, "a.json:2, column 2: the document ends before this"),
        ('[{"a": 1},\n 7]', None, "a.json:2, record 2: it is not a JSON object; write each record as an object"),
        ('[{"a": "NaN"},\n {"a": "NaN", "b": NaN}]', None, "a.json:2, column 20: NaN is not JSON; write null instead"),
        ('[{"a": [-Infinity]}]', None, "a.json:1, column 9: -Infinity is not JSON"),
        ('[{"a": 1},\n {"a": 1, "a": 1}]', None, "a.json:2, column 2: an object has the key 'a' twice; rename one"),
        (
            '[{"a": 1},\n {"a": "x',
            None,
            "a.json:2, column 10: the document ends too early: it is truncated; fetch it again",
        ),
        ('[{"a": 1},\n {"a": 1', None, "a.json:2, column 9: the document ends too early"),
        ('[{"a": 1},\n', None, "the document ends too early"),
        ('[{"a": 1}', None, "a.json:1, column 10: the document ends too early"),
        ('{"x": [{"a": 1}]', "x", "a.json:1, column 17: the document ends too early"),
        ('[{"a": 1},\n]', None, "a.json:2, column 1: this is not JSON; repair the document"),
        ("[{'a': 1}]", None, "a.json:1, column 3: this is not JSON"),
        ('[{"a": "x\ty"}]', None, "a.json:1, column 11: this is not JSON"),
        ('[{"a":' + "[" * 100_000, None, "a.json:1, column 2: it is nested too deeply; write it with fewer levels"),
        ('{"x":' + "[" * 100_000, "y", "it is nested too deeply"),
        ('[{"a": "\\ud800"}]', None, "a.json:1, record 1: a character is incomplete; repair the record"),
        ("", None, "a.json: it is empty; remove it, or send it again"),
        (" \n", None, "a.json: it is empty"),
        (
            '[{"a": "' + "x" * 3_000_000 + '"}]',
            None,
            "a value is longer than 2,000,000 characters; if this is really data, raise",
        ),
    ],
)
def test_a_document_that_cannot_be_read_gets_one_sentence(
    tmp_path: Path, text: str, path: str | None, sentence: str
) -> None:
    put(tmp_path, text)

    with pytest.raises(ConnectorError) as refused:
        records(tmp_path, "a.json", records=path)

    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('[\n {"id": 1}\n]', "a.jsonl:1: the file is one JSON document, not an object per line; set `format: json`"),
        ('[{"id": 1}, {"id": 2}]', "a.jsonl:1: the file is one JSON document"),
        ('{\n "items": []\n}', "a.jsonl:1: the file is one JSON document"),
        ('{"a": 1}\n[{"a": 1}]', "a.jsonl:2: this is not a JSON object; write one object per line"),
        ('{"a": 1\n', "a.jsonl:1, column 8: this is not JSON; repair the line"),
        ('{"a": 1, "a": 2}\n', "a.jsonl:1: an object has the key 'a' twice"),
        ('{"a": NaN}\n', "a.jsonl:1: NaN is not JSON"),
        ("[" + " " * 3_000_000 + "]", "a.jsonl:1: it is longer than 2,000,000 bytes; set `format: json`"),
    ],
)
def test_a_file_of_json_lines_that_is_none_says_what_it_is(tmp_path: Path, text: str, sentence: str) -> None:
    put(tmp_path, text, "a.jsonl")

    with pytest.raises(FileUnreadable) as refused:
        records(tmp_path, "a.jsonl")

    assert sentence in str(refused.value)


# Lists inside records


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_each_element_of_a_list_is_a_record_with_what_is_around_it(tmp_path: Path, name: str) -> None:
    lines = "\n".join(map(json.dumps, ORDERS))
    put(tmp_path, lines if name == "a.jsonl" else f"[{lines.replace(chr(10), ',')}]", name)
    columns = {"lines.price.net": "decimal", "customer.id": "integer"}
    wanted = ["order", "lines.sku", "lines.price", "lines.price.net", "customer.id", "_row"]

    names = source(tmp_path).describe(FilesDataset(path=name, explode="lines")).names
    rows, problems = records(tmp_path, name, wanted, explode="lines", columns=columns)

    assert names == ["order", "customer", "lines.sku", "lines.price", "_file", "_row"]
    assert [(*row[:3], row[3] and float(row[3]), *row[4:]) for row in rows] == [
        ("A-1", "x", '{"net":1.5}', 1.5, 7, 1),
        ("A-1", "y", None, None, 7, 1),
        ("A-2", None, None, None, 8, 2),
        ("A-3", None, None, None, 9, 3),
        ("A-4", None, None, None, 9, 4),
    ]
    assert problems == ()


def test_values_of_a_list_and_a_list_inside_an_object_are_exploded(tmp_path: Path) -> None:
    put(tmp_path, '[{"o": 1, "tags": ["x", null, "y"]}]')
    put(tmp_path, '[{"o": {"id": 7, "lines": [{"a": 2}, {"a": 3}]}}, {"o": null}]', "b.json")

    assert records(tmp_path, "a.json", explode="tags")[0] == [("1", "x"), ("1", None), ("1", "y")]
    rows, _ = records(tmp_path, "b.json", ["o.id", "o.lines.a"], explode="o.lines", columns={"o.id": "integer"})
    assert rows == [(7, "2"), (7, "3"), (None, None)]


def test_a_list_that_cannot_be_exploded_is_refused(tmp_path: Path) -> None:
    put(tmp_path, '[{"lines": [1]},\n{"lines": {"a": 1}}]')
    put(tmp_path, '[{"lines.a": 1, "lines": [{"a": 2}]}]', "b.json")
    put(tmp_path, "a\n1\n", "c.csv")

    with pytest.raises(FileUnreadable, match=r"a\.json:2, record 2: `lines` is not a list; choose another `explode`"):
        records(tmp_path, "a.json", explode="lines")
    with pytest.raises(ColumnMissing, match=r"a\.json has no column 'line'; did you mean lines\?"):
        records(tmp_path, "a.json", explode="line")
    with pytest.raises(FileUnreadable, match=r"a record and an element of `lines` both have 'lines\.a'"):
        records(tmp_path, "b.json", explode="lines")
    with pytest.raises(FileRefused, match="`explode` is for JSON documents and JSON Lines; leave it out"):
        records(tmp_path, "c.csv", explode="a")
    with pytest.raises(FileRefused, match="`records` is for JSON documents; set `format: json`"):
        records(tmp_path, "c.csv", records="a")
    with pytest.raises(FileRefused, match="a JSON document has no malformed records and no footer"):
        records(tmp_path, "a.json", malformed="skip")


def test_two_lists_at_once_are_refused_when_the_configuration_is_read(tmp_path: Path) -> None:
    project = Project(tmp_path)
    put(tmp_path, "[]")
    project.write(
        "version: 1\nsources: {f: {type: files}}\n"
        "datasets:\n  d: {source: f, path: a.json, explode: [lines, tags]}\n"
        "rules:\n  r: {kind: duplicates, dataset: d, key: all}\n"
    )

    answer = project("check")

    assert answer.code == 2
    assert "only one list can be exploded; declare a dataset for each list" in answer.said


# Any document


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=8,
)


@pytest.mark.slow
@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.dictionaries(st.sampled_from(["a", "b", "c"]), VALUES, min_size=1), max_size=6),
    around=st.dictionaries(st.text(max_size=3).filter(lambda key: not "at".startswith(key.split(".")[0])), VALUES),
    indent=st.sampled_from([None, 1, "\t"]),
    plain=st.booleans(),
    chunk=st.integers(1, 40),
)
def test_a_document_holds_the_records_of_its_lines_wherever_a_window_ends(
    tmp_path: Path, rows: list[Any], around: dict[str, Any], indent: int | str | None, plain: bool, chunk: int
) -> None:
    def text(value: Any, form: int | str | None) -> str:
        return json.dumps(value, indent=form, ensure_ascii=plain).encode("utf-8", "replace").decode()

    put(tmp_path, text([*rows], indent))
    put(tmp_path, text({**around, "at": {"x": rows}, "z": around}, indent), "b.json")
    put(tmp_path, "".join(f"{text(row, None)}\n" for row in rows), "a.jsonl")
    wanted = ["a", "b", "c", "_row"]
    columns = dict.fromkeys("abc", "text")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(window, "CHUNK", chunk)
        document = records(tmp_path, "a.json", wanted, columns=columns)[0]
        within = records(tmp_path, "b.json", wanted, records="at.x", columns=columns)[0]

    assert document == within == records(tmp_path, "a.jsonl", wanted, columns=columns)[0]


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_cut_or_changed_document_is_read_or_refused_in_one_sentence(tmp_path: Path, data: st.DataObject) -> None:
    text = json.dumps({"n": 1.5, "x": ORDERS, "y": [True, "é\\\ud83d\ude00"]})
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    put(tmp_path, text[:start] + data.draw(st.sampled_from(["", "]", '"', "}", "[1", ",", "NaN"])) + text[end:])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(window, "CHUNK", data.draw(st.sampled_from([3, 1 << 18])))
        sentence = ""
        try:
            records(tmp_path, "a.json", records="x")
        except ConnectorError as error:
            sentence = str(error)

    assert sentence == "" or sentence.startswith("a.json")
    assert "\n" not in sentence


@pytest.mark.slow
def test_a_large_document_needs_little_memory(tmp_path: Path) -> None:
    record = json.dumps({"id": 1, "note": "x" * 200})
    put(tmp_path, f'{{"skipped": [{",".join([record] * 12_000)}], "x": [{",".join([record] * 12_000)}]}}')
    opened = source(tmp_path)
    dataset = FilesDataset(path="a.json", records="x", columns={"id": "integer"})
    tracemalloc.start()

    try:
        opened.describe(dataset)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        opened.close()

    assert (tmp_path / "a.json").stat().st_size > 5_000_000
    assert peak < 3_000_000


# Suggestions


@pytest.mark.slow
@pytest.mark.parametrize("text", ['{"meta": {"n": [1]}, "rows": %s}', "%s"])
def test_the_only_array_is_suggested_and_accepted(tmp_path: Path, text: str) -> None:
    project = Project(tmp_path)
    put(
        tmp_path,
        codecs.BOM_UTF8
        + (text % json.dumps([{"id": n, "invoice_no": f"R-{n % 39}", "amount": "1.50"} for n in range(40)])).encode(),
    )

    suggested = project("suggest", "./a.json")

    assert suggested.code == 0, suggested.said
    assert ("    records: rows  # the only array of objects" in suggested.out) == ("rows" in text)
    project.write(suggested.out)
    assert project("check").code == 0


def test_of_several_arrays_a_person_chooses(tmp_path: Path) -> None:
    put(tmp_path, '{"x": [{"a": 1}], "y": [{"b": 1}]}')

    answer = Project(tmp_path)("suggest", "./a.json")

    assert "Skipped `a`: a.json: the document has no array at its top; set `records: x` or `records: y`" in answer.out


@pytest.mark.parametrize(("name", "text"), [("a.json", "[{}, {}]"), ("a.jsonl", "{}\n{}\n")])
def test_records_without_fields_have_places(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)

    assert records(tmp_path, name, ["_file", "_row"])[0] == [(name, 1), (name, 2)]
