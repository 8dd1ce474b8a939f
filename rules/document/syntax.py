"""Sentences for YAML that PyYAML cannot read: one per mistake, about the line, without parser terms.

PyYAML has two parsers with slightly different errors. We rely on the few words both share and on the text itself, so
the sentences are the same with either parser.
"""

from __future__ import annotations

import re
from typing import Any

from rules.document.mistakes import short

_GLUED = re.compile(r"^(?P<lead>\s*(?:- +)*)(?P<key>[\w.-]+):(?P<value>[^\s:/][^:]*)$")
_LATER_COLON = re.compile(r"^\s*(?:- +)*[^\s'\"{\[][^:]*:\s+(?P<value>[^'\"\[{|>].*?:(?:\s.*|$))")

Told = tuple[int, int, str]  # line and column, from 1, and the sentence


def explain(text: str, error: Exception) -> Told:
    """Return line, column and sentence for an error of PyYAML's parser."""
    lines = re.split("\r\n|[\n\r\x85\u2028\u2029]", text)
    problem = str(getattr(error, "problem", None) or error)
    mark = getattr(error, "problem_mark", None)
    opened = getattr(error, "context_mark", None)
    if mark is None:
        return 1, 1, "this text cannot be read as YAML; check it for unusual characters"
    line, column = min(mark.line, len(lines) - 1), mark.column
    for find in (_tab, _quote, _colon, _escape, _begins, _flow, _block):
        mistake = find(lines, line, column, problem, opened)
        if mistake is not None:
            return mistake[0] + 1, mistake[1] + 1, mistake[2]
    return line + 1, column + 1, "this is not YAML; check the indentation, and quote text with special characters"


def _tab(lines: list[str], line: int, column: int, _problem: str, _opened: Any) -> Told | None:
    indent = lines[line][: len(lines[line]) - len(lines[line].lstrip())]
    at = indent.find("\t")
    if at < 0 and lines[line][column : column + 1] == "\t":
        at = column
    if at < 0:
        return None
    return line, at, "tab found; YAML is indented with spaces, so replace the tab with spaces"


def _quote(lines: list[str], _line: int, _column: int, problem: str, opened: Any) -> Told | None:
    if "unexpected end of stream" not in problem or opened is None:
        return None
    mark = lines[opened.line][opened.column : opened.column + 1]
    return opened.line, opened.column, f"the text that begins here with {mark} is never closed; add the closing {mark}"


def _colon(lines: list[str], line: int, column: int, problem: str, _opened: Any) -> Told | None:
    if "mapping values are not allowed" not in problem:
        return None
    previous = _previous_content(lines, line)
    for at in (line, previous):
        glued = _GLUED.match(lines[at].split(" #")[0].rstrip()) if at is not None else None
        if at is not None and glued:
            spaced = short(f"{glued['key']}: {glued['value']}")
            return at, len(glued["lead"]) + len(glued["key"]), f"a space is missing after the colon; write `{spaced}`"
    if _LATER_COLON.match(lines[line]):
        return line, column, "this value contains a second colon; put the whole value in quotes"
    if previous is not None and not lines[previous].rstrip().endswith(":"):
        return previous, _indent(lines[previous]), "this line needs a colon, or the next one is indented too far"
    return line, column, "this colon is not expected here; check the indentation, or put the value in quotes"


def _escape(lines: list[str], line: int, column: int, problem: str, _opened: Any) -> Told | None:
    if "escape character" not in problem:
        return None
    at = max(lines[line].rfind("\\", 0, column + 1), 0)
    escape = lines[line][at : at + 2]
    return line, at, f"`{escape}` is not an escape in double quotes; use single quotes, or write `\\{escape}`"


def _begins(lines: list[str], line: int, column: int, problem: str, _opened: Any) -> Told | None:
    text = lines[line][column:].rstrip()
    if "cannot start any token" in problem and text:
        return line, column, f"a value cannot begin with `{text[0]}`; put it in quotes"
    if "alphabetic or numeric character" in problem:
        at = max(lines[line].rfind("*", 0, column), lines[line].rfind("&", 0, column), 0)
        return line, at, f"a value cannot begin with `{lines[line][at]}`; put it in quotes"
    if "indentation indicator" in problem or "comment or line break" in problem or "comment or a line break" in problem:
        at = max(lines[line].rfind("|", 0, column + 1), lines[line].rfind(">", 0, column + 1), 0)
        return line, at, f"a value cannot begin with `{lines[line][at]}`; put it in quotes"
    return None


def _flow(lines: list[str], line: int, column: int, problem: str, opened: Any) -> Told | None:
    if "node content" in problem and _is_the_end(lines, line, column):
        last = _previous_content(lines, len(lines)) or 0
        return last, len(lines[last].rstrip()), "the file ends before its last bracket is closed; add what is missing"
    if "node content" in problem:
        return line, column, "something is missing before this character; remove a comma too many, or add the value"
    if opened is None or not ("',' or ']'" in problem or "',' or '}'" in problem):
        return None
    variable = lines[line].rfind("${", 0, column + 1)
    if variable >= 0:
        return line, variable, 'inside { } and [ ] a variable needs quotes; write "${…}"'
    bracket = lines[opened.line][opened.column : opened.column + 1]
    closing = {"[": "]", "{": "}"}.get(bracket, "its closing bracket")
    sentence = f"the `{bracket}` that opens here is not closed, or a comma is missing; add `{closing}`"
    return opened.line, opened.column, sentence


def _is_the_end(lines: list[str], line: int, column: int) -> bool:
    """Return True if nothing follows; libyaml reports the end of a text without a final line break as its start."""
    if (line, column) == (0, 0) and lines[0][:1] not in (",", "]", "}"):
        return True
    return not any(tail.strip() for tail in (lines[line][column:], *lines[line + 1 :]))


def _block(lines: list[str], line: int, column: int, problem: str, _opened: Any) -> Told | None:
    if "could not find expected ':'" in problem:
        return line, column, "a colon is missing in or before this line; write `name: value`"
    if not any(words in problem for words in ("expected key", "block end", "'-' indicator", "document start")):
        return None
    prefix = lines[line][:column].rstrip()
    if prefix[-1:] in ("'", '"'):
        return line, column, "text follows the closing quote; put the whole value in quotes"
    if prefix[-1:] in ("]", "}"):
        return line, column, "text follows the closing bracket; remove it, or put the whole value in quotes"
    return line, _indent(lines[line]), "this line is not aligned with the lines above; give it the same indentation"


def _previous_content(lines: list[str], line: int) -> int | None:
    indexes = (i for i in range(line - 1, -1, -1) if lines[i].strip() and not lines[i].lstrip().startswith("#"))
    return next(indexes, None)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
