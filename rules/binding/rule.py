"""The settings that rules of all kinds share, and what they say without a look at a dataset's columns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, SerializeAsAny, SkipValidation, WithJsonSchema

from rules.cleaning import APPROVAL_SCHEMA, ApprovalPolicy, Clean, Limits, parse_approval, parse_expiry
from rules.document.mistakes import RuleError
from rules.examples.example import SCHEMA as EXAMPLES_SCHEMA
from rules.examples.example import Example
from rules.expressions import parse
from rules.groups.forms import FormWords, form_words
from rules.models import Duration, KeyPart, Severity, SeverityField, Strict, parse_duration
from rules.models.lookups import Lookup
from rules.normalise.times import PERIODS

if TYPE_CHECKING:  # a configuration is read without the engines
    from rules.groups.group import Difference
    from rules.groups.learning import Weights
    from rules.groups.recognised import Recognition
    from rules.pairs.evidence import JudgedPairs
    from rules.values import Value

SettingPath = tuple[str | int, ...]
"""The path of a setting in a rule: its key, then keys and positions inside."""


class Rule(Strict):
    """The settings that all kinds of rules share. `name` is the key in the `rules:` mapping, not a setting.

    `dataset` is the first dataset whose records the rule's groups hold. The loader makes `clean` as the model of its
    action, without which nothing is ever changed, and reads `examples`.
    """

    not_matching: ClassVar[frozenset[str]] = frozenset(
        {
            *("severity", "owner", "runbook", "was", "engine", "approval", "approval_expires", "limits", "retry"),
            *("clean", "examples"),
        }
    )
    """Settings that do not affect what the rule matches: an edit of them does not make it another rule."""
    dataset_settings: ClassVar[tuple[str, ...]] = ("dataset",)
    """Settings that each name a dataset to read; the first is `dataset`."""
    dataset_lists: ClassVar[tuple[str, ...]] = ()
    """Keys in YAML that each hold a list of datasets to read, in place of `dataset_settings`."""
    dataset_paths: ClassVar[tuple[str, ...]] = ()
    """Paths of further settings that each name a dataset to read; `a.b` is b inside a."""
    expressions: ClassVar[Mapping[str, Callable[[str], object]]] = {"where": parse}
    """Settings that hold an expression, or a mapping of them, with the function that parses it; `a.b` is b inside a."""
    file_settings: ClassVar[tuple[str, ...]] = ()
    """Settings whose value may be the path of a file that holds it, from the folder of the configuration."""
    roles: ClassVar[Mapping[str, str]] = {"keep": "keeper", "surplus": "surplus"}
    """The words for the records of a group in `expect` of an example, and the role that each of them names."""
    name: str = Field(exclude=True)
    kind: str = Field(description="The kind of rule.")
    dataset: str = Field(description="The dataset whose records the rule reads.")
    where: str | None = Field(default=None, description="The records that take part, e.g. status = 'succeeded'.")
    severity: SeverityField = Field(default=Severity.medium, description="How severe a finding is.")
    owner: str | None = Field(default=None, description="Who should act on a finding, e.g. @finance.")
    runbook: str | None = Field(default=None, description="A link to the instructions for a finding.")
    was: str | None = Field(default=None, description="The rule's former name; it keeps that rule's findings.")
    engine: Literal["auto", "embedded", "pushdown", "spark"] = Field(
        default="auto",
        description="Where the rule runs: auto, in DuckDB (embedded), in the database (pushdown), or in Spark (spark).",
    )
    clean: SerializeAsAny[Clean] | None = Field(
        default=None, description="How surplus records are cleaned up; without it, they stay unchanged."
    )
    approval: Annotated[ApprovalPolicy, BeforeValidator(parse_approval), WithJsonSchema(APPROVAL_SCHEMA)] = Field(
        default=ApprovalPolicy(),
        json_schema_extra={"default": "required"},
        description="Whether changes need approval: none, required, two_person, or {when: …, else: …}.",
    )
    approval_expires: Annotated[Duration, AfterValidator(parse_expiry)] = Field(
        default=parse_duration("7d"),
        json_schema_extra={"default": "7d"},
        description="How long a plan waits for approval, and an approval for its execution.",
    )
    limits: Limits = Field(
        default=Limits(),
        json_schema_extra={"default": {"records": 100, "share": "1%", "group": 5}},
        description="The most that the rule may change per run and per 24 hours; more needs approval.",
    )
    retry: str = Field(
        default="patient", description="How failures are retried: patient, quick, never, or a `retry` template."
    )
    examples: Annotated[SkipValidation[tuple[Example, ...]], WithJsonSchema(EXAMPLES_SCHEMA)] = Field(
        default=(), description="Records, and what the rule must find in them; `reconcile test` runs them."
    )

    @property
    def datasets(self) -> tuple[str, ...]:
        """The datasets the rule reads, each once; the first is `dataset`, the last the answer of its `question`."""
        named = [*(getattr(self, setting) for setting in self.dataset_settings), *self.mapping_datasets]
        return tuple(dict.fromkeys([*named, self.answer] if self.question is not None else named))

    @property
    def member_datasets(self) -> tuple[str, ...]:
        """The datasets whose records its groups hold, the first of them `dataset`."""
        return tuple(dict.fromkeys(getattr(self, setting) for setting in self.dataset_settings))

    @property
    def lookups(self) -> tuple[Lookup, ...]:
        """The lookups of `map` in other datasets, each once."""
        steps = (step.argument for _, part in self.key_parts() for step in part.steps)
        return tuple(dict.fromkeys(argument for argument in steps if isinstance(argument, Lookup)))

    @property
    def mapping_datasets(self) -> tuple[str, ...]:
        """The datasets in which `map` looks values up."""
        return tuple(dict.fromkeys(lookup.dataset for lookup in self.lookups))

    @property
    def configured_datasets(self) -> tuple[str, ...]:
        """The datasets it reads that the configuration names: all but the answer of its `question`."""
        return tuple(name for name in self.datasets if self.question is None or name != self.answer)

    @property
    def cleaned(self) -> str:
        """The dataset whose records `clean` changes, the only one; by default `dataset`."""
        return (self.clean and self.clean.dataset) or self.dataset

    @property
    def question(self) -> str | None:
        """A query in the language of the source of `dataset`, if the rule has one."""
        return None

    def answering(self, datasets: Collection[str]) -> Self:  # noqa: ARG002 - for kinds with a `question`
        """Return the rule as it answers its `question` itself, which is then None, from these declared datasets.

        Called if the source of `dataset` runs no queries. Raises ValueError with a clause.
        """
        raise ValueError("the source of its dataset runs no queries; name a dataset of a database")

    @property
    def shows_computed(self) -> bool:
        """True if its findings may show values that were computed from any column of its datasets."""
        return False

    @property
    def answer(self) -> str:
        """The name of the answer to `question`, which the project has as a dataset of the same source."""
        return f"{self.name}/query"

    @classmethod
    def dataset_keys(cls) -> tuple[str, ...]:
        """The keys of `dataset_settings` in YAML."""
        return tuple(cls.model_fields[setting].alias or setting for setting in cls.dataset_settings)

    @property
    def ordered_by(self) -> str | None:
        """The column that orders records of one key, where that key can have several groups."""
        return None

    @property
    def by_records(self) -> bool:
        """True if a finding is known again by its records, because one key can have several groups."""
        return self.ordered_by is not None

    @property
    def joins(self) -> bool:
        """True if groups have links, because any of several keys joins records."""
        return False

    def with_judged(self, apart: JudgedPairs, together: JudgedPairs | None = None) -> Self:  # noqa: ARG002 - for rules whose groups have links
        """Return the rule for a detection that keeps pairs `apart` while no other value links them, and those that are
        the same `together` while they differ in no other value.

        Only a rule that `joins` keeps pairs apart; the others find them, and tracking settles them. Only a rule that
        `learns` keeps pairs together.
        """
        return self

    def learning(self, precision: float) -> Self:  # noqa: ARG002 - for kinds with weights
        """Return the rule for a detection that learns weights, and finds no groups.

        `precision` is the share of the pairs it takes that should be right. Raises RuleError for other kinds.
        """
        raise RuleError(
            f"Rule `{self.name}` is of kind `{self.kind}`, which has no weights to learn; name another rule"
        )

    @property
    def learnt_weights(self) -> Weights | None:
        """The learnt weights that it names, if it does."""
        return None

    @property
    def learns(self) -> bool:
        """True if people can teach the rule which pairs of records are the same; see `as_compared`."""
        return False

    @property
    def pairs_up(self) -> bool:
        """True if a record can be the same as at most one other, which is of another dataset."""
        return False

    def as_compared(self, values: Mapping[str, Value]) -> Mapping[str, Value]:
        """Return the values of a record, under the rule's names of columns, as the rule compares them."""
        return values

    def recognising(self, recognition: Recognition) -> Self:  # noqa: ARG002 - for kinds that compute digests
        """Return the rule for a detection that may leave known groups unbuilt: its groups are then `PartlyBuilt`."""
        return self

    @property
    def timeless(self) -> bool:
        """True if the same records always have the same groups, unless an expression asks for `slot()`.

        No decision of a person and no passing of time may change them.
        """
        return False

    @property
    def keep_columns(self) -> tuple[str, ...]:
        """The columns that choose which record of a group stays."""
        return ()

    @property
    def nouns(self) -> tuple[str, str]:
        """The singular and plural noun for the rule's findings."""
        return "finding", "findings"

    @property
    def agreeing(self) -> tuple[tuple[str, str], ...]:
        """Columns of the first compared dataset and of the last that should agree in records of the same thing."""
        return ()

    @property
    def aligned(self) -> tuple[tuple[str, str], ...]:
        """Columns of the first compared dataset and of the last that mean the same: people see them side by side."""
        return self.agreeing

    def compared_columns(
        self,
        datasets: Mapping[str, DatasetFacts],  # noqa: ARG002 - for kinds that compare several datasets
    ) -> Iterator[tuple[SettingPath, Mapping[str, tuple[str, ...]]]]:
        """Yield the columns of each of several datasets whose values are compared, and the path of the setting."""
        yield from ()

    @property
    def periods(self) -> Mapping[str, str]:
        """The normaliser of each column of a finding's key whose value is the first day of a month or a quarter."""
        parts: dict[str, KeyPart] = {}
        for _, part in self.key_parts():
            steps = ", ".join(step.name for step in part.steps) or "as it is"
            name = part.column if parts.get(part.column, part) == part else f"{part.column} ({steps})"
            parts.setdefault(name, part)
        last = {name: part.steps[-1].name for name, part in parts.items() if part.steps}
        return {name: step for name, step in last.items() if step in PERIODS}

    def key_parts(self) -> Iterator[tuple[SettingPath, KeyPart]]:
        """Yield the path of each key part and the part: a column with its normalisers."""
        for name in type(self).model_fields:
            value = getattr(self, name)
            for index, part in enumerate(value if isinstance(value, tuple) else ()):
                if isinstance(part, KeyPart):
                    yield (name, index), part

    def columns_of(self, path: SettingPath, part: KeyPart) -> Mapping[str, str]:  # noqa: ARG002 - for kinds with sides
        """Return the column, by dataset, that a key part at that path is."""
        return {self.dataset: part.column}

    @property
    def alternatives(self) -> tuple[str, ...]:
        """The match keys in words, if it is enough that one of several agrees; `Link.keys` are positions in it."""
        return ()

    @property
    def possible_forms(self) -> tuple[str, ...]:
        """The forms that its findings can have; empty if the kind does not say."""
        return ()

    def form_words(self, form: str) -> FormWords:
        """Return the words for a form of the rule's findings."""
        return form_words(form, self.member_datasets)

    def phrase(self, form: str, differences: Sequence[Difference]) -> str:  # noqa: ARG002 - kinds that compare need it
        """Return what is wrong with one finding, in words; `differences` are the fields in which its sides differ."""
        return self.form_words(form).phrase

    def because(self, form: str) -> str:  # noqa: ARG002 - kinds with several forms need it
        """Return why the records of a finding of this form belong together, as a sentence without any value."""
        return f"Rule `{self.name}` found them together."

    def read_by_meaning(self, dataset: str) -> Collection[str]:  # noqa: ARG002 - for kinds that read texts so
        """Return the columns of a dataset whose texts the rule reads as what they mean, whatever their type is."""
        return ()

    def shown_as(self, dataset: str, columns: Iterable[str]) -> Iterator[str]:  # noqa: ARG002 - kinds that rename need it
        """Yield the names under which findings show these columns of one of the rule's datasets.

        Personal data is masked by them, so a kind must override it if it shows a column under another name.
        """
        yield from columns

    @property
    def cleanable_forms(self) -> Mapping[str, tuple[str, ...]]:
        """The forms of findings whose records `clean` can change, by dataset; empty if it needs to name neither."""
        return {}

    def not_cleanable(self) -> Iterator[tuple[SettingPath, str]]:
        """Yield the path of each setting that cannot be combined with `clean`, or is wrong in it, with a sentence about
        it. Only called for a rule with `clean`.
        """
        if self.clean is not None and self.clean.dataset not in (None, self.dataset):
            yield (
                ("clean", "dataset"),
                f"the rule finds records of `{self.dataset}`, so it can clean no other dataset; remove it",
            )
        if self.clean is not None and self.clean.forms:
            yield ("clean", "forms"), f"findings of kind {self.kind} have no forms to choose from; remove it"


@dataclass(frozen=True)
class DatasetFacts:
    """The facts about a dataset's columns that its settings state: `amount` is that of its money.

    `columns` are all that it has, if it was described already.
    """

    id: tuple[str, ...] = ()
    where: str | None = None
    derived: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    amount: str | None = None
