"""`keys`: what programs claimed to do once, and what a person changes about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from reconcile.cli import people
from reconcile.cli.output import FILE, Config, Output

if TYPE_CHECKING:
    from reconcile.app import Application

Parts = Annotated[
    list[str], typer.Argument(help="The key as listed; with --namespace, its parts in clear.", metavar="KEY")
]
Namespace = Annotated[
    str | None, typer.Option("--namespace", help="The namespace of a key in clear.", metavar="NAMESPACE")
]
Reason = Annotated[str, typer.Option("--reason", help="Why; kept in the audit log.", metavar="TEXT")]


def register(app: typer.Typer) -> None:
    about = "List the keys that programs claimed, or change one."
    group = typer.Typer(help=about, invoke_without_command=True, rich_markup_mode=None)
    group.callback()(keys)
    group.command(help="Show a key.")(show)
    group.command(help="Let the next claim of a key do its work, even if it was done.")(release)
    group.command(help="End the lease of a key whose claimer is dead.")(expire)
    app.add_typer(group, name="keys")


def keys(
    context: typer.Context,
    out: Output,
    config: Config = FILE,
    namespace: Annotated[
        str | None, typer.Option("--namespace", help="Only keys of this namespace.", metavar="NAMESPACE")
    ] = None,
    state: Annotated[
        str, typer.Option("--state", help="in_progress, done, failed or released.", metavar="STATE")
    ] = "in_progress",
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many at most.", metavar="N")] = 50,
) -> None:
    if context.invoked_subcommand is not None:
        return
    from reconcile.cli.opening import load_for_state
    from reconcile.store.guarded_keys import KeyState
    from reconcile.views import keys as views
    from rules.document.mistakes import suggestion

    if state not in list(KeyState):
        raise typer.BadParameter(f"{state!r} is not a state; {suggestion(state, list(KeyState))}", param_hint="--state")
    with load_for_state(config) as application:
        namespaces, timezone = application.project.guard, application.project.timezone
        page = views.page(application.memory, namespaces, KeyState(state), namespace, limit=limit)
    if out.json:
        out.emit([view.to_json() for view in page.keys])
        return
    if not page.keys:
        out.note(f"No keys are {state.replace('_', ' ')}.")
        return
    headings = ("key", "namespace", "state", "attempts", "changed", "why")
    out.table(headings, [view.cells(timezone) for view in page.keys], right=(3,))
    if page.cursor is not None:
        out.note(f"There are more; these are the first {limit}")


def show(out: Output, key: Parts, namespace: Namespace = None, config: Config = FILE) -> None:
    from notifications.wording.words import to_the_minute
    from reconcile.cli.opening import load_for_state
    from reconcile.views import keys as views

    with load_for_state(config) as application:
        view = views.shown(application.memory, _name(application, key, namespace))
        timezone = application.project.timezone
    if out.json:
        out.emit(view.to_json())
        return
    row = view.row
    facts = [("key", row.key), ("namespace", row.namespace), ("state", view.words), ("attempts", str(row.attempts))]
    facts += [("refusals", str(row.refusals)), ("claimed by", row.claimed_by)]
    facts += [
        ("created", to_the_minute(row.created_at, timezone)),
        ("changed", to_the_minute(row.changed_at, timezone)),
    ]
    facts += [("kept until", to_the_minute(row.keep_until, timezone)), ("result", f"{row.result_size} bytes")]
    for name, fact in [*facts, *([("why", row.reason)] if row.reason else [])]:
        out.say(f"{name.ljust(10)}  {fact}")


def release(out: Output, key: Parts, reason: Reason, namespace: Namespace = None, config: Config = FILE) -> None:
    from reconcile.cli.opening import load_for_state
    from reconcile.guard import Guard
    from reconcile.views import keys as views

    with load_for_state(config) as application:
        name = views.shown(application.memory, _name(application, key, namespace)).row.key
        with Guard.over(application.memory, application.project.guard) as guard:
            guard.release(name, reason=reason, by=people.person())
        _tell(out, application, name, "is released: the next claim does its work")


def expire(out: Output, key: Parts, reason: Reason, namespace: Namespace = None, config: Config = FILE) -> None:
    from reconcile.cli.opening import load_for_state
    from reconcile.guard import Guard
    from reconcile.views import keys as views

    with load_for_state(config) as application:
        name = views.shown(application.memory, _name(application, key, namespace)).row.key
        with Guard.over(application.memory, application.project.guard) as guard:
            guard.expire(name, reason=reason, by=people.person())
        _tell(out, application, name, "has no lease any more: the next claim gets it")


def _tell(out: Output, application: Application, name: str, sentence: str) -> None:
    from reconcile.views import keys as views

    if out.json:
        out.emit(views.shown(application.memory, name).to_json())
    else:
        out.say(f"Key {name} {sentence}.")


def _name(application: Application, parts: list[str], namespace: str | None) -> str:
    """Return the name of a key that is given by its parts in clear or by its name. Raises NamespaceUnknown."""
    from reconcile.guard import NamespaceUnknown
    from reconcile.guard.keys import key_of

    if namespace is None:
        if len(parts) > 1:
            raise typer.BadParameter("give one KEY as listed, or --namespace and its parts", param_hint="KEY")
        return parts[0]
    namespaces = application.project.guard
    if namespace not in namespaces:
        raise NamespaceUnknown(namespace, tuple(namespaces))
    return key_of(application.memory.key, namespace, parts)
