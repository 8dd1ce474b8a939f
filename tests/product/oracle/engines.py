"""Tables and files of the oracle's cases, their configuration, and what the product says about them."""

import csv
import datetime as dt
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import sqlalchemy as sa
import xlsxwriter
from sqlalchemy.dialects import mysql

import reconcile
from reconcile.config import ConfigProblems
from tests.product.oracle.case import Answer, Case, Cell, Column, Group
from tests.product.oracle.expressions import SLOT
from tests.product.oracle.values import Kind, Value, in_utc

Json = dict[str, Any]
TYPES: Mapping[Kind, sa.types.TypeEngine[Any]] = {
    "text": sa.Text(),
    "integer": sa.BigInteger(),
    "decimal": sa.Numeric(20, 4),
    "float": sa.Double(),
    "boolean": sa.Boolean(),
    "date": sa.Date(),
    "instant": sa.DateTime(timezone=True).with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb"),
}
TIMES = ("date", "instant")


@dataclass(frozen=True)
class Refused:
    """The product does not run the rule, and says why; `broken` where it ends with an exception."""

    sentence: str
    broken: bool = False


@dataclass(frozen=True)
class Home:
    """Where cases lie and how they run: CSV files, workbooks, or a database with its engine."""

    name: str
    engine: str
    url: str | None = None

    @property
    def holds_times(self) -> bool:
        """SQLite has no type of a date or a time."""
        return self.url is not None and not self.url.startswith("sqlite")


# Writing


def as_text(column: Column, cell: Cell, mark: str) -> str | None:
    """A cell as a file holds it."""
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, dt.datetime):
        return cell.isoformat()
    if isinstance(cell, dt.date):
        return cell.strftime(column.formats[0] if column.formats else "%Y-%m-%d")
    return str(cell).replace(".", mark or ".")


def _is_typed(column: Column, home: Home) -> bool:
    return home.url is not None and not column.as_text and (home.holds_times or column.kind not in TIMES)


def write_tables(engine: sa.Engine, cases: Iterable[Case], home: Home) -> None:
    """A table for each case; its name is that of the case."""
    with engine.begin() as connection:
        for case in cases:
            table = sa.Table(name_of(case), sa.MetaData(), *(_sql_column(column, home) for column in case.columns))
            table.drop(connection, checkfirst=True)
            table.create(connection)
            if case.rows:
                rows = [{c.name: _sql_cell(c, row[c.name], case, home) for c in case.columns} for row in case.rows]
                connection.execute(table.insert(), rows)


def write_parquet(folder: Path, cases: Iterable[Case], home: Home) -> None:
    """A Parquet file for each case."""
    for case in cases:
        columns = {
            column.name: pa.array(
                [_sql_cell(column, row[column.name], case, home) for row in case.rows], _arrow_type(column, home)
            )
            for column in case.columns
        }
        pq.write_table(pa.table(columns), folder / f"{name_of(case)}.parquet")


def _arrow_type(column: Column, home: Home) -> pa.DataType:
    kind = column.kind if _is_typed(column, home) else "text"
    types = {"text": pa.string(), "integer": pa.int64(), "decimal": pa.decimal128(20, 4), "float": pa.float64()}
    types |= {"boolean": pa.bool_(), "date": pa.date32()}
    types["instant"] = pa.timestamp("us", "UTC") if column.aware else pa.timestamp("us")
    return types[kind]


def _sql_column(column: Column, home: Home) -> sa.Column[Any]:
    if column.kind == "text" and column.aware and home.name == "sqlite":
        return sa.Column(column.name, sa.Text(collation="NOCASE"), nullable=True)
    kind: sa.types.TypeEngine[Any] = TYPES[column.kind if _is_typed(column, home) else "text"]
    if column.kind == "instant" and not column.aware and kind is not TYPES["text"]:
        kind = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")
    return sa.Column(column.name, kind, nullable=True, autoincrement=False)


def _sql_cell(column: Column, cell: Cell, case: Case, home: Home) -> Cell:
    if not _is_typed(column, home):
        return as_text(column, cell, case.mark)
    keeps_zones = not home.name.startswith(("mariadb", "mysql"))
    if isinstance(cell, dt.datetime) and column.aware and keeps_zones:
        return in_utc(cell, case.zone)
    return cell


def write_files(folder: Path, cases: Iterable[Case]) -> None:
    """A CSV file for each case."""
    for case in cases:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([column.name for column in case.columns])
        for row in case.rows:
            writer.writerow([as_text(column, row[column.name], case.mark) for column in case.columns])
        (folder / f"{name_of(case)}.csv").write_text(text.getvalue(), encoding="utf-8")


def write_workbook(folder: Path, cases: Iterable[Case]) -> None:
    """A sheet for each case, in one workbook: numbers, dates and truths are cells of their own types."""
    with xlsxwriter.Workbook(folder / WORKBOOK) as workbook:
        formats = {kind: workbook.add_format({"num_format": shown}) for kind, shown in SHOWN_AS.items()}
        for case in cases:
            sheet = workbook.add_worksheet(name_of(case))
            for at, column in enumerate(case.columns):
                sheet.write_string(0, at, column.name)
                for number, row in enumerate(case.rows, 1):
                    cell = _workbook_cell(column, row[column.name], case)
                    if isinstance(cell, str):
                        sheet.write_string(number, at, cell)
                    else:
                        sheet.write(number, at, cell, formats.get(column.kind))


WORKBOOK = "cases.xlsx"
SHOWN_AS: Mapping[Kind, str] = {"date": "yyyy-mm-dd", "instant": "yyyy-mm-dd hh:mm:ss.000"}


def _workbook_cell(column: Column, cell: Cell, case: Case) -> Cell:
    """Cells know no time zone, no day before March 1900, and only numbers of 15 digits: the rest are texts."""
    if column.as_text or column.kind == "text":
        return as_text(column, cell, case.mark)
    if isinstance(cell, dt.datetime) and (cell.tzinfo is not None or cell.microsecond % 1000):
        return as_text(column, cell, case.mark)
    if isinstance(cell, dt.date) and cell.strftime("%Y%m") < "190003":
        return as_text(column, cell, case.mark)
    if isinstance(cell, int | float | Decimal) and not isinstance(cell, bool) and Decimal(f"{cell:.15g}") != cell:
        return as_text(column, cell, case.mark)
    return cell


def name_of(case: Case) -> str:
    """The name of its table, dataset and rule."""
    return f"case_{case.seed}"


FILES: Mapping[str, Json] = {
    "csv": {"type": "files", "root": "."},
    "workbook": {"type": "workbook", "path": WORKBOOK},
}
PLACES: Mapping[str, Callable[[str], Json]] = {
    "csv": lambda name: {"path": f"{name}.csv", "delimiter": ","},
    "workbook": lambda name: {"sheet": name},
}


def dataset_of(case: Case, home: Home) -> Json:
    """The dataset's settings in YAML."""
    declared = {c.name: c.declared for c in case.columns if not _is_typed(c, home) and c.kind != "text"}
    derived = {name: {"is": expression.written} for name, expression in case.derived.items()}
    if home.name == "spark":
        place = {"path": f"{name_of(case)}.parquet"}
    else:
        place = {"table": name_of(case)} if home.url else PLACES[home.name](name_of(case))
    dataset: Json = {"source": "home", **place, "timezone": case.zone}
    dataset |= {"columns": {**declared, **derived}} if declared or derived else {}
    dataset |= {"decimal": case.mark} if case.mark else {}
    dataset |= {"id": list(case.id)} if case.id else {}
    dataset |= {"where": case.where.written} if case.where else {}
    dataset |= {"null_values": list(case.null_values)} if case.null_values else {}
    dataset |= {"money": dict(zip(("amount", "currency"), case.money, strict=True))} if case.money else {}
    return dataset


def rule_of(case: Case, engine: str) -> Json:
    """The rule's settings in YAML."""
    rule = case.rule
    key = [{name: list(chain)} if chain else name for name, chain in rule.key] if rule.key else "all"
    written: Json = {"kind": "duplicates", "dataset": name_of(case), "key": key, "engine": engine}
    nulls = dict.fromkeys(sorted(rule.nulls), "match") | dict.fromkeys(sorted(rule.open), "any")
    written |= {"nulls": nulls} if nulls else {}
    written |= {"where": rule.where.written} if rule.where else {}
    written |= {rule.cut.way: rule.cut.written} if rule.cut else {}
    written |= {"repeats": rule.repeats} if rule.repeats else {}
    written |= {"distinct": rule.distinct} if rule.distinct else {}
    written |= {"having": rule.having.written} if rule.having else {}
    written |= {"minimum": rule.minimum} if rule.minimum != 2 else {}
    written |= {"keep": list(rule.keep)} if rule.keep else {}
    written |= {"except": [list(pair) for pair in rule.excepted]} if rule.excepted else {}
    return written


# Asking


def answers(folder: Path, cases: Sequence[Case], home: Home) -> dict[int, Answer | Refused | None]:
    """What the product says about each case, by its seed."""
    try:
        report = _run(folder, cases, home)
    except ConfigProblems as problems:
        refused = {_seed_of(problem): Refused(str(problem)) for problem in problems.problems}
        return refused | answers(folder, [case for case in cases if case.seed not in refused], home)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is told with the case that it belongs to
        if len(cases) == 1:
            return {cases[0].seed: Refused(repr(error), broken=True)}
        half = len(cases) // 2
        return answers(folder, cases[:half], home) | answers(folder, cases[half:], home)
    return {case.seed: _answer(case, report, home) for case in cases}


def _yaml(document: Any) -> str:
    """JSON, which is YAML once no character is written as two escapes."""
    pair = re.compile(r"\\ud[89ab]..\\ud[c-f]..")
    return pair.sub(lambda match: str(json.loads(f'"{match[0]}"')), json.dumps(document))


def _run(folder: Path, cases: Sequence[Case], home: Home) -> Json:
    if not cases:
        return {"rules": [], "findings": []}
    kind = "spark" if home.name == "spark" else "sql"
    source = {"type": kind, "url": home.url} if home.url else FILES[home.name]
    for case in cases:
        name = name_of(case)
        part = {"datasets": {name: dataset_of(case, home)}, "rules": {name: rule_of(case, home.engine)}}
        (folder / f"{name}.yaml").write_text(_yaml(part), encoding="utf-8")
    config = {
        "version": 1,
        "state": "sqlite:///state.db",
        "sources": {"home": source},
        "include": [f"{name_of(case)}.yaml" for case in cases],
        "jobs": {"all": {"rules": "all", "existing": "report"}},
    }
    (folder / "reconcile.yaml").write_text(_yaml(config), encoding="utf-8")
    with reconcile.load(folder / "reconcile.yaml") as project:
        report: Json = project.run(slot=SLOT.isoformat(), dry_run=True).to_json()
    return report


def _seed_of(problem: Any) -> int:
    return int(Path(str(problem.file)).stem.removeprefix("case_"))


def _answer(case: Case, report: Json, home: Home) -> Answer | Refused | None:
    [output] = [rule for rule in report["rules"] if rule["rule"] == name_of(case)]
    if "compared no records" in output.get("failed", "") or "can't read" in output.get("failed", ""):
        return None
    if "failed" in output:
        return Refused(output["failed"])
    skipped = {
        (entry["column"], _reason(entry)): entry["records"]
        for entry in output["skipped"]
        if "read_as" not in entry and entry["column"] not in ("id", ", ".join(case.id))
    }
    unread: Counter[str] = Counter()
    for entry in output["skipped"]:
        if "read_as" in entry:
            unread[entry["column"]] += entry["records"]
    findings = [finding for finding in report["findings"] if finding["rule"] == name_of(case)]
    assert len(findings) == output["groups"], (len(findings), output)
    groups = frozenset(_group(case, finding) for finding in findings)
    return Answer(
        output["read"], output["scanned"], skipped, dict(unread) if home.engine == "embedded" else None, groups
    )


def _reason(entry: Json) -> str:
    if entry["column"] != "where":
        return str(entry["reason"])
    return "dataset" if "dataset" in entry["reason"] else "rule"


def _group(case: Case, finding: Json) -> Group:
    ids = [tuple(map(_exact, record)) for record in (finding["keeper"], *finding["surplus"])]
    if not case.id:
        ids = [(Decimal(row - 1),) if case.is_file else () for _, row in finding.get("places", [(0, 0)] * len(ids))]
    counted = (name for name, chain in case.rule.key or () if {"year", "weekday"} & {*map(str, chain)})
    kinds = case.kinds | dict.fromkeys(counted, "integer")
    key = tuple((name, _key_value(value, kinds[name])) for name, value in finding["key"].items())
    money = tuple(sorted((code, Decimal(amount)) for code, amount in finding.get("money", {}).items()))
    nearby = finding.get("nearby", {}).get("records", 0)
    number = finding.get("repetition", {}).get("number", 0)
    return Group(ids[0], tuple(sorted(ids[1:], key=repr)), key, money, number, nearby)


def _exact(value: Any) -> Any:
    return Decimal(value) if isinstance(value, int) else value


def _key_value(value: Any, kind: Kind) -> Value:
    if value is None:
        return None
    if kind in ("integer", "decimal", "float"):
        return Decimal(str(value))
    return value if isinstance(value, bool) else str(value)


def comparable(answer: Answer | None) -> Answer | None:
    """The oracle's answer with key values as a report writes them."""

    def written(value: Value) -> Value:
        if isinstance(value, dt.datetime):
            return value.isoformat().replace("+00:00", "Z")
        return value.isoformat() if isinstance(value, dt.date) else value

    if answer is None:
        return None
    groups = (replace(g, key=tuple((name, written(value)) for name, value in g.key)) for g in answer.groups)
    return replace(answer, groups=frozenset(groups))
