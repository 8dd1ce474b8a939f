"""Resolves variables and secrets in a configuration, and keeps secrets out of all output.

`${NAME}`, `${NAME:-default}`, `${secret:NAME}` and `${file:/path}` are allowed in values, not in keys; `$${` is a
plain `${`. Values from `secret:` and `file:` are sealed: the tree remembers the author's reference and shows only that.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from rules.document.mistakes import Mistake, Position, nearest, short
from rules.document.tree import Entry, ListNode, MapNode, Node, ScalarNode

MAX_SECRET_BYTES = 65_536
MAX_TOLD = 20  # mistakes reported per value

_REFERENCE = re.compile(r"\$\$\{|\$\{(?P<inside>[^{}]*)\}|\$\{")
_VARIABLE = re.compile(r"(?P<name>[A-Za-z_]\w*)(?::-(?P<default>.*))?", re.ASCII | re.DOTALL)
_SECRET = re.compile(r"secret:(?P<name>[A-Za-z_]\w*)", re.ASCII)
_FORMS = "write ${NAME}, ${NAME:-default}, ${secret:NAME} or ${file:/path}, and $${ for a plain ${"
# Lengths are bounded so that a hostile text costs its length, not the square of it.
_URL_PASSWORD = re.compile(r"(?P<before>\b[A-Za-z][A-Za-z0-9+.-]{0,40}://[^\s:/?#@]{0,200}):[^\s]{1,1000}@")
_URL_PARAMETER = re.compile(r"(?i)(?P<before>[?&;](?:\w*(?:password|passwd|pwd|secret|token|key))=)[^&;\s#'\"]+")


def hide_in_addresses(text: str) -> str:
    """Replace passwords inside URLs with ***."""
    return _URL_PARAMETER.sub(r"\g<before>***", _URL_PASSWORD.sub(r"\g<before>:***@", text))


def refers_to_secret(text: str) -> bool:
    """Return True if a part of the text comes from `secret:` or `file:`."""
    return any((matches["inside"] or "").startswith(("file:", "secret:")) for matches in _REFERENCE.finditer(text))


def without_references(text: str) -> str:
    """Return the text without its references, but with the defaults of its variables."""
    return _REFERENCE.sub(_written_out, text)


def _written_out(match: re.Match[str]) -> str:
    variable = _VARIABLE.fullmatch(match["inside"] or "")
    return (variable["default"] or "") if variable else "${" if match[0] == "$${" else ""


class _Unresolved(Exception):
    """A reference that cannot be resolved; the message is the sentence."""


def _refuse_empty(value: str, match: re.Match[str], *, secret: bool) -> None:
    """Raise _Unresolved if a whole value resolves to an empty text: the mistake is in the variable, not the setting."""
    reference = match[0]
    if not value and reference == match.string and ":-" not in reference:
        text = f"`{short(reference)}` is set but empty; give it a value"
        raise _Unresolved(text if secret else f"{text}, or write `{short(reference[:-1])}:-}}` if it may be empty")


@dataclass
class Resolver:
    """Resolves a tree and collects mistakes; `unresolved` has them by the position of their value.

    Relative `${file:…}` paths begin at `directory`.
    """

    environ: Mapping[str, str]
    directory: Path
    problems: list[Mistake] = field(default_factory=list)
    unresolved: dict[Position, list[Mistake]] = field(default_factory=dict)
    secrets: set[str] = field(default_factory=set, repr=False)

    def resolve(self, node: Node, *, secrets_allowed: bool = True) -> Node:
        """Return the tree with every reference resolved; a value that cannot be resolved stays as written."""
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
        sealed, position, failed = False, 0, 0
        for match in _REFERENCE.finditer(node.text):
            if failed == MAX_TOLD:
                break
            literal = node.text[position : match.start()]
            position = match.end()
            try:
                value, secret = self._value(match, secrets_allowed=secrets_allowed)
                _refuse_empty(value, match, secret=secret)
            except _Unresolved as error:
                problem = Mistake.at(node.position(match.start()), str(error))
                self.problems.append(problem)
                self.unresolved.setdefault(node.at, []).append(problem)
                failed += 1
                value, secret = match[0], False
            filled += [literal, value]
            shown += [literal, match[0] if secret else value]
            if secret:
                sealed = True
                self.secrets.add(value)
        tail = node.text[position:]
        written = "".join([*shown, tail]) if sealed else None
        return replace(node, text="".join([*filled, tail]), lead=None, sealed_as=written)

    def _value(self, match: re.Match[str], *, secrets_allowed: bool) -> tuple[str, bool]:
        """Return the text of one reference, and True if it is secret."""
        inside = match["inside"]
        if inside and inside.startswith(("file:", "secret:")) and not secrets_allowed:
            raise _Unresolved(
                "a secret is not allowed here; use secrets in `sources`, `channels`, `state`, `encryption_key` or a "
                "job's `heartbeat` only"
            )
        if match[0] == "$${":
            return "${", False
        if inside is None:
            raise _Unresolved(f"this `${{` is not closed; {_FORMS}")
        if inside.startswith("file:"):
            return self._file(inside.removeprefix("file:")), True
        if secret := _SECRET.fullmatch(inside):
            return self._variable(secret["name"], None), True
        if variable := _VARIABLE.fullmatch(inside):
            return self._variable(variable["name"], variable["default"]), False
        raise _Unresolved(f"`{short(match[0])}` is not a variable; {_FORMS}")

    def _variable(self, name: str, default: str | None) -> str:
        value = self.environ.get(name)
        if value or (value is not None and default is None):
            return value
        if default is not None:
            return default
        closest = nearest(name, self.environ)
        hint = f"did you mean `{closest}`?" if closest else "set it before you start Reconcile"
        raise _Unresolved(f"the environment variable `{name}` is not set; {hint}")

    def _file(self, path: str) -> str:
        place = self.directory / path
        try:
            if not stat.S_ISREG(place.stat().st_mode):
                raise _Unresolved(f"the secret file {path} is not a plain file; name a file")
            with place.open("rb") as file:
                raw = file.read(MAX_SECRET_BYTES + 1)
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            sentence = f"the secret file {path} cannot be read: {reason}; mount it or correct the path"
            raise _Unresolved(sentence) from error
        except ValueError as error:
            raise _Unresolved("the path of this secret file is not valid; correct it") from error
        if len(raw) > MAX_SECRET_BYTES:
            raise _Unresolved(f"the secret file {path} is larger than {MAX_SECRET_BYTES} bytes; is it the right one?")
        try:
            return raw.decode("utf-8").removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError:
            raise _Unresolved(f"the secret file {path} is not UTF-8 text; is it the right one?") from None
