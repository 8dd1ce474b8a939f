"""Compiles a template and renders it, in a process of its own with limits on processor time and memory.

A template is a program: loops over loops that write nothing, texts doubled by `~`, numbers squared again and again run
for years or fill the memory inside one instruction, where no check of ours would be reached. Here they end a child.
Run as a file by notifications.wording.template, isolated and without an environment. The order comes as JSON on
standard input, the answer goes as JSON to standard output: {"text": …} or {"reason": …, "line": …}.
"""

from __future__ import annotations

import json
import math
import resource
import sys
import traceback
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jinja2

_MAX_CHARACTERS = 60_000
_FILTERS = frozenset(
    {"abs", "capitalize", "count", "d", "default", "dictsort", "first", "int", "items", "join", "last", "length"}
    | {"list", "lower", "map", "max", "min", "reject", "rejectattr", "round", "select", "selectattr", "sort", "string"}
    | {"sum", "title", "trim", "truncate", "unique", "upper", "wordwrap"}
)
_NOT_THEIR_WORDS = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError, SyntaxError)


def main() -> None:
    sys.path += [path for path in sys.argv[1:] if path not in sys.path]
    order = json.loads(sys.stdin.read())
    import jinja2  # noqa: F401, PLC0415 - before the limits: its cost is not the template's

    used = resource.getrusage(resource.RUSAGE_SELF)
    _limit(resource.RLIMIT_CPU, math.ceil(used.ru_utime + used.ru_stime) + order["seconds"])
    _limit(resource.RLIMIT_AS, order["memory"])
    _limit(resource.RLIMIT_CORE, 0)
    try:
        answer = _answer(order["name"], order["source"], order["values"])
    except MemoryError:
        answer = {"reason": "takes too much memory", "line": None}
    print(json.dumps(answer))  # noqa: T201 - the answer to the parent


def _limit(what: int, limit: int) -> None:
    """Set a limit, at most the one inherited from our parent."""
    _, hard = resource.getrlimit(what)
    limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(what, (limit, limit))


def _answer(name: str, source: str, values: dict[str, Any] | None) -> dict[str, Any]:
    """Render the template, or only compile it without values."""
    from jinja2 import FunctionLoader, TemplateError, TemplateSyntaxError  # noqa: PLC0415 - found by the path of main

    environment = _environment()
    environment.loader = FunctionLoader(lambda wanted: (source, wanted, lambda: True) if wanted == name else None)
    try:
        template = environment.get_template(name)
        return {"text": "" if values is None else _text(template, values)}
    except TemplateSyntaxError as error:
        return {"reason": error.message or "is not a template", "line": error.lineno}
    except TemplateError as error:
        return {"reason": error.message or "failed", "line": _line(name, error)}
    except _NOT_THEIR_WORDS as error:
        return {"reason": f"fails with {type(error).__name__}", "line": _line(name, error)}


def _text(template: jinja2.Template, values: dict[str, Any]) -> str:
    pieces: list[str] = []
    size = 0
    for piece in template.generate(**values):
        pieces.append(piece)
        size += len(piece)
        if size > _MAX_CHARACTERS:  # a cut message is better than none
            return "".join(pieces)[: _MAX_CHARACTERS - 2] + "\n…"
    return "".join(pieces)


def _line(name: str, error: BaseException) -> int | None:
    frames = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == name]
    return frames[-1] if frames else None


def _environment() -> jinja2.Environment:
    from jinja2 import StrictUndefined, Undefined  # noqa: PLC0415 - found by the path of main
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
            raise SecurityError("only the template's own macros can be called; use filters")

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            if isinstance(left, (int, float)) and isinstance(right, (int, float)) and operator != "**":
                return super().call_binop(context, operator, left, right)
            raise SecurityError(f"the operator {operator} works only on numbers here")

    environment = Closed(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    environment.globals.clear()
    environment.filters = {name: function for name, function in environment.filters.items() if name in _FILTERS}
    return environment


if __name__ == "__main__":
    main()
