"""Users, sessions and tokens: who gets in, who is kept out, and what the state and the log then hold."""

import datetime as dt
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from reconcile.audit import log, proof
from reconcile.people import passwords, sessions, tokens, users
from reconcile.people.roles import NotAllowed, Person, Role
from reconcile.people.sessions import Lifetime, SignInRefused, TooManyAttempts
from reconcile.store import Store, tables
from tests.support.cli import FILES, ORDERS, Project, in_words
from tests.support.store import FixedClock, in_parallel

PASSWORD = "correct horse battery"
HERE = "127.0.0.1"
LIFETIME = Lifetime()


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def store(url: str, tmp_path: Path, clock: FixedClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A store with an administrator and a reviewer; hashes are cheap here."""
    from argon2 import PasswordHasher  # noqa: PLC0415 - of the extra `console`

    quick = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    monkeypatch.setattr(passwords, "_hasher", lambda: quick)
    passwords._no_hash.cache_clear()
    with Store.open(url, tmp_path, clock=clock) as store:
        with store.begin() as tx:
            users.add(tx, "ada", Role.ADMIN, by="test", password=PASSWORD)
            users.add(tx, "bob", Role.REVIEWER, by="test", password=PASSWORD)
        yield store


def sign_in(store: Store, name: str = "bob", password: str = PASSWORD, address: str = HERE) -> sessions.SignedIn:
    return sessions.sign_in(store, name, password, address, LIFETIME)


def is_in(store: Store, session: sessions.SignedIn) -> bool:
    return sessions.resume(store, session.secret, LIFETIME) is not None


# Signing in


def test_a_person_who_signed_in_has_their_role_until_the_session_is_unused_or_old(
    store: Store, clock: FixedClock
) -> None:
    session = sign_in(store, " Bob ")
    resumed = sessions.resume(store, session.secret, LIFETIME)

    assert resumed == session
    assert session.person == Person("bob", Role.REVIEWER, sees_personal=False, origin="bob@console")
    for _ in range(7):
        clock.sleep(LIFETIME.idle.total_seconds() - 60)
        alive = is_in(store, session)
    assert not alive, "it is older than its whole lifetime"
    unused = sign_in(store)
    clock.sleep(LIFETIME.idle.total_seconds() + 1)
    assert not is_in(store, unused)


@pytest.mark.parametrize("name", ["bob", "nobody", "", "bob\0", "x" * 500])
def test_a_wrong_password_and_an_unknown_name_get_the_same_sentence(store: Store, name: str) -> None:
    with pytest.raises(SignInRefused, match=r"^The name or the password is wrong\. Try again"):
        sign_in(store, name, "wrong password 1")


def test_guessing_is_stopped_whatever_process_is_asked_and_the_right_password_waits_too(
    store: Store, url: str, tmp_path: Path, clock: FixedClock
) -> None:
    for _ in range(sessions.OF_NAME_AND_ADDRESS):
        with pytest.raises(SignInRefused):
            sign_in(store, password="a wrong password")

    restarted = Store.open(url, tmp_path, clock=clock)
    with restarted, pytest.raises(TooManyAttempts, match=r"Try again in 15 minutes$"):
        sign_in(restarted)
    elsewhere = sign_in(store, address="127.0.0.2")
    with pytest.raises(TooManyAttempts):
        sign_in(store)
    clock.sleep(sessions.WINDOW.total_seconds() + 1)
    afterwards = sign_in(store)

    assert is_in(store, elsewhere)
    assert is_in(store, afterwards)


def test_an_account_does_not_let_its_owner_try_all_other_names(store: Store) -> None:
    assert _names_tried(store) == sessions.OF_ADDRESS


def _names_tried(store: Store) -> int:
    for number in range(100):
        try:
            sign_in(store)
            sign_in(store, f"guess-{number}")
        except SignInRefused:
            continue
        except TooManyAttempts:
            return number
    return 100


@pytest.mark.slow
def test_processes_that_guess_at_the_same_time_get_no_more_tries(store: Store, url: str, tmp_path: Path) -> None:
    guess = """
    from reconcile.people import passwords, sessions
    from argon2 import PasswordHasher
    passwords._hasher = lambda: PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    tried = 0
    with Store.open(url, root) as store:
        for _ in range(4):
            try:
                sessions.sign_in(store, "ada", "a wrong password", "127.0.0.1", sessions.Lifetime())
            except sessions.SignInRefused:
                tried += 1
            except sessions.TooManyAttempts:
                pass
    print(tried)
    """
    tries = in_parallel(4, guess, url, tmp_path)

    assert sum(map(int, tries)) == sessions.OF_NAME_AND_ADDRESS


def test_each_sign_in_has_another_session_and_ends_the_former_one_of_its_browser(store: Store) -> None:
    first, elsewhere = sign_in(store), sign_in(store)
    again = sessions.sign_in(store, "bob", PASSWORD, HERE, LIFETIME, former=first.secret)

    assert len({first.secret, elsewhere.secret, again.secret}) == 3
    assert len({first.csrf, elsewhere.csrf, again.csrf}) == 3
    assert [is_in(store, session) for session in (first, elsewhere, again)] == [False, True, True]
    sessions.sign_out(store, again.secret)
    assert not is_in(store, again)


def test_a_new_password_ends_every_session_but_the_one_that_set_it(store: Store) -> None:
    mine, stolen = sign_in(store), sign_in(store)

    with store.begin() as tx:
        kept = sessions.id_of(store, mine.secret)
        users.set_password(tx, "bob", "another horse battery", by="bob", keep=kept)

    assert (is_in(store, mine), is_in(store, stolen)) == (True, False)
    with pytest.raises(SignInRefused):
        sign_in(store)


@pytest.mark.parametrize("password", ["short", "aaaaaaaaaaaaaaaa", "bob's own password", "x" * 1001])
def test_a_password_that_does_not_protect_is_refused(store: Store, password: str) -> None:
    with pytest.raises(passwords.PasswordRefused, match="choose another"), store.begin() as tx:
        users.set_password(tx, "bob", password, by="bob")


def test_a_proxy_signs_in_only_users_that_there_are(store: Store) -> None:
    with store.begin() as tx:
        users.add(tx, "eve", Role.VIEWER, by="test")

    session = sessions.sign_in_by_proxy(store, "Eve", LIFETIME)

    assert session is not None
    assert is_in(store, session)
    assert sessions.sign_in_by_proxy(store, "mallory", LIFETIME) is None
    with pytest.raises(SignInRefused):
        sign_in(store, "eve", "")


# Roles


def test_a_role_includes_the_ones_before_it_and_no_more() -> None:
    person = Person("bob", Role.REVIEWER, sees_personal=False, origin="bob@console")

    person.require(Role.VIEWER)
    person.require(Role.REVIEWER)
    with pytest.raises(NotAllowed, match=r"^bob is reviewer, and this needs the role operator\. Nothing was changed"):
        person.require(Role.OPERATOR)


def test_a_disabled_user_is_out_at_once_with_every_token(store: Store) -> None:
    session = sign_in(store)
    with store.begin() as tx:
        token = tokens.add(tx, "nightly", "bob", by="ada")
    before = tokens.person(store, token)
    with store.begin() as tx:
        users.disable(tx, "bob", by="ada")

    assert before is not None
    assert not is_in(store, session)
    assert tokens.person(store, token) is None
    with pytest.raises(SignInRefused):
        sign_in(store)
    with store.begin() as tx:
        users.enable(tx, "bob", by="ada")
    assert is_in(store, sign_in(store))
    assert not is_in(store, session)


def test_a_token_has_at_most_the_role_its_user_has_now(store: Store, clock: FixedClock) -> None:
    with store.begin() as tx:
        whole = tokens.add(tx, "whole", "bob", by="ada", expires=clock.now + dt.timedelta(days=1))
        reading = tokens.add(tx, "reading", "bob", Role.VIEWER, by="ada")

    as_reviewer = [tokens.person(store, token) for token in (whole, reading)]
    with store.begin() as tx:
        users.set_role(tx, "bob", Role.VIEWER, by="ada")
    as_viewer = tokens.person(store, whole)

    assert [person.role for person in as_reviewer if person] == [Role.REVIEWER, Role.VIEWER]
    assert as_reviewer[0] == Person("bob", Role.REVIEWER, sees_personal=False, origin="bob@api:whole")
    assert as_viewer is not None
    assert as_viewer.role is Role.VIEWER
    clock.sleep(dt.timedelta(days=1).total_seconds())
    assert tokens.person(store, whole) is None
    with store.begin() as tx:
        tokens.revoke(tx, "reading", by="ada")
    assert tokens.person(store, reading) is None
    assert tokens.person(store, "rct_guess") is None


def test_a_token_with_a_higher_role_than_its_user_is_refused(store: Store) -> None:
    refusal = r"^bob is reviewer, so a token of theirs cannot be admin\. Nothing was changed; give it the role reviewer"
    with pytest.raises(tokens.RoleTooHigh, match=refusal), store.begin() as tx:
        tokens.add(tx, "whole", "bob", Role.ADMIN, by="ada")
    with store.begin() as tx:
        equal = tokens.add(tx, "equal", "bob", Role.REVIEWER, by="ada")

    person = tokens.person(store, equal)

    assert person is not None
    assert person.role is Role.REVIEWER


# What is stored


@pytest.mark.parametrize(
    "forged",
    [
        sa.update(tables.users).where(tables.users.c.name == "bob").values(role="admin"),
        sa.update(tables.users).where(tables.users.c.name == "bob").values(password="$argon2id$another"),
        sa.update(tables.tokens).values(role="admin"),
        sa.update(tables.tokens).values(expires_at=None),
        sa.update(tables.sessions).values(user="ada"),
    ],
    ids=["role", "password", "token's role", "token's expiry", "session's user"],
)
def test_who_only_writes_the_database_becomes_nobody(store: Store, clock: FixedClock, forged: sa.Update) -> None:
    session = sign_in(store)
    with store.begin() as tx:
        token = tokens.add(tx, "nightly", "bob", by="ada", expires=clock.now + dt.timedelta(days=1))
    with store.begin() as tx:
        tx.connection.execute(forged)

    person = tokens.person(store, token)

    if forged.table.name == "sessions":
        assert not is_in(store, session)
    else:
        assert person is None
        problem = proof.prove(store, {}).problem
        assert problem is not None
        assert "the user bob differs from what this entry recorded" in problem.sentence


RowsOf = dict[str, list[dict[str, object]]]
ACCESS = ("users", "tokens", "sessions", "facts")


def _saved(store: Store) -> RowsOf:
    """What grants access, as somebody with the database could keep it: the digests, too."""
    with store.read() as tx:
        query = {name: sa.select(tables.metadata.tables[name]) for name in ACCESS}
        return {name: [dict(row) for row in tx.connection.execute(query[name]).mappings()] for name in ACCESS}


def _put_back(store: Store, saved: RowsOf) -> None:
    with store.begin() as tx:
        for name in reversed(ACCESS):
            tx.connection.execute(sa.delete(tables.metadata.tables[name]))
        for name in ACCESS:
            if saved[name]:
                tx.connection.execute(sa.insert(tables.metadata.tables[name]), saved[name])


def _sign_out(store: Store, session: sessions.SignedIn) -> None:
    sessions.sign_out(store, session.secret)


def _sign_in_again(store: Store, session: sessions.SignedIn) -> None:
    sessions.sign_in(store, "bob", PASSWORD, HERE, LIFETIME, former=session.secret)


def _change_password(store: Store, _session: sessions.SignedIn) -> None:
    with store.begin() as tx:
        users.set_password(tx, "bob", "another horse battery", by="ada")


def _disable_and_enable(store: Store, _session: sessions.SignedIn) -> None:
    with store.begin() as tx:
        users.disable(tx, "bob", by="ada")
    with store.begin() as tx:
        users.enable(tx, "bob", by="ada")


@pytest.mark.parametrize("end", [_sign_out, _sign_in_again, _change_password, _disable_and_enable])
def test_a_session_that_ended_stays_ended_when_its_row_is_put_back(
    store: Store, end: Callable[[Store, sessions.SignedIn], None]
) -> None:
    session = sign_in(store)
    row = next(row for row in _saved(store)["sessions"] if row["user"] == "bob")
    end(store, session)
    with store.begin() as tx:
        tx.connection.execute(sa.insert(tables.sessions), row)

    problem = proof.prove(store, {}).problem

    assert not is_in(store, session)
    assert problem is not None
    assert problem.sentence.startswith("a session of bob ")
    assert problem.sentence.endswith("outside Reconcile")


@pytest.mark.parametrize("column", ["ends_at", "seen_at", "started_at"])
def test_a_session_whose_times_are_moved_is_over_and_named(store: Store, clock: FixedClock, column: str) -> None:
    session = sign_in(store)
    later = clock.now + dt.timedelta(days=30)
    with store.begin() as tx:
        tx.connection.execute(sa.update(tables.sessions).values({column: later}))

    problem = proof.prove(store, {}).problem

    assert not is_in(store, session)
    assert problem is not None
    assert "a session of bob differs from what Reconcile stored" in problem.sentence


def test_a_session_of_an_earlier_version_ends_and_is_no_tampering(store: Store) -> None:
    session = sign_in(store)
    with store.begin() as tx:
        tx.connection.execute(sa.update(tables.sessions).values(seal=None))

    assert not is_in(store, session)
    assert proof.prove(store, {}).problem is None


def test_a_revoked_token_and_a_former_role_stay_so_when_they_are_put_back_with_their_digests(store: Store) -> None:
    with store.begin() as tx:
        users.set_role(tx, "bob", Role.ADMIN, by="ada")
    with store.begin() as tx:
        token = tokens.add(tx, "nightly", "bob", by="ada")
    saved = _saved(store)
    before = tokens.person(store, token)
    with store.begin() as tx:
        tokens.revoke(tx, "nightly", by="ada")
    with store.begin() as tx:
        users.set_role(tx, "bob", Role.VIEWER, by="ada")

    _put_back(store, saved)

    assert before is not None
    assert tokens.person(store, token) is None
    with pytest.raises(SignInRefused):
        sign_in(store)
    problem = proof.prove(store, {}).problem
    assert problem is not None
    assert "the user bob differs from what this entry recorded" in problem.sentence


def test_every_change_is_in_the_log_and_no_secret_is_anywhere(store: Store, tmp_path: Path) -> None:
    session = sign_in(store)
    with store.begin() as tx:
        token = tokens.add(tx, "nightly", "bob", by="ada")
        users.set_role(tx, "bob", Role.OPERATOR, by="ada", sees_personal=True)
        users.set_password(tx, "bob", "another horse battery", by="bob")
        tokens.revoke(tx, "nightly", by="ada")
        users.disable(tx, "bob", by="ada")
        users.enable(tx, "bob", by="ada")
    with pytest.raises(SignInRefused):
        sign_in(store, "mistyped-password")

    with store.read() as tx:
        entries = [(entry.actor, entry.event) for entry in log.entries(tx)]
        rows = [str(list(tx.connection.execute(sa.select(table)))) for table in tables.metadata.sorted_tables]
    assert entries == [
        ("test", "user.added"),
        ("test", "user.added"),
        ("bob", "session.begun"),
        ("ada", "token.added"),
        ("ada", "user.role_changed"),
        ("bob", "user.password_changed"),
        ("ada", "token.revoked"),
        ("ada", "user.disabled"),
        ("ada", "user.enabled"),
    ]
    assert proof.prove(store, {}).problem is None
    secrets = (PASSWORD, "another horse", token, session.secret.partition(":")[2], session.csrf, "mistyped-password")
    assert [secret for secret in secrets if any(secret in text for text in rows)] == []


# The command line


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "orders.csv").write_text(ORDERS)
    return Project(tmp_path).write(FILES)


def started(project: Project, *words: str, typed: str = "") -> tuple[int, str]:
    """A command that reads its standard input."""
    answer = replace(project, typed=typed)(*words)
    return answer.code, answer.said


@pytest.mark.slow
def test_the_first_user_is_added_to_a_new_state_and_the_last_administrator_stays(project: Project) -> None:
    added = started(project, "users", "add", "ada", "--role", "admin", typed=f"{PASSWORD}\n")
    short = started(project, "users", "add", "bob", typed="short\n")
    without = started(project, "users", "add", "bob", "--no-password")
    listed = project("users", "--json").json

    assert added == (0, "ada is added as admin.\n")
    assert short == (2, "This password is shorter than 12 characters. Nothing was changed; choose another\n")
    assert without == (0, "bob is added as viewer.\n")
    assert [(user["user"], user["role"], user["password"]) for user in listed] == [
        ("ada", "admin", True),
        ("bob", "viewer", False),
    ]
    in_words(project("users", "role", "ada", "viewer"), 4, "ada is the only administrator")
    in_words(project("users", "disable", "ada"), 4, "ada is the only administrator")
    in_words(
        project("users", "role", "bob", "king"), 2, "`king` is not a role; use viewer, reviewer, operator or admin"
    )
    in_words(project("users", "role", "bobb", "viewer"), 2, "There is no user `bobb`; did you mean `bob`?")
    in_words(project("users", "add", "ada", "--no-password"), 4, "User ada already exists")
    in_words(project("users", "add", "Ada ", "--no-password"), 2, "`Ada ` cannot be a name")
    assert project("users", "role", "bob", "admin", "--personal-data").code == 0
    assert project("users", "disable", "ada").code == 0


@pytest.mark.slow
def test_a_token_is_printed_once_and_named_afterwards(project: Project) -> None:
    assert started(project, "users", "add", "ada", "--role", "admin", typed=f"{PASSWORD}\n")[0] == 0

    answer = project("tokens", "add", "nightly", "--user", "ada", "--role", "viewer", "--expires", "90d")
    listed = project("tokens")

    token = answer.out.strip()
    assert token.startswith(tokens.PREFIX)
    assert token not in listed.said
    assert "nightly" in listed.out
    with closing(sqlite3.connect(project.folder / "reconcile.db")) as state:
        assert token not in "".join(state.iterdump())
    in_words(project("tokens", "add", "old", "--user", "ada", "--expires", "2020-01-01"), 2, "would never work")
    project("users", "add", "bob", "--role", "reviewer", "--no-password")
    beyond = project("tokens", "add", "beyond", "--user", "bob", "--role", "admin")
    in_words(beyond, 4, "bob is reviewer, so a token of theirs cannot be admin")
    in_words(project("tokens", "revoke", "nigtly"), 2, "There is no token `nigtly`; did you mean `nightly`?")
    assert project("tokens", "revoke", "nightly").out == "Token nightly is revoked.\n"
    assert project("tokens").out == ""
