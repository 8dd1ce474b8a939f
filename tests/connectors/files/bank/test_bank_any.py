"""Files of banks that are cut, damaged or hostile: one sentence for each, and never another number of entries."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pytest

from connectors.errors import ColumnMissing, ConnectorError, DatasetMissing
from connectors.files.source import FilesDataset
from tests.connectors.files.bank.statements import MT940, QIF, camt, camt_entry, ofx, ofx_statement, ofx_transaction
from tests.support.files import records, source

LARGEST_BATCH = 1_000


@dataclass(frozen=True)
class Sample:
    """A valid file, the settings that read it, how many entries it has, and a file with a number of entries."""

    name: str
    content: str
    entries: int
    many: Callable[[int], str]
    settings: dict[str, str]


def many_mt940(number: int) -> str:
    entries = ":61:2601020102C1,00NTRFX\n:86:Text\n" * number
    return f":20:A\n:25:1\n:28C:1\n:60F:C260101EUR0,\n{entries}:62F:C260102EUR{number},\n-\n"


SAMPLES = {
    "camt": Sample(
        "s.xml",
        camt(camt_entry("20.50"), camt_entry("1.00", "DBIT", ref="R-2"), closing="119.50"),
        2,
        lambda number: camt(*[camt_entry("1.00")] * number, opening="0", closing=f"{number}.00"),
        {},
    ),
    "mt940": Sample("s.sta", MT940, 3, many_mt940, {}),
    "ofx": Sample(
        "s.ofx",
        ofx(ofx_statement(ofx_transaction(), ofx_transaction("-5.00", "F-2"))),
        2,
        lambda number: ofx(ofx_statement(*[ofx_transaction()] * number)),
        {},
    ),
    "qif": Sample(
        "s.qif", QIF, 2, lambda number: "!Type:Bank\n" + "D01/31/26\nT-1.00\n^\n" * number, {"date_order": "mdy"}
    ),
}
JUNK = ["\0", "<", ">", "&", ":", "\n", "^", "-", "\ud800", "9" * 40, "{4:", "]]>", "</", "?20", "Ä", ",", "!Type:Cat"]
every = pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)


def attempt(folder: Path, sample: Sample, content: str | bytes) -> list[tuple[object, ...]] | str:
    """The amounts and currencies of the entries, or the sentence that refuses them."""
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    (folder / sample.name).write_bytes(data)
    try:
        return records(folder, sample.name, ["amount", "currency"], **sample.settings)[0]
    except ConnectorError as error:
        return str(error)


def is_one_sentence(text: str, sample: Sample) -> bool:
    return text.startswith(sample.name) and "\n" not in text and len(text) < 300 and "Traceback" not in text


@every
def test_a_file_that_is_cut_is_refused_wherever_it_ends(tmp_path: Path, sample: Sample) -> None:
    """QIF has no end: it is noticed inside a record, and gives only whole records otherwise."""
    whole = attempt(tmp_path, sample, sample.content)
    assert len(whole) == sample.entries

    for end in range(0, len(sample.content.rstrip()) - 2, 11):
        result = attempt(tmp_path, sample, sample.content[:end])
        if isinstance(result, str):
            assert is_one_sentence(result, sample), result
        else:
            is_whole_but_for_its_end = ":62F:" in sample.content[:end] or sample.name == "s.qif"
            assert is_whole_but_for_its_end, end
            assert result == whole[: len(result)]


@every
@pytest.mark.parametrize("seed", range(2))
def test_random_damage_ends_in_a_sentence_or_in_as_many_entries(tmp_path: Path, sample: Sample, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(25):
        content = sample.content
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(content))
            content = content[:at] + chance.choice(JUNK) + content[at + chance.randint(0, 5) :]

        result = attempt(tmp_path, sample, content)

        if isinstance(result, str):
            assert is_one_sentence(result, sample), result
        elif sample.name != "s.qif":  # `^` makes two records of one, and a list hides what follows
            assert len(result) == sample.entries, content


@pytest.mark.slow
@every
def test_ten_megabytes_on_one_line_end_in_a_sentence(tmp_path: Path, sample: Sample) -> None:
    first = next(line for line in sample.content.splitlines() if line)
    for line in ("x" * 10_000_000, "<A>" * 3_000_000, first + "1" * 10_000_000, "<!--" * 2_000_000):
        result = attempt(tmp_path, sample, line)

        assert isinstance(result, str)
        assert is_one_sentence(result, sample), result[:500]


@every
@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "cp037", "utf-8-sig"])
def test_another_encoding_gives_the_same_entries_or_a_sentence(tmp_path: Path, sample: Sample, encoding: str) -> None:
    whole = attempt(tmp_path, sample, sample.content)
    content = sample.content.replace('encoding="UTF-8"', "")

    result = attempt(tmp_path, sample, content.encode(encoding))

    assert result == whole or (isinstance(result, str) and is_one_sentence(result, sample)), result
    assert encoding != "utf-8-sig" or result == whole


@every
@pytest.mark.parametrize("data", [b"", b"\0" * 100, b"\xff\xfe", b"PK\x03\x04", b"\r\n\r\n", b"a,b\n1,2\n"])
def test_another_file_is_refused_in_one_sentence(tmp_path: Path, sample: Sample, data: bytes) -> None:
    result = attempt(tmp_path, sample, data)

    assert isinstance(result, str)
    assert is_one_sentence(result, sample), result


@every
def test_no_sentence_names_what_a_person_wrote(tmp_path: Path, sample: Sample) -> None:
    personal = ("4711", "MUSTER", "Mueller", "Cafe", "1001", "12030000", "0532013000")
    for end in range(0, len(sample.content), 23):
        result = attempt(tmp_path, sample, sample.content[:end] + "\n<?~" + sample.content[end + 5 :])

        assert not isinstance(result, str) or not any(word in result for word in personal), result


# The port of connectors, whose suite needs columns of its own choice


@every
def test_describing_tells_what_scanning_gives(tmp_path: Path, sample: Sample) -> None:
    (tmp_path / sample.name).write_text(sample.content)
    opened, dataset = source(tmp_path), FilesDataset(path=sample.name, **sample.settings)
    described = opened.describe(dataset)

    scan = opened.scan(dataset, described.names)
    table = scan.reader.read_all()

    assert table.schema.types == described.types
    assert scan.problems() == ()
    assert table.num_rows == sample.entries
    assert table.column("_row").to_pylist() == list(range(1, sample.entries + 1))
    assert opened.scan(dataset, ["currency", "amount"]).reader.read_all().column_names == ["currency", "amount"]
    opened.close()


@pytest.mark.slow
@every
def test_many_entries_arrive_in_bounded_batches_and_complete(
    tmp_path: Path, sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("connectors.files.source.ROWS", LARGEST_BATCH)
    number = 2 * LARGEST_BATCH + 100
    (tmp_path / sample.name).write_text(sample.many(number))
    opened, dataset = source(tmp_path), FilesDataset(path=sample.name, **sample.settings)

    early = opened.scan(dataset, ["amount"])
    assert early.reader.read_next_batch().num_rows > 0
    early.close()
    early.close()
    batches = list(opened.scan(dataset, ["amount"]).reader)

    assert max(batch.num_rows for batch in batches) <= LARGEST_BATCH
    assert sum(batch.num_rows for batch in batches) == number
    assert {abs(amount) for amount in batches[-1].column(0).to_pylist()} <= {Decimal(1), Decimal(10)}
    opened.close()


@every
def test_missing_files_and_columns_are_told_with_the_nearest_name(tmp_path: Path, sample: Sample) -> None:
    (tmp_path / sample.name).write_text(sample.content)
    opened = source(tmp_path)

    with pytest.raises(DatasetMissing, match=sample.name):
        opened.describe(FilesDataset(path="x" + sample.name[1:]))
    with pytest.raises(ColumnMissing, match="amount"):
        opened.scan(FilesDataset(path=sample.name, **sample.settings), ["amuont"])
    assert opened.datasets() == [sample.name]


def test_entities_reach_neither_the_network_nor_a_file(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    for name, sample in (("camt", SAMPLES["camt"]), ("ofx", SAMPLES["ofx"])):
        root = "Document" if name == "camt" else "OFX"
        declaration = f'<!DOCTYPE {root} [<!ENTITY x SYSTEM "file://{tmp_path}/secret.txt">]>\n<{root}'
        content = sample.content.replace(f"<{root}", declaration, 1).replace("ESCT", "&x;").replace("Cafe", "&x;")

        result = attempt(tmp_path, sample, content)

        assert isinstance(result, str)
        assert "declares a document type" in result or "not OFX" in result
