"""Templates of the user's own for the words of a message: Jinja2 in a sandbox that sees plain values only."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from notifications import words
from notifications.document import Document, Line, Section, line_text
from notifications.errors import TemplateRefused

if TYPE_CHECKING:
    import jinja2

START = Path(__file__).with_name("templates") / "notice.txt.j2"
"""A template that writes our own words: the place to start one's own from."""

_MAX_TEMPLATE_BYTES = 65_536
_MAX_CHARACTERS = 60_000
_MAX_VALUE = 2_000
_FILTERS = frozenset(
    {"abs", "capitalize", "count", "d", "default", "dictsort", "first", "int", "items", "join", "last", "length"}
    | {"list", "lower", "map", "max", "min", "reject", "rejectattr", "round", "select", "selectattr", "sort", "string"}
    | {"sum", "title", "trim", "truncate", "unique", "upper", "wordwrap"}
)
_NOT_THEIR_WORDS = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError)


class Template:
    """A template file, compiled. `shown` makes each value fit to stand in its text."""

    def __init__(self, path: Path, shown: Callable[[str], str]) -> None:
        """Raises TemplateRefused for a file that cannot be read or is no template."""
        from jinja2 import FunctionLoader, TemplateSyntaxError  # noqa: PLC0415 - only who has a template pays for it

        self._name = path.name
        source = _read(path)
        environment = _environment()
        self._shown = shown
        environment.loader = FunctionLoader(lambda name: (source, name, lambda: True) if name == self._name else None)
        try:
            self._template = environment.get_template(self._name)
        except TemplateSyntaxError as error:
            raise TemplateRefused(self._name, error.lineno, error.message or "is not a template") from None

    def render(self, document: Document, facts: Mapping[str, Any]) -> str:
        """The text, cut with "…" at 60,000 characters. `facts` are the plain values of the notice.

        Each value is one visible line. Raises TemplateRefused, with the line, when the template fails.
        """
        from jinja2 import TemplateError  # noqa: PLC0415 - see above

        pieces: list[str] = []
        size = 0
        try:
            for piece in self._template.generate(**self._safe(plain(document)), notice=self._safe(facts)):
                pieces.append(piece)
                size += len(piece)
                if size > _MAX_CHARACTERS:  # a message that is cut is better than none on the worst of nights
                    return "".join(pieces)[: _MAX_CHARACTERS - 2] + "\n…"
        except TemplateError as error:
            raise TemplateRefused(self._name, self._line(error.__traceback__), error.message or "failed") from None
        except _NOT_THEIR_WORDS as error:
            reason = f"fails with {type(error).__name__}"
            raise TemplateRefused(self._name, self._line(error.__traceback__), reason) from None
        return "".join(pieces)

    def _safe(self, values: Any) -> Any:
        if isinstance(values, str):
            return self._shown(words.visible(values, _MAX_VALUE))
        if isinstance(values, Mapping):
            return {name if name.isidentifier() else self._safe(name): self._safe(v) for name, v in values.items()}
        return [self._safe(value) for value in values] if isinstance(values, (list, tuple)) else values

    def _line(self, where: TracebackType | None) -> int | None:
        frames = [frame.lineno for frame in traceback.extract_tb(where) if frame.filename == self._name]
        return frames[-1] if frames else None


def plain(document: Document) -> dict[str, Any]:
    """A document as plain text values: headline, about, sections, details."""
    return {
        "headline": document.headline,
        "about": document.about,
        "sections": [_plain_section(section) for section in document.sections],
        "details": [_plain_section(section) for section in document.details],
    }


def _plain_section(section: Section) -> dict[str, Any]:
    def texts(lines: tuple[Line, ...]) -> list[str]:
        return [line_text(line) for line in lines]

    groups = [texts(group) for group in section.groups]
    return {"kind": section.kind, "lines": texts(section.lines), "groups": groups, "after": texts(section.after)}


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(_MAX_TEMPLATE_BYTES + 1)
        if len(raw) > _MAX_TEMPLATE_BYTES:
            raise TemplateRefused(path.name, None, f"is larger than {_MAX_TEMPLATE_BYTES:,} bytes")
        return raw.decode("utf-8")
    except OSError as error:
        raise TemplateRefused(path.name, None, f"cannot be read: {(error.strerror or 'failed').lower()}") from error
    except UnicodeDecodeError:
        raise TemplateRefused(path.name, None, "is not UTF-8 text") from None


def _environment() -> jinja2.Environment:
    from jinja2 import StrictUndefined, Undefined  # noqa: PLC0415 - see above
    from jinja2.exceptions import SecurityError  # noqa: PLC0415
    from jinja2.runtime import Macro  # noqa: PLC0415
    from jinja2.sandbox import ImmutableSandboxedEnvironment  # noqa: PLC0415

    class Closed(ImmutableSandboxedEnvironment):
        """No calls but the template's own macros, and no operator that makes long texts from short ones."""

        intercepted_binops = frozenset({"*", "**", "%"})

        def is_safe_callable(self, obj: Any) -> bool:
            if isinstance(obj, Undefined):
                return True  # calling it says which name is not known
            if isinstance(obj, Macro):
                return True
            raise SecurityError("nothing can be called here but the template's own macros; use filters")

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            if isinstance(left, (int, float)) and isinstance(right, (int, float)) and operator != "**":
                return super().call_binop(context, operator, left, right)
            raise SecurityError(f"the operator {operator} is only for numbers here")

    environment = Closed(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    environment.globals.clear()
    environment.filters = {name: made for name, made in environment.filters.items() if name in _FILTERS}
    return environment
