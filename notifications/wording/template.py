"""User templates for messages: Jinja2 in a sandbox that sees only plain values.

A process of its own compiles and renders them, with limits: see notifications.wording.template_child.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from notifications.errors import TemplateRefused
from notifications.wording import words
from notifications.wording.document import Document, Line, Section, line_text

START = Path(__file__).with_name("templates") / "notice.txt.j2"
"""A template that produces our own wording: a starting point for a user's template."""

_MAX_TEMPLATE_BYTES = 65_536
_MAX_VALUE = 2_000
_SECONDS = 2
"""Of processor time, so that a busy host refuses no template; _PATIENCE is the time on the clock."""
_PATIENCE = 60
_MEMORY = 512_000_000
_KEPT = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""Variables an installation may need to find its libraries; the child gets no others."""
_CHILD = Path(__file__).with_name("template_child.py")


class Template:
    """A compiled template file. `shown` escapes each value for its text."""

    def __init__(self, path: Path, shown: Callable[[str], str]) -> None:
        """Raises TemplateRefused for a file that is unreadable or not a template."""
        self._name = path.name
        self._source = _read(path)
        self._shown = shown
        self._ask(None)

    def render(self, document: Document, facts: Mapping[str, Any]) -> str:
        """The text, cut with "…" at 60,000 characters. `facts` are the plain values of the notice.

        Each value is one visible line. Raises TemplateRefused, with the line, when the template fails, and when it
        takes more than 2 seconds of processor time or 512 MB of memory.
        """
        return self._ask({**self._safe(plain(document)), "notice": self._safe(facts)})

    def _ask(self, values: Mapping[str, Any] | None) -> str:
        """Render the template in a child process; without values only compile it."""
        order = {"name": self._name, "source": self._source, "values": values}
        limits = {"seconds": _SECONDS, "memory": _MEMORY}
        try:
            child = subprocess.run(  # noqa: S603 - ourselves
                [sys.executable, "-I", "-X", "utf8", str(_CHILD), *_packages()],
                input=json.dumps(order | limits),
                capture_output=True,
                text=True,
                encoding="utf-8",
                env={name: os.environ[name] for name in _KEPT if name in os.environ},
                cwd="/",
                timeout=_PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise TemplateRefused(self._name, None, f"takes more than {_PATIENCE} seconds") from None
        if child.returncode != 0:
            reason = f"takes more than {_SECONDS} seconds or {_MEMORY:,} bytes of memory"
            if child.returncode > 0 and "MemoryError" not in child.stderr:
                reason = f"cannot be rendered: its process exited with code {child.returncode}"
            raise TemplateRefused(self._name, None, reason)
        answer = json.loads(child.stdout)
        if "text" not in answer:
            raise TemplateRefused(self._name, answer["line"], answer["reason"])
        text: str = answer["text"]
        return text

    def _safe(self, values: Any) -> Any:
        if isinstance(values, str):
            return self._shown(words.visible(values, _MAX_VALUE))
        if isinstance(values, Mapping):
            return {name if name.isidentifier() else self._safe(name): self._safe(v) for name, v in values.items()}
        return [self._safe(value) for value in values] if isinstance(values, (list, tuple)) else values


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


def _packages() -> list[str]:
    """Return the folders of the packages that the child imports."""
    specs = (importlib.util.find_spec(name) for name in ("jinja2", "markupsafe"))
    return [str(Path(spec.origin).parents[1]) for spec in specs if spec is not None and spec.origin is not None]
