"""The databases that are cleaned, as every door shows them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from connectors.errors import ConnectorError
from reconcile.journal import ownership

if TYPE_CHECKING:
    from reconcile.app import Application


@dataclass(frozen=True)
class TargetView:
    """A cleaned place of a source. `owner` is the state that cleans it; `problem`: why this state may not."""

    source: str
    target: str | None
    owner: str | None
    problem: str | None


def to_json(view: TargetView) -> dict[str, Any]:
    """Return a cleaned place as public JSON."""
    return dict(vars(view))


def listed(application: Application) -> Iterator[TargetView]:
    """Yield every place that is cleaned; a source that cannot be reached as one without a target. Raises StoreError."""
    for name, datasets in ownership.cleaned(application.project).items():
        try:
            target = application.target(name)
            claims = ownership.look_at(target, datasets)
        except ConnectorError as error:
            yield TargetView(name, None, None, str(error))
            continue
        for claim in claims:
            problem = None
            try:
                ownership.must_be_ours(application.memory, target, claim.table)
            except (ConnectorError, ownership.OwnershipRefused) as error:
                problem = str(error)
            yield TargetView(name, claim.place, claim.owner and claim.owner[0], problem)
