"""Variables and secrets in a configuration: filled in from outside, and kept out of everything that is shown.

`${NAME}`, `${NAME:-default}`, `${secret:NAME}` and `${file:/path}` stand in values, never in keys; `$${` is a plain
`${`. What comes from `secret:` and `file:` is sealed: the tree remembers how its author wrote it and shows only that.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from rules.document.mistakes import Position, Problem, nearest, short
from rules.document.tree import Entry, ListNode, MapNode, Node, ScalarNode

MAX_SECRET_BYTES = 65_536
MAX_TOLD = 20  # so many mistakes of one value are told

_REFERENCE = re.compile(r"\$\$\{|\$\{(?P<inside>[^{}]*)\}|\$\{")
_VARIABLE = re.compile(r"(?P<name>[A-Za-z_]\w*)(?::-(?P<default>.*))?", re.ASCII | re.DOTALL)
_SECRET = re.compile(r"secret:(?P<name>[A-Za-z_]\w*)", re.ASCII)
_FORMS = "write ${NAME}, ${NAME:-default}, ${secret:NAME} or ${file:/path}, and $${ for a plain ${"
# Lengths are bounded so that a hostile text costs its length, not the square of it.
_URL_PASSWORD = re.compile(r"(?P<before>\b[A-Za-z][A-Za-z0-9+.-]{0,40}://[^\s:/?#@]{0,200}):[^\s]{1,1000}@")
_URL_PARAMETER = re.compile(r"(?i)(?P<before>[?&;](?:\w*(?:password|passwd|pwd|secret|token|key))=)[^&;\s#'\"]+")


def hide_in_addresses(text: str) -> str:
    """The text with passwords inside URLs replaced by ***."""
    return _URL_PARAMETER.sub(r"\g<before>***", _URL_PASSWORD.sub(r"\g<before>:***@", text))


def refers_to_secret(text: str) -> bool:
    """Whether a part of the text is filled in from `secret:` or `file:`."""
    return any((found["inside"] or "").startswith(("file:", "secret:")) for found in _REFERENCE.finditer(text))


def without_references(text: str) -> str:
    """What an author wrote out: the text without its references, but with the defaults of its variables."""
    return _REFERENCE.sub(_written_out, text)


def _written_out(found: re.Match[str]) -> str:
    variable = _VARIABLE.fullmatch(found["inside"] or "")
    return (variable["default"] or "") if variable else "${" if found[0] == "$${" else ""


class _Unresolved(Exception):
    """A reference that cannot be filled in; the message is the sentence."""


def _refuse_empty(value: str, found: re.Match[str], *, secret: bool) -> None:
    """A whole value that was filled in with nothing: the mistake is where it is set, not in the setting."""
    reference = found[0]
    if not value and reference == found.string and ":-" not in reference:
        said = f"`{short(reference)}` is there and empty; give it a value"
        raise _Unresolved(said if secret else f"{said}, or write `{short(reference[:-1])}:-}}` where nothing is meant")


@dataclass
class Resolver:
    """Fills a tree in and remembers what went wrong, and in which values (`unresolved`, by their place).

    `directory` is what relative `${file:…}` paths begin at.
    """

    environ: Mapping[str, str]
    directory: Path
    problems: list[Problem] = field(default_factory=list)
    unresolved: dict[Position, list[Problem]] = field(default_factory=dict)
    secrets: set[str] = field(default_factory=set, repr=False)

    def resolve(self, node: Node, *, secrets_allowed: bool = True) -> Node:
        """The same tree with every reference filled in; a value that cannot be filled in stays as written."""
        if isinstance(node, MapNode):
            return MapNode(
                node.at,
                {
                    key: Entry(entry.key_at, self.resolve(entry.node, secrets_allowed=secrets_allowed))
                    for key, entry in node.entries.items()
                },
            )
        if isinstance(node, ListNode):
            return ListNode(node.at, tuple(self.resolve(item, secrets_allowed=secrets_allowed) for item in node.items))
        return self._scalar(node, secrets_allowed=secrets_allowed)

    def _scalar(self, node: ScalarNode, *, secrets_allowed: bool) -> ScalarNode:
        if node.text is None or "${" not in node.text:
            return node
        filled: list[str] = []
        shown: list[str] = []
        sealed, done, failed = False, 0, 0
        for found in _REFERENCE.finditer(node.text):
            if failed == MAX_TOLD:
                break
            before = node.text[done : found.start()]
            done = found.end()
            try:
                value, secret = self._value(found, secrets_allowed=secrets_allowed)
                _refuse_empty(value, found, secret=secret)
            except _Unresolved as why:
                problem = Problem.at(node.position(found.start()), str(why))
                self.problems.append(problem)
                self.unresolved.setdefault(node.at, []).append(problem)
                failed += 1
                value, secret = found[0], False
            filled += [before, value]
            shown += [before, found[0] if secret else value]
            if secret:
                sealed = True
                self.secrets.add(value)
        rest = node.text[done:]
        written = "".join([*shown, rest]) if sealed else None
        return replace(node, text="".join([*filled, rest]), lead=None, sealed_as=written)

    def _value(self, found: re.Match[str], *, secrets_allowed: bool) -> tuple[str, bool]:
        """The text of one reference and whether it is secret."""
        inside = found["inside"]
        if inside and inside.startswith(("file:", "secret:")) and not secrets_allowed:
            raise _Unresolved(
                "a secret has no place here; use one in `sources`, `channels`, `state`, `encryption_key` or a job's "
                "`heartbeat` only"
            )
        if found[0] == "$${":
            return "${", False
        if inside is None:
            raise _Unresolved(f"this `${{` begins a variable that does not end; {_FORMS}")
        if inside.startswith("file:"):
            return self._file(inside.removeprefix("file:")), True
        if secret := _SECRET.fullmatch(inside):
            return self._variable(secret["name"], None), True
        if variable := _VARIABLE.fullmatch(inside):
            return self._variable(variable["name"], variable["default"]), False
        raise _Unresolved(f"`{short(found[0])}` is not a variable; {_FORMS}")

    def _variable(self, name: str, default: str | None) -> str:
        value = self.environ.get(name)
        if value or (value is not None and default is None):
            return value
        if default is not None:
            return default
        near = nearest(name, self.environ)
        hint = f"did you mean `{near}`?" if near else "set it before you start Reconcile"
        raise _Unresolved(f"the environment variable `{name}` is not set; {hint}")

    def _file(self, path: str) -> str:
        place = self.directory / path
        try:
            if not stat.S_ISREG(place.stat().st_mode):
                raise _Unresolved(f"the secret file {path} is not a plain file; name a file")
            with place.open("rb") as file:
                raw = file.read(MAX_SECRET_BYTES + 1)
        except OSError as why:
            reason = (why.strerror or type(why).__name__).lower()
            raise _Unresolved(f"the secret file {path} cannot be read: {reason}; mount it or correct the path") from why
        except ValueError as why:
            raise _Unresolved("the path of this secret file is not a path; correct it") from why
        if len(raw) > MAX_SECRET_BYTES:
            raise _Unresolved(f"the secret file {path} is larger than {MAX_SECRET_BYTES} bytes; is it the right one?")
        try:
            return raw.decode("utf-8").removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError:
            raise _Unresolved(f"the secret file {path} is not UTF-8 text; is it the right one?") from None
