"""`reconcile doctor`: checks that change nothing, each with a sentence that says what to do.

Every check is a function in one of the lists below. If a check fails, the others still run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from connectors.errors import ConnectorError
from reconcile.app import Application, load_for_state
from reconcile.config.settings import DatasetConfig
from reconcile.doctor import host, plans, work
from reconcile.doctor.diagnosis import Check, Diagnosis, StateCheck
from reconcile.journal import ownership
from reconcile.store import REVISION, Store


def sources(application: Application) -> Iterator[Diagnosis]:
    """Check that each source is reachable and has the columns that the rules need."""
    from reconcile.doctor import checking  # noqa: PLC0415 - `status` needs no engines

    for look in checking.look(application):
        yield Diagnosis(look.subject, "error" if look.wrong else "ok", look.sentence)


EVERYWHERE: Sequence[Check] = (
    host.packages,
    host.time_zones,
    plans.configuration,
    plans.expectations,
    plans.jitters,
    plans.time_outs,
    plans.increments,
    plans.tracing,
    plans.former_versions,
    sources,
)
IN_THE_STATE: Sequence[StateCheck] = (
    host.whole,
    host.key_file,
    host.disk,
    host.growth,
    host.durability,
    host.clocks,
    work.scheduling,
    work.queue,
    work.dead_workers,
    work.time_zones,
    work.messages,
    work.anchors,
    work.ongoing_troubles,
    work.cleaning,
    work.stopped,
    work.increments,
)


def examine(path: Path, environ: Mapping[str, str]) -> Iterator[Diagnosis]:
    """Run every check; changes nothing, not even the schema of the state. Raises ConfigProblems without a state."""
    with load_for_state(path, environ) as application:
        for check in EVERYWHERE:
            yield from _answers(check.__name__, partial(check, application))
        yield from _answers("state", partial(_state, application))


def _state(application: Application) -> Iterator[Diagnosis]:
    project = application.project
    where, revision = Store.found_at(project.state.get_secret_value(), project.directory)
    if revision is None:
        yield Diagnosis("state", "ok", f"none yet; the first run creates it in {where}")
    elif revision < REVISION:
        sentence = f"its schema is {revision}, this version needs {REVISION}; run `reconcile migrate`"
        yield Diagnosis("state", "warning", sentence)
    else:
        for check in IN_THE_STATE:
            yield from _answers(check.__name__, partial(_in_the_state, application, check))
        for name, datasets in ownership.cleaned(project).items():
            yield from _answers(f"cleaning of source {name}", partial(_owner, application, name, datasets))


def _owner(application: Application, source: str, datasets: Sequence[DatasetConfig]) -> Iterator[Diagnosis]:
    """Check that we may clean the source. The target is asked while no transaction of the state is open."""
    with contextlib.suppress(ConnectorError):  # `sources` reports it
        target = application.target(source)
        for claim in ownership.look_at(target, datasets):
            try:
                ownership.must_be_ours(application.store, target, claim.table)
            except ownership.OwnershipRefused as error:
                yield Diagnosis(f"cleaning of source {source}", "warning", str(error))


def _in_the_state(application: Application, check: StateCheck) -> Iterator[Diagnosis]:
    with application.store.read() as tx:
        yield from check(application, tx)


def _answers(name: str, check: Callable[[], Iterable[Diagnosis]]) -> Iterator[Diagnosis]:
    """Yield the diagnoses of a check, or its failure."""
    try:
        yield from check()
    except Exception as error:  # noqa: BLE001 - the other checks still run
        is_ours = hasattr(type(error), "exit_code")
        sentence = str(error) if is_ours else f"this check failed ({type(error).__name__}); please report this"
        yield Diagnosis(name.replace("_", " "), "error", sentence)
