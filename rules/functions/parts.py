"""Functions that join texts and take parts of them. Each form evaluates its text once, so calls can be nested."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from rules.functions.dialects import arguments
from rules.functions.text import WHITE_SPACE, replaced


class joined(FunctionElement[str]):  # noqa: N801  functions in a statement read like functions
    """The texts one after another; null if any is null. Not on MariaDB, where a long result is null."""

    type = sa.Text()
    name = "joined"
    inherit_cache = True


class ending(FunctionElement[str]):  # noqa: N801
    """`ending(text, n)`: the last n characters; a shorter text whole. Not on SQLite, where a NUL ends a text."""

    type = sa.Text()
    name = "ending"
    inherit_cache = True


class text_part(FunctionElement[str]):  # noqa: N801
    """`text_part(text, form)`: `form` of the text, compiled after it, so that many nested calls need little stack."""

    type = sa.Text()
    name = "text_part"
    inherit_cache = False  # a cache would not tell two forms apart

    def __init__(self, text: sa.ColumnElement[Any], form: Callable[[sa.ColumnElement[Any]], Any]) -> None:
        super().__init__(text)
        self.form = form


class _Compiled(sa.ColumnElement[str]):
    """SQL that is already compiled."""

    type = sa.Text()
    inherit_cache = False

    def __init__(self, sql: str) -> None:
        self.sql = sql


def not_blank(text: sa.ColumnElement[Any], dialect: str) -> sa.ColumnElement[Any]:
    """Return the text, or null where it is empty or white space only. Not on SQLite."""
    begin, end = (r"\A", r"\z") if dialect in ("mysql", "mariadb") else ("^", "$")
    pattern = sa.literal(f"{begin}[{WHITE_SPACE}]*{end}")
    return sa.func.nullif(replaced(text, pattern, sa.literal("")), sa.literal(""), type_=sa.Text())


@compiles(text_part)
def _text_part(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    [text] = arguments(element, compiler, **kw)
    return compiler.process(element.form(_Compiled(text)), **kw)


@compiles(_Compiled)
def _compiled(element: Any, _compiler: SQLCompiler, **_kw: Any) -> str:
    return str(element.sql)


@compiles(joined)
def _joined(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    return f"({' || '.join(arguments(element, compiler, **kw))})"


@compiles(ending)
def _ending(element: Any, compiler: SQLCompiler, **kw: Any) -> str:
    text, number = arguments(element, compiler, **kw)
    return f"right({text}, {number})"
