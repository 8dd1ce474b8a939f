"""`check` proposes the decimal mark, types and date formats that read every value of the first records."""

import re
import subprocess
import sys

import pytest
import yaml

from tests.support.cli import Project
from tests.support.files import records

pytestmark = pytest.mark.slow


def answered(folder, header, rows, dataset=""):
    """(exit code, lines about the dataset)."""
    (folder / "a.csv").write_text("\n".join([header, *rows]) + "\n", encoding="cp1252")
    (folder / "reconcile.yaml").write_text(
        f"""
sources: {{f: {{type: files}}}}
datasets: {{d: {{source: f, path: a.csv, encoding: cp1252{dataset}}}}}
rules: {{r: {{kind: duplicates, dataset: d, key: all}}}}
"""
    )
    done = subprocess.run(
        [sys.executable, "-m", "reconcile", "check"], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.returncode, [line for line in (done.stdout + done.stderr).splitlines() if "dataset d: " in line]


def checked(folder, header, rows, dataset=""):
    return [line for line in answered(folder, header, rows, dataset)[1] if line.startswith("note")]


def proposed(lines):
    """The YAML between backticks, as settings."""
    settings = {}
    for line in lines:
        for part in line.split("`")[1::2]:
            value = yaml.safe_load(part)
            settings |= value if isinstance(value, dict) else {}
    return settings


def test_a_german_export_is_read_whole_by_what_is_proposed(tmp_path):
    rows = ["1;Köln;1.234,50;26.09.2026;01.03.2026 10:15", "2;Ulm;0,125;01.10.26;02.03.2026 11:00"]

    settings = proposed(checked(tmp_path, "id;ort;betrag;tag;um", rows))

    assert settings == {
        "decimal": ",",
        "columns": {"betrag": "decimal", "tag": "date %d.%m.%Y | %d.%m.%y", "um": "instant %d.%m.%Y %H:%M"},
    }
    assert records(tmp_path, "a.csv", encoding="cp1252", **settings)[1] == ()


@pytest.mark.parametrize(
    ("values", "declared", "settings"),
    [
        (["1,50", "12,25"], "decimal", {"decimal": ","}),
        (["0,125", "1,234"], "decimal", {"decimal": ","}),
        (["1,234", "1,234.50", "7"], "decimal", {"decimal": "."}),
        (["1.50", "2"], "decimal", {}),
        (["26.09.2026", "1.10.2026"], "date", {"columns": {"v": "date %d.%m.%Y"}}),
        (["09/26/2026", "01/10/2026"], None, {"columns": {"v": "date %m/%d/%Y"}}),
        (["2026-09-26"], None, {"columns": {"v": "date"}}),
        (["2026-09-26T10:00:00Z"], None, {"columns": {"v": "instant"}}),
        (["1.50", "2"], None, {"columns": {"v": "decimal"}}),
        (["0012", "4711"], None, {}),
        (["x", "1.50"], None, {}),
        (["26.09.2026"], "text", {}),
    ],
)  # fmt: skip
def test_only_what_reads_every_value_is_proposed(tmp_path, values, declared, settings):
    output = f", columns: {{v: {declared}}}" if declared else ""

    assert proposed(checked(tmp_path, "id;v", [f"{n};{value}" for n, value in enumerate(values)], output)) == settings


def test_what_the_values_do_not_tell_is_asked(tmp_path):
    [line] = checked(tmp_path, "id;v", ["1;1,234", "2;5,678"], ", columns: {v: decimal}")

    assert line.endswith('mean 1234 with `decimal: "."`, or 1.234 with `decimal: ","`; set one of them')
    assert "5,678" not in line


def test_days_that_may_be_months_are_asked_for(tmp_path):
    [line] = checked(tmp_path, "id;v", ["1;01/02/2026", "2;03/04/2026"])

    assert line.endswith("with `columns: {v: date %d/%m/%Y}` or `columns: {v: date %m/%d/%Y}`; set one of them")


@pytest.mark.parametrize("declared", ["", ", columns: {v: decimal}"])
def test_one_point_before_three_digits_is_asked_for(tmp_path, declared):
    lines = checked(tmp_path, "id;v;tag", ["1;1.234;26.09.2026", "2;2.500;27.09.2026", "3;750;28.09.2026"], declared)

    assert lines[-1].endswith(
        'numbers like `1.234` mean 1.234 with `decimal: "."`, or 1234 with `decimal: ","`; set one of them'
    )
    assert proposed(lines[:-1]) == {"columns": {"tag": "date %d.%m.%Y"}}


def test_another_column_tells_which_mark_a_point_is(tmp_path):
    settings = proposed(checked(tmp_path, "id;v;w", ["1;1.234;0,50", "2;2.500;1,5"]))

    assert settings == {"decimal": ",", "columns": {"v": "decimal", "w": "decimal"}}


@pytest.mark.parametrize(
    ("values", "word", "remedy"),
    [
        (["-1.234,56", "7,50"], "decimal", 'decimal: ","'),
        (["26.09.26", "27.09.26"], "date %d.%m.%Y", "columns: {v: date %d.%m.%y}"),
        (["12.50", "7.99"], "integer", "columns: {v: decimal}"),
    ],
)
def test_a_declared_type_that_reads_no_value_is_wrong(tmp_path, values, word, remedy):
    rows = [f"{n};{value}" for n, value in enumerate(values)]
    code, lines = answered(tmp_path, "id;v", rows, f", columns: {{v: {word}}}")

    assert code == 2
    told = next(line for line in lines if line.startswith("error"))
    assert re.sub(r":\d+:\d+:", ":N:N:", told) == (
        f"error  dataset d: reconcile.yaml:N:N: 0 of 2 values of `v` can be read as {word}; `{remedy}` reads all"
    )
    assert word == "integer" or any(line.startswith("note") and f"`{remedy}`" in line for line in lines)


def test_a_declared_type_that_reads_some_values_is_remarked_with_the_first_place(tmp_path):
    code, lines = answered(tmp_path, "id;v", ["1;1.50", "2;secret 12345", "3;2.50"], ", columns: {v: decimal}")

    assert code == 0
    remark = "2 of 3 values of `v` can be read as decimal; the first unreadable value is at a.csv:3"
    assert f"note   dataset d: {remark}" in lines


def test_an_odd_text_is_proposed_as_a_null_value(tmp_path):
    rows = [f"{n};{n}.234,56" for n in range(1, 200)] + ["200;n.v."]
    lines = checked(tmp_path, "id;v", rows)

    assert proposed(lines) == {"decimal": ",", "columns": {"v": "decimal"}, "null_values": ["n.v."]}
    assert lines[-1].endswith(
        '199 of 200 values of `v` can be read as decimal; `n.v.` at a.csv:201: `null_values: ["n.v."]`'
    )
    assert "n.v." not in "".join(checked(tmp_path, "id;v", rows, ", pii: [v]"))


@pytest.mark.parametrize(
    ("header", "rows", "advice"),
    [
        ("Konto;1;2", ["a;b;c;d", "1;2;3;4", "1;2;3;4"], "set `skip: 1` if the header is on line 2"),
        ("Konto;1", ["x;y;z", "a;b;c;d", "1;2;3;4", "1;2;3;4"], "set `skip: 2` if the header is on line 3"),
        ("a;b;c", ["1;2;3", "1;2;3", "Summe;-12.345,67"], "leave out totals at the end with `skip_footer`"),
        ("a;b;c", ["1;2;3", "1;2", *["1;2;3"] * 9], "leave the record out with `malformed: skip`"),
    ],
)
def test_a_record_of_another_width_gets_advice_for_its_place(tmp_path, header, rows, advice):
    code, [line, *remarks] = answered(tmp_path, header, rows, ', delimiter: ";"')

    assert code in (2, 3)
    assert advice in line
    assert [remark.split("; ")[1] in advice for remark in remarks] in ([], [True])


def test_texts_with_invisible_characters_are_counted(tmp_path):
    (tmp_path / "a.csv").write_text("id,name,note\n1,Acme,❤\ufe0f\n2,Ac\u200bme,\u200d\n3,\ufeffAcme,x\n", "utf-8")
    (tmp_path / "reconcile.yaml").write_text(
        "version: 1\nsources: {f: {type: files}}\ndatasets: {d: {source: f, path: a.csv, id: id}}\n"
        "rules: {r: {kind: duplicates, dataset: d, key: [{name: [trim]}]}}\n"
    )

    checked_project = Project(tmp_path)("check")
    suggested = Project(tmp_path)("suggest", "a.csv")

    sentence = (
        "2 values of `name` in the first records have invisible characters, such as U+200B; "
        "`trim`, `squeeze` and `nfkc` drop them from a key"
    )
    assert sentence in checked_project.said
    assert sentence in suggested.out
    assert "`note`" not in checked_project.said
