"""Reads the files of a configuration into one tree: variables resolved, includes merged, every name unique."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from reconcile.config.secrets import Resolver, hide_in_addresses
from reconcile.config.settings import TopSettings
from rules.document.mistakes import Mistake, Position, short
from rules.document.reading import known_keys, not_yet, unknown_key
from rules.document.tree import Entry, ListNode, MapNode, Node, ParsedFile, ScalarNode, parse, read, walk
from rules.presets.preset import preset
from rules.presets.using import named_preset, resolved, uses_preset

SECTIONS = ("sources", "datasets", "rules", "jobs", "channels")

_TOP_KEYS = (*known_keys(TopSettings), "include", *SECTIONS)
MAX_KEPT = 50_000_000  # bytes: a rewritten text can be longer than the original
LONG = 8  # a shorter secret is hidden only in its own setting; hidden everywhere it would break words
HIDDEN = "***"
"""Replaces a secret in a kept configuration."""
NOT_KEPT = "the state does not store its secret"
_LATER = ("users",)
_SECRETS_IN = ("sources", "jobs", "channels", "state", "encryption_key")


@dataclass
class Sections:
    """The content of all files: the top settings of the main one, and for every section its entries by name.

    `doubtful` are the positions of values that could not be read or resolved: further mistakes there are not reported.
    `secrets` are texts that no sentence may contain.
    `whole` is false when a file could not be read: it may define a missing name.
    `written` is each file before variables are resolved, by its path from the folder, the main file first.
    `unresolved` are the mistakes in references that could not be resolved, by the position of their value.
    `unusable` are sources and channels that were set aside, each with the reason; see `set_aside`.
    """

    path: Path
    top: MapNode
    problems: list[Mistake] = field(default_factory=list)
    doubtful: set[Position] = field(default_factory=set)
    whole: bool = True
    secrets: set[str] = field(default_factory=set)
    named: dict[str, dict[str, Entry]] = field(default_factory=lambda: {name: {} for name in SECTIONS})
    written: dict[str, MapNode] = field(default_factory=dict)
    unresolved: dict[Position, list[Mistake]] = field(default_factory=dict)
    unusable: dict[tuple[str, str], str] = field(default_factory=dict)

    def __getitem__(self, section: str) -> dict[str, Entry]:
        return self.named[section]

    def tell(self, at: Position, sentence: str) -> None:
        self.problems.append(Mistake.at(at, hide_in_addresses(sentence)))

    def use_preset(self, name: str) -> bool:
        """Put a rule's preset under its own settings, also in `written`, which is kept; False for mistakes in that."""
        entry = self["rules"][name]
        if not isinstance(entry.node, MapNode) or not uses_preset(entry.node):
            return True
        node, mistakes = resolved(entry.node)
        self.problems += mistakes
        chosen = named_preset(entry.node)
        if mistakes or chosen is None:
            return False
        self["rules"][name] = replace(entry, node=node)
        for file, root in self.written.items():
            self.written[file] = _with_rule(root, entry, lambda node: resolved(node, preset(chosen))[0])
        return True

    def use_files(self, name: str, settings: Collection[str]) -> bool:
        """Put the content of the files that settings of a rule name in place of their names, also in `written`.

        Returns False for mistakes in that.
        """
        entry = self["rules"][name]
        entries = entry.node.entries if isinstance(entry.node, MapNode) else {}
        contents: dict[str, MapNode] = {}
        for setting in settings:
            node = entries[setting].node if setting in entries else None
            if isinstance(node, ScalarNode) and node.text is not None:
                content = _content(node, setting, self)
                if content is None:
                    return False
                contents[setting] = content
        if contents:
            self["rules"][name] = replace(entry, node=_with_contents(entry.node, contents))
            for file, root in self.written.items():
                self.written[file] = _with_rule(root, entry, lambda node: _with_contents(node, contents))
        return True

    def set_aside(self) -> None:
        """Set aside entries that only lack a secret or a variable: sources, channels, `heartbeat` and `encryption_key`.

        Their missing references are no longer mistakes: using such an entry raises an error.
        """
        for section in ("sources", "channels"):
            for name, entry in self[section].items():
                if reason := self._forgive(entry.node):
                    self.unusable[section, name] = reason
        for name, entry in self["jobs"].items():
            self["jobs"][name] = replace(entry, node=self._without_unresolved(entry.node, "heartbeat"))
        self.top = self._without_unresolved(self.top, "encryption_key")

    def _without_unresolved(self, node: Any, key: str) -> Any:
        """Return the mapping without that key if its value could not be resolved."""
        if not isinstance(node, MapNode) or key not in node.entries or not self._forgive(node.entries[key].node):
            return node
        return MapNode(node.at, {name: entry for name, entry in node.entries.items() if name != key})

    def _forgive(self, node: Node) -> str | None:
        """Drop the problems of unresolved references in the tree and return the first one's sentence."""
        scalars = [scalar for _, scalar in walk(node) if isinstance(scalar, ScalarNode)]
        problems = [problem for scalar in scalars for problem in self.unresolved.get(scalar.at, ())]
        self.problems = [problem for problem in self.problems if problem not in problems]
        if problems:
            return problems[0].sentence
        return NOT_KEPT if any(HIDDEN in (scalar.text or "") for scalar in scalars) else None


def _with_rule(root: MapNode, rule: Entry, changed: Callable[[MapNode], MapNode]) -> MapNode:
    """Return a file as written, with that rule changed if the file holds it."""
    rules = root.entries.get("rules")
    if rules is None or not isinstance(rules.node, MapNode):
        return root
    entries = {
        name: replace(entry, node=changed(entry.node))
        if entry.key_at == rule.key_at and isinstance(entry.node, MapNode)
        else entry
        for name, entry in rules.node.entries.items()
    }
    section = replace(rules, node=MapNode(rules.node.at, entries))
    return MapNode(root.at, {**root.entries, "rules": section})


def _with_contents(rule: Node, contents: Mapping[str, MapNode]) -> MapNode:
    """Return a rule with these nodes in place of its own."""
    assert isinstance(rule, MapNode)  # noqa: S101 - the caller looked
    changed = {
        key: replace(entry, node=contents[key]) if key in contents else entry for key, entry in rule.entries.items()
    }
    return MapNode(rule.at, changed)


def _content(named: ScalarNode, setting: str, gathered: Sections) -> MapNode | None:
    """Return the tree of the file that a setting names; report the mistake and return None if it cannot be read."""
    folder, name = gathered.path.parent.resolve(), named.text or ""
    file = (folder / name).resolve()
    subject = f"`{setting}`: `{short(name)}`"
    if not file.is_relative_to(folder):
        gathered.tell(named.at, f"{subject} is outside the folder of {gathered.path.name}; name a file in it or below")
        return None
    try:
        document = read(file, str(gathered.path.parent / name))
    except FileNotFoundError:
        gathered.tell(named.at, f"{subject} is not a file here; correct the path or remove the setting")
        return None
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or "not a path").lower()
        gathered.tell(named.at, f"{subject} cannot be read: {reason}; correct the path or the permissions")
        return None
    gathered.problems += document.problems
    if isinstance(document.root, MapNode):
        return None if document.problems else document.root
    if not document.problems:
        gathered.tell(named.at, f"{subject} is not a mapping of settings; name another file or remove the setting")
    return None


def gather(path: Path, environ: Mapping[str, str]) -> Sections:
    """Read a configuration and its includes; never raises for their content."""
    gathered, resolver = Sections(path, MapNode(Position(str(path), 1, 1), {})), Resolver(environ, path.parent)
    main = _file(path, str(path), gathered, resolver)
    if main is not None:
        _add_main(main, gathered)
        for file, shown in _included(main, gathered):
            node = _file(file, shown, gathered, resolver)
            if node is not None:
                _add(node, gathered, included=True)
    return _filled_in(gathered, resolver)


def gather_kept(kept: Mapping[str, str], path: Path, environ: Mapping[str, str], called: str) -> Sections:
    """Read kept texts, the main one first, as if they were files beside `path`.

    `called` precedes their names in sentences. Included files are among them already.
    """
    gathered, resolver = Sections(path, MapNode(Position(called, 1, 1), {})), Resolver(environ, path.parent)
    for place, (name, text) in enumerate(kept.items()):
        shown = f"{called} {name}"
        node = _tree(name, parse(text, shown, largest=MAX_KEPT), Position(shown, 1, 1), gathered, resolver)
        if node is not None and place == 0:
            _add_main(node, gathered)
        elif node is not None:
            _add(node, gathered, included=True)
    return _filled_in(gathered, resolver)


def _filled_in(gathered: Sections, resolver: Resolver) -> Sections:
    gathered.problems += resolver.problems
    gathered.doubtful.update(resolver.unresolved)
    gathered.unresolved = resolver.unresolved
    gathered.secrets = {secret for secret in resolver.secrets if len(secret) >= LONG}
    return gathered


def _add_main(main: MapNode, gathered: Sections) -> None:
    own = {key: entry for key, entry in main.entries.items() if key in known_keys(TopSettings)}
    gathered.top = MapNode(main.at, own)
    _add(main, gathered, included=False)


def _instead_of(file: Path) -> str:
    """Tell what to do without this file; one with an ending that editors or habits give it is named."""
    names = (file.with_suffix(".yml").name, f"{file.name}.txt")
    for name in names:
        if file.suffix == ".yaml" and file.with_name(name).is_file():
            return f"rename `{name}` to `{file.name}`"
    return "`reconcile init` writes one, `-c` names another"


def _file(file: Path, shown: str, gathered: Sections, resolver: Resolver) -> MapNode | None:
    """Return the tree of one file; report the mistake and return None if it cannot be read."""
    start = Position(shown, 1, 1)
    try:
        document = read(file, shown)
    except FileNotFoundError:
        gathered.tell(start, f"file not found; {_instead_of(file)}")
        gathered.whole = False
        return None
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        gathered.tell(start, f"this file cannot be read: {reason}; correct the path or the permissions")
        gathered.whole = False
        return None
    name = file.relative_to(gathered.path.parent.resolve()).as_posix() if gathered.written else file.name
    return _tree(name, document, start, gathered, resolver)


def _tree(name: str, document: ParsedFile, start: Position, gathered: Sections, resolver: Resolver) -> MapNode | None:
    """Return a text's tree with variables resolved; report mistakes and return None if it is not a configuration."""
    gathered.problems += document.problems
    gathered.doubtful |= {Position(p.file, p.line, p.column) for p in document.problems}
    gathered.whole = gathered.whole and document.root is not None
    if isinstance(document.root, MapNode):
        gathered.written[name] = document.root
        entries = {
            key: Entry(entry.key_at, resolver.resolve(entry.node, secrets_allowed=key in _SECRETS_IN))
            for key, entry in document.root.entries.items()
        }
        return MapNode(document.root.at, entries)
    if not document.problems:
        at = document.root.at if document.root else start
        gathered.tell(at, "a configuration is a mapping that begins with `version: 1`; `reconcile init` writes one")
    return None


def _included(main: MapNode, gathered: Sections) -> Iterator[tuple[Path, str]]:
    """Yield the files of `include:`, sorted by name, and their names in sentences."""
    entry = main.entries.get("include")
    if entry is None:
        return
    folder = gathered.path.parent
    patterns = entry.node.items if isinstance(entry.node, ListNode) else (entry.node,)
    files: dict[Path, str] = {}
    for node in patterns:
        for file in _matches(node, gathered):
            files.setdefault(file, str(folder / file.relative_to(folder.resolve())))
    files.pop(gathered.path.resolve(), None)
    yield from sorted(files.items())


def _matches(node: Node, gathered: Sections) -> list[Path]:
    pattern = node.text if isinstance(node, ScalarNode) else None
    if not pattern:
        gathered.tell(node.at, "`include`: must be a list of files, like [rules/*.yaml]")
        return []
    folder = gathered.path.parent.resolve()
    files: list[Path] = []
    leads_out = Path(pattern).is_absolute() or ".." in Path(pattern).parts
    if any("**" in part and part != "**" for part in Path(pattern).parts):
        gathered.tell(node.at, f"`{short(pattern)}`: `**` matches folders only between slashes, like **/*.yaml")
        return []
    if not leads_out and Path(pattern).parts:
        try:
            files = sorted(file.resolve() for file in folder.glob(pattern) if file.is_file())
        except OSError as error:  # a name that is too long for a file
            reason = (error.strerror or type(error).__name__).lower()
            gathered.tell(node.at, f"`{short(pattern)}` cannot be searched: {reason}; correct it")
            return []
        leads_out = not all(file.is_relative_to(folder) for file in files)
    if leads_out:
        sentence = f"`{short(pattern)}` is outside this file's folder; include files in it or below"
        gathered.tell(node.at, sentence)
        return []
    if not files:
        gathered.tell(node.at, f"`{short(pattern)}` matches no file here; correct it or remove it")
    return files


def _add(root: MapNode, gathered: Sections, *, included: bool) -> None:
    """Add the sections of one file; other settings are allowed only in the main file."""
    for key, entry in root.entries.items():
        if key in SECTIONS:
            _add_section(key, entry, gathered)
        elif key not in _TOP_KEYS:
            allowed = (*SECTIONS, "version") if included else _TOP_KEYS
            gathered.tell(entry.key_at, not_yet(key) if key in _LATER else unknown_key(key, allowed))
        elif included and key != "version":
            gathered.tell(entry.key_at, f"`{key}` is not allowed in an included file; move it to {gathered.path}")


def _add_section(section: str, entry: Entry, gathered: Sections) -> None:
    if not isinstance(entry.node, MapNode):
        empty = isinstance(entry.node, ScalarNode) and entry.node.text is None
        sentence = "is empty; fill it or remove it" if empty else "must be a mapping: each name, then its settings"
        gathered.tell(entry.key_at, f"`{section}` {sentence}")
        return
    entries = gathered[section]
    for name, added in entry.node.entries.items():
        first_at = entries.setdefault(name, added).key_at
        if first_at != added.key_at:
            subject = f"{section[:-1]} `{short(name)}`"
            at = f"{first_at.file}:{first_at.line}"
            gathered.tell(added.key_at, f"{subject} is also defined in {at}; rename or remove one")
