"""Read `examples:` of a rule from its YAML tree; every mistake has its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rules.document.mistakes import Mistake, Position, listed, nearest, short, suggestion
from rules.document.reading import unknown_key
from rules.document.tree import Entry, ListNode, MapNode, Node, ScalarNode
from rules.examples.example import DEFAULT_SLOT, Cell, Example, ExpectedGroup, GivenRecord, WrittenId

MOST_RECORDS = 200
"""Records of one dataset in an example: they become one statement of a database."""

_OWN = ("name", "given", "at", "expect")
_ID = "an id is a value, a list of values for an id of several columns, or {dataset: id}"


@dataclass(frozen=True)
class ExampleWords:
    """The words that examples of a rule may use.

    `sides` maps each setting that names a dataset to that dataset, if the kind has several such settings. `datasets`
    are those whose records the rule's groups hold, None if they are unknown because the rule has mistakes; `others` are
    those that it also reads, None if they are not known yet. `roles` maps a word of `expect` to the role of these
    records in a group. `forms` are those that its findings can have, empty if they are unknown.
    """

    sides: Mapping[str, str]
    datasets: Sequence[str] | None
    roles: Mapping[str, str]
    others: Sequence[str] | None = ()
    forms: Sequence[str] = ()


def read_examples(entry: Entry, words: ExampleWords) -> tuple[tuple[Example, ...], list[Mistake]]:
    """Return the examples and every mistake in their structure; ids and types are checked against a dataset."""
    reader = _Reader(words)
    if not isinstance(entry.node, ListNode):
        reader.tell(entry.key_at, "`examples` must be a list; write each example as `- given: […]` and `expect: […]`")
        return (), reader.mistakes
    examples = [reader.example(node, number) for number, node in enumerate(entry.node.items, 1)]
    return tuple(example for example in examples if example is not None), reader.mistakes


@dataclass
class _Reader:
    words: ExampleWords
    mistakes: list[Mistake] = field(default_factory=list)

    def tell(self, at: Position, sentence: str) -> None:
        self.mistakes.append(Mistake.at(at, sentence))

    def example(self, node: Node, number: int) -> Example | None:
        if not isinstance(node, MapNode):
            self.tell(node.at, "an example is a mapping with `given` and `expect`")
            return None
        allowed = (*_OWN, *self.words.sides)
        unknown = {key: entry.key_at for key, entry in node.entries.items() if key not in allowed}
        for key, at in unknown.items():
            self.tell(at, unknown_key(key, allowed))
        misspelt = {nearest(key, allowed) for key in unknown}
        given = self._given(node, misspelt)
        expect = self._expect(node, misspelt)
        name, slot = self._text(node, "name"), self._text(node, "at")
        if given is None or expect is None:
            return None
        return Example(
            name=name.text if name and name.text else f"example {number}",
            at=node.at,
            given=given,
            expect=expect,
            slot=slot or Cell(DEFAULT_SLOT, node.at),
        )

    def _text(self, node: MapNode, key: str) -> Cell | None:
        entry = node.entries.get(key)
        return self._cell(entry.node, f"`{key}` must be a text") if entry is not None else None

    def _given(self, node: MapNode, misspelt: set[str | None]) -> dict[str, tuple[GivenRecord, ...]] | None:
        sides = self.words.sides
        written = [(dataset, node.entries[side]) for side, dataset in sides.items() if side in node.entries]
        entry = node.entries.get("given")
        if entry is None and not written:
            keys = listed(sides, "or") if sides else "`given`"
            if misspelt.isdisjoint({"given", *sides}):
                self.tell(node.at, f"an example needs {keys}: the records that the rule reads")
            return None
        given: dict[str, tuple[GivenRecord, ...]] = {}
        for dataset, records in [*written, *(self._by_dataset(entry) if entry else ())]:
            given[dataset] = (*given.get(dataset, ()), *self._records(records))
        return given

    def _by_dataset(self, given: Entry) -> Iterator[tuple[str, Entry]]:
        datasets, others = self.words.datasets, self.words.others
        if isinstance(given.node, MapNode):
            for name, entry in given.node.entries.items():
                if datasets is None or others is None or name in (*datasets, *others):
                    yield name, entry
                else:
                    hint = suggestion(name, (*datasets, *others))
                    self.tell(entry.key_at, f"the rule reads no dataset `{short(name)}`; {hint}")
        elif datasets is not None and len(datasets) > 1:
            form = ", ".join(f"{name}: […]" for name in datasets)
            self.tell(given.key_at, f"`given`: the rule reads several datasets; write {{{form}}}")
        else:
            yield next(iter(datasets or ("",))), given

    def _records(self, entry: Entry) -> Iterator[GivenRecord]:
        if not isinstance(entry.node, ListNode):
            self.tell(entry.key_at, "records are a list of mappings, like `- {id: 1, email: ann@example.com}`")
            return
        if len(entry.node.items) > MOST_RECORDS:
            sentence = f"an example has at most {MOST_RECORDS} records, not {len(entry.node.items)}; leave some out"
            self.tell(entry.key_at, sentence)
            return
        for item in entry.node.items:
            if not isinstance(item, MapNode):
                self.tell(item.at, "a record is a mapping of columns and values, like {id: 1, email: ann@example.com}")
                continue
            one_value = "a column has one value; quote it if it is a text with brackets"
            cells = {column: self._cell(cell.node, one_value) for column, cell in item.entries.items()}
            yield GivenRecord(
                item.at,
                {column: cell for column, cell in cells.items() if cell is not None},
                {column: cell.key_at for column, cell in item.entries.items()},
            )

    def _cell(self, node: Node, otherwise: str) -> Cell | None:
        if isinstance(node, ScalarNode):
            return Cell(node.text, node.at, quoted=node.text is not None and node.lead != 0)
        self.tell(node.at, otherwise)
        return None

    def _expect(self, node: MapNode, misspelt: set[str | None]) -> tuple[ExpectedGroup, ...] | None:
        entry = node.entries.get("expect")
        if entry is None:
            if "expect" not in misspelt:
                self.tell(node.at, "an example needs `expect`: the groups that the rule must find; [] for none")
            return None
        if not isinstance(entry.node, ListNode):
            self.tell(entry.key_at, f"`expect` must be a list of groups, like {self._form()}; [] for none")
            return None
        return tuple(group for item in entry.node.items if (group := self._group(item)) is not None)

    def _form(self) -> str:
        return "[{" + ", ".join(f"{word}: …" for word in self.words.roles) + "}]"

    def _group(self, node: Node) -> ExpectedGroup | None:
        if not isinstance(node, MapNode) or not node.entries:
            self.tell(node.at, f"an expected group is a mapping, like {self._form()}")
            return None
        records: dict[str, tuple[WrittenId, ...]] = {}
        for word, entry in node.entries.items():
            if word in self.words.roles:
                records[self.words.roles[word]] = tuple(self._ids(entry.node, self.words.sides.get(word)))
            elif word != "form":
                self.tell(entry.key_at, unknown_key(word, (*self.words.roles, "form")))
        return ExpectedGroup(node.at, records, self._form_of(node))

    def _form_of(self, group: MapNode) -> str | None:
        form, forms = self._text(group, "form"), self.words.forms
        if form is None or form.text is None:
            return None
        if forms and form.text not in forms:
            self.tell(form.at, f"`form`: the rule finds no `{short(form.text)}`; {suggestion(form.text, forms)}")
        return form.text

    def _ids(self, node: Node, dataset: str | None) -> Iterator[WrittenId]:
        for item in node.items if isinstance(node, ListNode) else (node,):
            written = self._id(item, dataset)
            if written is not None:
                yield written

    def _id(self, node: Node, dataset: str | None = None) -> WrittenId | None:
        if isinstance(node, MapNode) and len(node.entries) == 1 and dataset is None:
            [(name, entry)] = node.entries.items()
            if self.words.datasets is not None and name not in self.words.datasets:
                hint = suggestion(name, self.words.datasets)
                self.tell(entry.key_at, f"the rule reads no dataset `{short(name)}`; {hint}")
                return None
            return self._id(entry.node, name)
        if isinstance(node, MapNode):
            self.tell(node.at, _ID)
            return None
        is_list = isinstance(node, ListNode)
        parts = [self._cell(part, _ID) for part in (node.items if isinstance(node, ListNode) else (node,))]
        return WrittenId(node.at, tuple(part for part in parts if part is not None), dataset, is_list)
