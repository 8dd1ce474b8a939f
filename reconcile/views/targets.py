"""The targets that are cleaned, as every door shows them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from connectors.errors import ConnectorError
from reconcile.audit import log
from reconcile.documents import JsonObject
from reconcile.journal import ownership
from reconcile.store import targets

if TYPE_CHECKING:
    from reconcile.app import Application


@dataclass(frozen=True)
class TargetView:
    """A cleaned place of a source. `owner` is the state that cleans it; `problem`: why this state may not."""

    source: str
    target: str | None
    owner: str | None
    problem: str | None


def to_json(view: TargetView) -> JsonObject:
    """Return a cleaned place as public JSON."""
    return dict(vars(view))


def refused_since_restore(application: Application) -> list[TargetView]:
    """Return the places where nothing is cleaned until a person decides, because the state was restored.

    Only sources that were neither cleaned nor taken over since are asked, so for most states none. No transaction of
    the store may be open.
    """
    store = application.memory
    with store.read() as tx:
        restored_at = log.last_at(tx, f"store:{store.id}", "store.restored")
        moved = set() if restored_at is None else targets.moved_since(tx, restored_at)
    if restored_at is None:
        return []
    sources = [name for name in ownership.cleaned(application.project) if name not in moved]
    return [view for view in listed(application, sources) if view.problem]


def listed(application: Application, sources: Collection[str] | None = None) -> Iterator[TargetView]:
    """Yield every place that is cleaned, of these sources or all; a source that cannot be reached as one without a
    target. Raises StoreError."""
    for name, datasets in ownership.cleaned(application.project).items():
        if sources is not None and name not in sources:
            continue
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
