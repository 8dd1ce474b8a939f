"""What every rule has, whatever its kind."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, SerializeAsAny, WithJsonSchema

from rules.cleaning import APPROVAL_SCHEMA, Approval, Clean, Limits, parse_approval, parse_expiry
from rules.models import Duration, Severity, SeverityField, Strict, parse_duration


class Rule(Strict):
    """The settings every kind of rule shares. `name` is the key in the `rules:` mapping, not a setting.

    `clean` is a model of its action's own, made by the loader; without it nothing is ever changed, and what is said
    of approval and limits stands by.
    """

    name: str = Field(exclude=True)
    kind: str = Field(description="What the rule looks for.")
    dataset: str = Field(description="The dataset whose records it reads.")
    where: str | None = Field(default=None, description="Which records take part, e.g. status = 'succeeded'.")
    severity: SeverityField = Field(default=Severity.medium, description="How bad a finding is.")
    owner: str | None = Field(default=None, description="Who is asked to act, e.g. @finance.")
    runbook: str | None = Field(default=None, description="Where it is written what to do about a finding.")
    was: str | None = Field(default=None, description="The rule's former name: its findings stay known.")
    engine: Literal["auto", "embedded", "pushdown"] = Field(
        default="auto", description="Where it runs: chosen by the planner, here in DuckDB, or inside the database."
    )
    clean: SerializeAsAny[Clean] | None = Field(
        default=None, description="What becomes of the surplus; without it, nothing does."
    )
    approval: Annotated[Approval, BeforeValidator(parse_approval), WithJsonSchema(APPROVAL_SCHEMA)] = Field(
        default=Approval(),
        json_schema_extra={"default": "required"},
        description="Who is asked before anything is changed: none, required, two_person, or {when: …, else: …}.",
    )
    approval_expires: Annotated[Duration, AfterValidator(parse_expiry)] = Field(
        default=parse_duration("7d"),
        json_schema_extra={"default": "7d"},
        description="How long a plan waits for approval, and an approval to be carried out.",
    )
    limits: Limits = Field(
        default=Limits(),
        json_schema_extra={"default": {"records": 100, "share": "1%", "group": 5}},
        description="What the rule may change in one run, and in any 24 hours; over it, people are asked.",
    )
    retry: str = Field(
        default="patient", description="How it is tried again: patient, quick, never, or one of `retry:`."
    )
