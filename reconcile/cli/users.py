"""`users`, `tokens`: who signs in to the console, and which programs act for them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from reconcile.cli import people
from reconcile.cli.output import FILE, Config, Output

if TYPE_CHECKING:
    from reconcile.people.roles import Role

_ROLES = "viewer, reviewer, operator or admin"
User = Annotated[str, typer.Argument(help="The user's name.", metavar="NAME")]
Token = Annotated[str, typer.Argument(help="The token's name.", metavar="NAME")]


def register(app: typer.Typer) -> None:
    about = "List the users of the console, or change them."
    group = typer.Typer(help=about, invoke_without_command=True, rich_markup_mode=None)
    group.callback()(users)
    group.command(help="Add a user and ask for the password.")(add)
    group.command(help="Change a user's role.")(role)
    group.command(help="Set a user's password and end their sessions.")(password)
    group.command(help="Disable a user: refuse sign-ins and tokens.")(disable)
    group.command(help="Let a disabled user sign in again.")(enable)
    app.add_typer(group, name="users")
    about = "List the tokens that programs use; create or revoke one."
    of_tokens = typer.Typer(help=about, invoke_without_command=True, rich_markup_mode=None)
    of_tokens.callback()(tokens)
    of_tokens.command("add", help="Create a token and print it once.")(add_token)
    of_tokens.command(help="End a token.")(revoke)
    app.add_typer(of_tokens, name="tokens")


def users(
    context: typer.Context,
    out: Output,
    config: Config = FILE,
) -> None:
    if context.invoked_subcommand is not None:
        return
    from reconcile.cli.opening import load_for_state
    from reconcile.views import people as views

    with load_for_state(config) as application:
        listing = views.users(application)
    if out.json:
        out.emit([user.to_json() for user in listing])
    elif listing:
        out.table(("user", "role", "personal data", "state", "signs in by"), [user.cells() for user in listing])
    else:
        out.note("There are no users yet; `reconcile users add NAME --role admin` adds the first.")


def add(
    out: Output,
    name: User,
    config: Config = FILE,
    role: Annotated[str, typer.Option("--role", help=f"The role: {_ROLES}.", metavar="ROLE")] = "viewer",
    personal: Annotated[bool, typer.Option("--personal-data", help="The user may see personal data unmasked.")] = False,
    no_password: Annotated[
        bool, typer.Option("--no-password", help="The user has no password: a proxy signs them in, or they use tokens.")
    ] = False,
) -> None:
    from reconcile.cli.opening import load_for_state
    from reconcile.people import users
    from reconcile.people.roles import parse_role

    chosen = parse_role(role)
    users.check_name(name)
    secret = None if no_password else _password()
    with load_for_state(config) as application, application.store.begin() as tx:
        users.add(tx, name, chosen, by=people.person(), password=secret, sees_personal=personal)
    if out.json:
        out.emit({"user": name, "changed": True})
    else:
        out.say(f"{name} is added as {chosen.word}.")


def role(
    out: Output,
    name: User,
    new_role: Annotated[str | None, typer.Argument(help=f"The role: {_ROLES}.", metavar="ROLE")] = None,
    config: Config = FILE,
    personal: Annotated[bool, typer.Option("--personal-data", help="The user may see personal data unmasked.")] = False,
    masked: Annotated[bool, typer.Option("--no-personal-data", help="The user sees personal data masked.")] = False,
) -> None:
    from reconcile.cli.opening import load_for_state
    from reconcile.people import users

    chosen = _role(new_role)
    if personal and masked:
        raise typer.BadParameter("cannot be combined with --no-personal-data", param_hint="--personal-data")
    if chosen is None and not personal and not masked:
        raise typer.BadParameter("give a role, --personal-data or --no-personal-data", param_hint="ROLE")
    sees = personal if personal or masked else None
    with load_for_state(config) as application, application.memory.begin() as tx:
        user, changed = users.set_role(tx, name, chosen, by=people.person(), sees_personal=sees)
    if out.json:
        out.emit({"user": name, "changed": changed})
        return
    may = "may see personal data" if user.sees_personal else "sees personal data masked"
    out.say(f"{name} is {'now' if changed else 'already'} {user.role} and {may}.")


def password(out: Output, name: User, config: Config = FILE) -> None:
    from reconcile.cli.opening import load_for_state
    from reconcile.people import users

    with load_for_state(config) as application:
        with application.memory.read() as tx:
            users.named(tx, name)
        secret = _password()
        with application.memory.begin() as tx:
            users.set_password(tx, name, secret, by=people.person())
    if out.json:
        out.emit({"user": name, "changed": True})
    else:
        out.say(f"The password of {name} is changed, and their sessions are ended.")


def disable(out: Output, name: User, config: Config = FILE) -> None:
    from reconcile.cli.opening import load_for_state
    from reconcile.people import users

    with load_for_state(config) as application, application.memory.begin() as tx:
        changed = users.disable(tx, name, by=people.person())
    _tell(out, name, "disabled", changed=changed)


def enable(out: Output, name: User, config: Config = FILE) -> None:
    from reconcile.cli.opening import load_for_state
    from reconcile.people import users

    with load_for_state(config) as application, application.memory.begin() as tx:
        changed = users.enable(tx, name, by=people.person())
    _tell(out, name, "enabled", changed=changed)


def _tell(out: Output, name: str, state: str, *, changed: bool) -> None:
    if out.json:
        out.emit({"user": name, "changed": changed})
    else:
        out.say(f"{name} is {state}." if changed else f"{name} is already {state}; nothing was changed.")


def tokens(
    context: typer.Context,
    out: Output,
    config: Config = FILE,
) -> None:
    if context.invoked_subcommand is not None:
        return
    from reconcile.cli.opening import load_for_state
    from reconcile.views import people as views

    with load_for_state(config) as application:
        listing, timezone = views.tokens(application), application.project.timezone
    if out.json:
        out.emit([token.to_json() for token in listing])
    elif listing:
        out.table(("token", "user", "role", "expires", "last used"), [token.cells(timezone) for token in listing])
    else:
        out.note("There are no tokens yet; `reconcile tokens add NAME --user USER` creates one.")


def add_token(
    out: Output,
    name: Token,
    user: Annotated[str, typer.Option("--user", help="The user that the program acts for.", metavar="USER")],
    config: Config = FILE,
    role: Annotated[
        str | None,
        typer.Option("--role", help="A lower role than the user's; by default the same role.", metavar="ROLE"),
    ] = None,
    expires: Annotated[
        str | None, typer.Option("--expires", help="A duration like 90d, or a time; by default never.", metavar="WHEN")
    ] = None,
) -> None:
    from reconcile.cli.opening import load_for_state
    from reconcile.people import tokens

    chosen = _role(role)
    with load_for_state(config) as application:
        until = None if expires is None else people.moment(expires, application.project.timezone, "--expires")
        with application.memory.begin() as tx:
            token = tokens.add(tx, name, user, chosen, by=people.person(), expires=until)
    if out.json:
        out.emit({"name": name, "user": user, "token": token})
        return
    out.say(token)
    out.note(f"Token {name} acts for {user}. It is not shown again")


def revoke(out: Output, name: Token, config: Config = FILE) -> None:
    from reconcile.cli.opening import load_for_state
    from reconcile.people import tokens

    with load_for_state(config) as application, application.memory.begin() as tx:
        tokens.revoke(tx, name, by=people.person())
    if out.json:
        out.emit({"name": name, "changed": True})
    else:
        out.say(f"Token {name} is revoked.")


def _role(word: str | None) -> Role | None:
    from reconcile.people.roles import parse_role

    return None if word is None else parse_role(word)


def _password() -> str:
    """Ask twice without an echo; a script writes it as the only line of standard input."""
    from reconcile.people.passwords import RULE

    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    typer.echo(f"Choose a password. {RULE}", err=True)
    return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
