"""Anchors: what they take they hold, what they cannot take is retried and told, and nothing waits for the network."""

import datetime as dt
import json
import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sa
from pydantic import SecretStr, ValidationError

from notifications.base import Notice
from notifications.file import FileSettings
from notifications.slack.channel import SlackSettings
from reconcile.audit import anchoring, checkpoints, log, proof
from reconcile.audit.anchors.base import Anchor, AnchorError, Torn
from reconcile.audit.anchors.file import FileAnchor
from reconcile.audit.anchors.git import GitAnchor
from reconcile.audit.anchors.settings import (
    AuditSettings,
    FileAnchorSettings,
    GitSettings,
    SlackAnchorSettings,
    SyslogSettings,
)
from reconcile.audit.anchors.slack import SlackAnchor
from reconcile.audit.anchors.syslog import SyslogAnchor
from reconcile.audit.proof import prove
from reconcile.audit.verifier import Mark
from reconcile.messages import outbox, watchdog
from reconcile.store import Store, tables
from reconcile.testing.slack_server import SlackServer
from reconcile.upkeep import backup, restore
from tests.support.servers import STATE
from tests.support.store import FixedClock, in_parallel

NOW = dt.timedelta(0)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def store(tmp_path: Path, clock: FixedClock) -> Iterator[Store]:
    with Store.open(STATE, tmp_path, clock=clock) as store:
        yield store


def write(store: Store, count: int = 1) -> None:
    with store.begin() as tx:
        for _ in range(count):
            log.append(tx, "reconcile", "note", "x", {})


def marks(store: Store, *seqs: int) -> list[Mark]:
    return [checkpoints.mark(store, seq, f"{seq:064x}", "2026-11-21T12:00:00.000000Z") for seq in seqs]


def file_anchor(root: Path, path: str = "anchor.jsonl") -> FileAnchor:
    return FileAnchor("log", FileAnchorSettings(type="file", path=path), root, {})


def git_anchor(root: Path, **settings: Any) -> GitAnchor:
    return GitAnchor("repo", GitSettings(type="git", path="repo", **settings), root, {})


@pytest.fixture
def slack() -> Iterator[SlackServer]:
    with SlackServer() as server:
        yield server


def slack_anchor(server: SlackServer, channel: str = "#finance-ops") -> SlackAnchor:
    token = SecretStr("xoxb-for-tests")
    bot = SlackSettings(type="slack", token=token, channel=channel, base_url=server.base_url, timeout=5)
    return SlackAnchor("ops", SlackAnchorSettings(type="slack", channel="ops"), Path(), {"ops": bot})


Made = Callable[[], Anchor]


@pytest.fixture(params=["file", "git", "slack"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Made:
    """The same anchor, opened anew each time."""
    if request.param == "slack":
        server: SlackServer = request.getfixturevalue("slack")
        return lambda: slack_anchor(server)
    return (lambda: file_anchor(tmp_path)) if request.param == "file" else (lambda: git_anchor(tmp_path))


# Every kind that can be read back


def test_what_an_anchor_took_it_holds_in_order_and_for_that_store_alone(made: Made, store: Store) -> None:
    anchor = made()
    ours, theirs = marks(store, 100, 200, 1_234_567), [replace(marks(store, 3)[0], store="st_other")]
    for mark in (ours[0], theirs[0], *ours[1:]):
        assert anchor.write(mark)

    again = made()
    assert list(again.read(store.id)) == ours
    assert list(again.read("st_other")) == theirs
    assert list(again.read("st_nobody")) == []


def test_an_anchor_that_took_nothing_yet_holds_nothing(made: Made, store: Store) -> None:
    anchor = made()
    assert list(anchor.read(store.id)) == []


def test_a_head_that_is_written_twice_does_no_harm(made: Made, store: Store) -> None:
    write(store, 100)
    log.checkpoint(store)
    with store.read() as tx:
        *_, mark = checkpoints.all_of(tx)
    for _ in range(2):
        made().write(mark)

    result = proof.prove(store, {"it": made()})

    assert (result.problem, result.anchored) == (None, 100)


# The file


def test_a_line_that_a_crash_cut_off_stays_and_the_next_begins_a_new_one(tmp_path: Path, store: Store) -> None:
    first, second = marks(store, 1, 2)
    anchor = file_anchor(tmp_path)
    anchor.write(first)
    with (tmp_path / "anchor.jsonl").open("a") as file:
        file.write('{"seq": 2, "he')

    anchor.write(second)

    held = list(anchor.read(store.id))
    assert [item for item in held if isinstance(item, Mark)] == [first, second]
    assert [item.where.rpartition("/")[2] for item in held if isinstance(item, Torn)] == ["anchor.jsonl, line 2"]


def test_a_file_is_never_rewritten(tmp_path: Path, store: Store) -> None:
    """What `chattr +a` allows is enough: opened for appending, not truncated, not replaced."""
    anchor, path = file_anchor(tmp_path), tmp_path / "anchor.jsonl"
    anchor.write(marks(store, 1)[0])
    before, inode = path.read_bytes(), path.stat().st_ino

    anchor.write(marks(store, 2)[0])

    assert path.read_bytes().startswith(before)
    assert path.stat().st_ino == inode


@pytest.mark.slow
def test_processes_that_write_at_once_tear_no_line(tmp_path: Path, store: Store) -> None:
    code = """
    from reconcile.audit import checkpoints
    from reconcile.audit.anchors.file import FileAnchor
    from reconcile.audit.anchors.settings import FileAnchorSettings
    anchor = FileAnchor("log", FileAnchorSettings(type="file", path="anchor.jsonl"), root, {})
    with Store.open(url, root) as store:
        for n in range(50):
            anchor.write(checkpoints.mark(store, os.getpid() * 100 + n, "aa" * 32, "now"))
    """

    in_parallel(4, code, STATE, tmp_path)

    held = list(file_anchor(tmp_path).read(store.id))
    assert (len(held), all(isinstance(item, Mark) for item in held)) == (200, True)


@pytest.mark.parametrize("path", ["no/such/folder/a.jsonl", "."])
def test_a_file_that_cannot_be_written_is_said_in_a_sentence(path: str, tmp_path: Path, store: Store) -> None:
    with pytest.raises(AnchorError, match=r"The anchor 'log' cannot be written .*: .+\)"):
        file_anchor(tmp_path, path).write(marks(store, 1)[0])


# Git


def _git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


def test_commits_are_ours_whoever_the_user_is_and_run_no_hook(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    _git(tmp_path, "init", "-q", "-b", "main", "repo")
    (tmp_path / "repo" / "mine.txt").write_text("in the work tree")
    hook = tmp_path / "repo" / ".git" / "hooks" / "reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/hooked\nexit 1\n")
    hook.chmod(0o755)
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "somebody")

    git_anchor(tmp_path).write(marks(store, 1)[0])

    monkeypatch.undo()
    assert _git(tmp_path / "repo", "log", "--format=%an <%ae>", "reconcile-audit") == "Reconcile <reconcile@localhost>"
    assert not (tmp_path / "hooked").exists()
    assert _git(tmp_path / "repo", "status", "--porcelain") == "?? mine.txt"


def test_a_push_takes_the_heads_to_another_repository(tmp_path: Path, store: Store) -> None:
    _git(tmp_path, "init", "-q", "--bare", "remote.git")
    _git(tmp_path, "init", "-q", "repo")
    _git(tmp_path / "repo", "remote", "add", "origin", str(tmp_path / "remote.git"))

    git_anchor(tmp_path, push="origin").write(marks(store, 7)[0])

    present = _git(tmp_path / "remote.git", "log", "--format=%B", "reconcile-audit")
    assert Mark.of(json.loads(present)) == marks(store, 7)[0]


def test_a_push_that_fails_is_an_error_and_is_made_good_by_the_next(tmp_path: Path, store: Store) -> None:
    _git(tmp_path, "init", "-q", "repo")
    _git(tmp_path / "repo", "remote", "add", "origin", str(tmp_path / "remote.git"))
    first, second = marks(store, 7, 8)
    with pytest.raises(AnchorError, match="git push ended with 128"):
        git_anchor(tmp_path, push="origin").write(first)

    _git(tmp_path, "init", "-q", "--bare", "remote.git")
    git_anchor(tmp_path, push="origin").write(second)

    assert _git(tmp_path / "remote.git", "rev-list", "--count", "reconcile-audit") == "2"


PROGRAMS = {
    "core.hooksPath": "{folder}",
    "core.fsmonitor": "{program}",
    "core.sshCommand": "{program}",
    "core.askPass": "{program}",
    "core.alternateRefsCommand": "{program}",
    "core.pager": "{program}",
    "core.editor": "{program}",
    "credential.helper": "!{program}",
    "gpg.program": "{program}",
    "gpg.ssh.program": "{program}",
    "commit.gpgSign": "true",
    "push.gpgSign": "true",
    "log.showSignature": "true",
    "remote.origin.receivepack": "{program}",
    "remote.origin.uploadpack": "{program}",
}
"""Settings of a repository that name a program, or have one run."""


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["{folder}/remote.git", "file://{folder}/remote.git", "ssh://127.0.0.1:9/r", "ext"])
def test_no_program_that_the_settings_of_the_repository_or_of_its_user_name_is_run(
    scheme: str, tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran, program = tmp_path / "ran", tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho $0 $* $RECONCILE_TEST_SECRET >> {ran}\nexit 1\n")
    program.chmod(0o755)
    _git(tmp_path, "init", "-q", "--bare", "remote.git")
    _git(tmp_path, "init", "-q", "repo")
    for folder in ("repo/.git/hooks", "remote.git/hooks"):
        for hook in ("pre-push", "pre-receive", "update", "reference-transaction", "post-receive", "post-update"):
            (tmp_path / folder).mkdir(exist_ok=True)
            (tmp_path / folder / hook).symlink_to(program)
    url = f"ext::{program} %S" if scheme == "ext" else scheme.format(folder=tmp_path)
    programs = {name: value.format(folder=tmp_path, program=program) for name, value in PROGRAMS.items()}
    home = tmp_path / "home"
    home.mkdir()
    for name, value in (programs | {"remote.origin.url": url, "protocol.ext.allow": "always"}).items():
        _git(tmp_path / "repo", "config", name, value)
        _git(tmp_path / "repo", "config", "--file", str(home / ".gitconfig"), name, value)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("RECONCILE_TEST_SECRET", "canary")
    for name in ("GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "SSH_ASKPASS", "GIT_PAGER"):
        monkeypatch.setenv(name, str(program))
    anchor, mark = git_anchor(tmp_path, push="origin"), marks(store, 1)[0]

    if "remote.git" in scheme:
        anchor.write(mark)
    else:
        with pytest.raises(AnchorError, match="git push ended with 128"):
            anchor.write(mark)

    assert list(anchor.read(store.id)) == [mark]
    assert not ran.exists(), ran.read_text()


def test_git_is_told_nothing_of_our_environment_but_what_it_needs(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "bin" / "git"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\nenv > {tmp_path}/environment\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    for name in ("PGPASSWORD", "SLACK_BOT_TOKEN", "LD_PRELOAD_X", "GIT_DIR", "GIT_CONFIG_COUNT", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, "canary")

    with pytest.raises(AnchorError):
        git_anchor(tmp_path).write(marks(store, 1)[0])

    told = (tmp_path / "environment").read_text()
    assert "canary" not in told
    assert "GIT_ALLOW_PROTOCOL=file:ssh:https\n" in told


def test_a_folder_that_is_no_repository_is_not_taken_for_the_one_around_it(tmp_path: Path, store: Store) -> None:
    _git(tmp_path, "init", "-q")
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "HEAD").write_text("not a repository")

    with pytest.raises(AnchorError, match="cannot be used"):
        git_anchor(tmp_path).write(marks(store, 1)[0])

    assert _git(tmp_path, "for-each-ref") == ""


def test_what_is_no_option_of_ours_is_no_name_of_a_remote() -> None:
    with pytest.raises(ValidationError, match="name of a remote"):
        GitSettings(type="git", path="repo", push="--upload-pack=sh")


# Slack


def test_a_slack_message_says_what_it_is_to_people(slack: SlackServer, store: Store) -> None:
    slack_anchor(slack).write(marks(store, 1_234_567)[0])

    [message] = slack.parents()
    assert "entry 1,234,567 of 2026-11-21 12:00 UTC" in message["text"]


@pytest.mark.slow
def test_slack_pages_are_read_to_the_oldest(slack: SlackServer, store: Store) -> None:
    anchor, wrote = slack_anchor(slack), marks(store, *range(1, 231))
    for mark in wrote:
        anchor.write(mark)

    assert list(anchor.read(store.id)) == wrote


@pytest.mark.slow
@pytest.mark.parametrize(
    ("left", "code", "said"),
    [
        (
            range(2, 5),
            None,
            "shows its heads from entry 3 on; those up to entry 2 can no longer be seen, because a work",
        ),
        ((0, 1, 3, 4), 3, "received the head of this entry and no longer has it"),
        (range(4), 5, "received the head of this entry and no longer has it"),
        (
            (),
            5,
            "shows neither that head nor a later one: they were deleted, or they are too old, because a workspace",
        ),
    ],
    ids=["old ones are hidden", "one is gone", "the last is gone", "none is seen"],
)
def test_what_slack_hides_for_its_age_is_told_from_what_is_gone(
    slack: SlackServer, store: Store, clock: FixedClock, left: Sequence[int], code: int | None, said: str
) -> None:
    for _ in range(5):
        write(store)
        assert carry(store, slack_anchor(slack)).written
        clock.sleep(60)
    slack.messages[:] = [slack.messages[place] for place in left]

    result = proof.prove(store, {"it": slack_anchor(slack)})

    assert (result.problem and result.problem.seq) == code
    [sentence] = [remark for remark in (*result.remarks, result.problem and result.problem.sentence) if remark]
    assert sentence.startswith("the anchor 'it'")
    assert said in sentence


def test_slack_that_refuses_is_an_anchor_error_without_the_token(slack: SlackServer, store: Store) -> None:
    with pytest.raises(AnchorError, match="was not written") as told:
        slack_anchor(slack, "#nowhere").write(marks(store, 1)[0])

    assert "xoxb" not in str(told.value)


def test_slack_that_shows_no_history_is_not_readable(slack: SlackServer) -> None:
    with pytest.raises(AnchorError, match="cannot be read back"):
        list(slack_anchor(slack, "#nowhere").read("st_0"))


@pytest.mark.parametrize(
    "channel",
    [
        None,
        FileSettings(type="file", path="x"),
        SlackSettings(type="slack", webhook_url=SecretStr("https://hooks.slack.com/x")),
    ],
)
def test_a_slack_anchor_needs_a_bot(channel: object) -> None:
    with pytest.raises(AnchorError, match="needs a Slack channel with a bot token"):
        SlackAnchor(
            "ops", SlackAnchorSettings(type="slack", channel="ops"), Path(), {"ops": channel} if channel else {}
        )


# Syslog


def _syslog(address: str) -> SyslogAnchor:
    return SyslogAnchor("away", SyslogSettings(type="syslog", address=address, timeout=2), Path(), {})


def _of(message: bytes, mark: Mark) -> bool:
    head, _, output = message.decode().partition(" audit-anchor - ")
    version = head.split(" ")
    return version[0] == "<109>1" and version[1] == mark.at and Mark.of(json.loads(output)) == mark


def test_a_log_server_gets_heads_as_rfc_5424_messages_over_udp_and_a_socket(tmp_path: Path, store: Store) -> None:
    [mark] = marks(store, 5)
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as here,
    ):
        udp.bind(("127.0.0.1", 0))
        here.bind(str(tmp_path / "log"))

        _syslog(f"udp://127.0.0.1:{udp.getsockname()[1]}").write(mark)
        _syslog(str(tmp_path / "log")).write(mark)

        assert _of(udp.recv(9_000), mark)
        assert _of(here.recv(9_000), mark)


def test_a_log_server_gets_heads_over_tcp_with_their_length(store: Store) -> None:
    [mark] = marks(store, 5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        got: list[bytes] = []

        def serve() -> None:
            connection, _ = server.accept()
            with connection, connection.makefile("rb") as stream:
                got.append(stream.read())

        thread = threading.Thread(target=serve)
        thread.start()
        _syslog(f"tcp://127.0.0.1:{server.getsockname()[1]}").write(mark)
        thread.join(10)

    length, _, message = got[0].partition(b" ")
    assert int(length) == len(message)
    assert _of(message, mark)


def test_a_log_server_that_is_not_there_is_said_and_none_can_be_read_back(tmp_path: Path, store: Store) -> None:
    with pytest.raises(AnchorError, match="cannot be written"):
        _syslog(str(tmp_path / "nowhere")).write(marks(store, 1)[0])
    with pytest.raises(AnchorError, match="compare the copy that the log server keeps"):
        list(_syslog("/dev/log").read(store.id))


@pytest.mark.parametrize("address", ["log", "http://host:80", "udp://host", "udp://user@host:514", "tcp://host:x"])
def test_an_address_that_is_none_of_a_log_server_is_refused(address: str) -> None:
    with pytest.raises(ValidationError, match="`address` is a socket's path"):
        SyslogSettings(type="syslog", address=address)


def test_settings_say_how_often_and_of_which_kind() -> None:
    settings = {"ops": {"type": "slack", "channel": "ops"}, "log": {"type": "file", "path": "a", "every": "5m"}}

    anchors = AuditSettings.model_validate({"anchors": settings}).anchors

    assert {name: item.every for name, item in anchors.items()} == {
        "ops": dt.timedelta(days=1),
        "log": dt.timedelta(minutes=5),
    }


# SlotRun


class Flaky:
    """An anchor that fails until it is mended."""

    def __init__(self, during: Callable[[], None] = lambda: None) -> None:
        self.taken: list[int] = []
        self.tries = 0
        self.broken = True
        self._during = during

    def write(self, mark: Mark) -> Mapping[str, str]:
        self.tries += 1
        self._during()
        if self.broken:
            raise AnchorError("it", "cannot be written (no answer)")
        self.taken.append(mark.seq)
        return {"where": "here"}

    def read(self, _store: str) -> Iterator[Mark]:
        raise AnchorError("it", "cannot be read back")


def carry(store: Store, anchor: Anchor, every: dt.timedelta = NOW) -> anchoring.AnchoringReport:
    return anchoring.write_due(store, {"it": anchor}, {"it": every})


def status(store: Store) -> dict[int, str]:
    with store.read() as tx:
        mine = tables.anchors.c
        rows = tx.connection.execute(sa.select(mine.seq, mine.status).order_by(mine.seq))
        return {seq: status for seq, status in rows}  # noqa: C416 - rows are no pairs to mypy


def test_the_end_of_the_log_is_signed_and_written_once(store: Store, tmp_path: Path) -> None:
    write(store, 3)

    reports = [carry(store, file_anchor(tmp_path)) for _ in range(3)]

    assert [report.written for report in reports] == [{"it": 3}, {}, {}]
    assert [mark.seq for mark in file_anchor(tmp_path).read(store.id) if isinstance(mark, Mark)] == [3]
    with store.read() as tx:
        assert anchoring.receipts(tx, "it")[0]["receipt"]["file"].endswith("anchor.jsonl")


def test_no_more_often_than_every(store: Store, tmp_path: Path, clock: FixedClock) -> None:
    wrote = []
    for _ in range(5):
        write(store)
        wrote += carry(store, file_anchor(tmp_path), dt.timedelta(minutes=2)).written.values()
        clock.sleep(60)

    assert wrote == [1, 3, 5]


def test_what_fails_is_tried_again_at_a_time_that_does_not_depend_on_the_process(
    store: Store, clock: FixedClock
) -> None:
    anchor = Flaky()
    write(store)
    first = carry(store, anchor)
    at_once = carry(store, anchor)
    clock.sleep(20 * 60)
    anchor.broken = False
    later = carry(store, anchor)

    assert (first.failed, at_once.failed) == ({"it": "The anchor 'it' cannot be written (no answer)"}, {})
    assert (later.written, anchor.tries) == ({"it": 1}, 2)


def test_a_newer_head_takes_the_place_of_one_that_still_waits_and_its_turn(store: Store, clock: FixedClock) -> None:
    anchor = Flaky()
    for _ in range(3):
        write(store)
        carry(store, anchor)

    tries = anchor.tries
    clock.sleep(20 * 60)
    anchor.broken = False
    carry(store, anchor)

    assert tries == 1
    assert (anchor.taken, status(store)) == ([3], {1: "failed", 2: "failed", 3: "written"})


def test_an_anchor_that_fails_for_an_hour_is_a_trouble_and_ends_when_it_works(store: Store, clock: FixedClock) -> None:
    anchor, project = Flaky(), SimpleNamespace(jobs={}, alerts=(), channels={}, timezone="UTC")
    told: list[list[str]] = []
    for minutes in (0, 30, 31, 5):
        clock.sleep(minutes * 60)
        write(store)
        anchor.broken = minutes != 5
        clock.sleep(16 * 60 if minutes == 5 else 0)
        watchdog.anchors(store, project, carry(store, anchor).late)  # type: ignore[arg-type]  # what is used of one
        with store.read() as tx:
            told.append([entry.body["subject"] for entry in log.entries(tx, event="trouble")])

    assert told == [[], [], ["anchor:it"], ["anchor:it", "anchor:it"]]


def _lose_file(root: Path) -> None:
    (root / "anchor.jsonl").unlink()


def _replace_file(root: Path) -> None:
    (root / "anchor.jsonl").write_text("")


def _rewind_branch(root: Path) -> None:
    _git(root / "repo", "update-ref", "-d", "refs/heads/reconcile-audit")


@pytest.mark.parametrize("lose", [_lose_file, _replace_file, _rewind_branch])
def test_an_anchor_that_lost_what_it_took_is_an_error_until_it_is_put_back(
    lose: Callable[[Path], None], store: Store, tmp_path: Path, clock: FixedClock
) -> None:
    anchor: Anchor = git_anchor(tmp_path) if lose is _rewind_branch else file_anchor(tmp_path)
    write(store)
    carry(store, anchor)
    (tmp_path / "anchor.jsonl").touch()
    before = (tmp_path / "anchor.jsonl").read_bytes()
    commit = _git(tmp_path / "repo", "rev-parse", "reconcile-audit") if lose is _rewind_branch else ""
    lose(tmp_path)

    write(store)
    lost = carry(store, anchor)

    assert "no longer holds the head of entry 1" in lost.failed["it"]
    with store.read() as tx:
        assert (anchoring.state(tx, "it").until, anchoring.state(tx, "it").missing) == (1, 1)
    (tmp_path / "anchor.jsonl").write_bytes(before)
    if commit:
        _git(tmp_path / "repo", "update-ref", "refs/heads/reconcile-audit", commit)
    clock.sleep(20 * 60)
    assert carry(store, anchor).written == {"it": 2}


def test_a_trouble_lasts_between_two_attempts(store: Store, clock: FixedClock) -> None:
    anchor = Flaky()
    write(store)
    carry(store, anchor)
    clock.sleep(2 * 60 * 60)
    at_the_attempt = carry(store, anchor).late
    clock.sleep(1)
    tries = anchor.tries

    between = carry(store, anchor)

    assert (anchor.tries, list(at_the_attempt), list(between.late)) == (tries, ["it"], ["it"])
    assert "1 head is not anchored" in between.late["it"]


def test_a_push_that_fails_repeats_no_commit(tmp_path: Path, store: Store) -> None:
    _git(tmp_path, "init", "-q", "repo")
    _git(tmp_path / "repo", "remote", "add", "origin", str(tmp_path / "remote.git"))
    [mark] = marks(store, 7)
    for _ in range(2):
        with pytest.raises(AnchorError, match="git push ended with 128"):
            git_anchor(tmp_path, push="origin").write(mark)

    assert _git(tmp_path / "repo", "rev-list", "--count", "reconcile-audit") == "1"


def test_nothing_is_written_to_an_anchor_inside_a_transaction_of_the_store(store: Store, tmp_path: Path) -> None:
    """A second writer gets its turn while an anchor takes its time."""
    with Store.open(STATE, tmp_path, patience=dt.timedelta(seconds=0.2)) as other_store:
        anchor = Flaky(during=lambda: write(other_store))
        anchor.broken = False
        write(store)

        report = carry(store, anchor)

    assert report.written == {"it": 1}


def test_one_that_was_killed_while_it_wrote_is_taken_over(store: Store, clock: FixedClock) -> None:
    class Killed(BaseException):
        pass

    def die() -> None:
        raise Killed

    write(store)
    with pytest.raises(Killed):
        carry(store, Flaky(during=die))
    anchor = Flaky()
    anchor.broken = False
    soon = carry(store, anchor).written
    clock.sleep(anchoring.CLAIM.total_seconds() + 1)

    assert (soon, carry(store, anchor).written) == ({}, {"it": 1})


def test_one_anchor_that_fails_keeps_no_other_from_being_written(store: Store, tmp_path: Path) -> None:
    write(store)

    report = anchoring.write_due(store, {"a": Flaky(), "b": file_anchor(tmp_path)}, {"a": NOW, "b": NOW})

    assert (report.written, list(report.failed)) == ({"b": 1}, ["a"])


def test_an_anchor_that_cannot_be_read_is_told_and_proves_nothing(store: Store, tmp_path: Path) -> None:
    write(store)
    path = tmp_path / "anchor.jsonl"
    carry(store, file_anchor(tmp_path))
    path.unlink()
    path.mkdir()

    result = proof.prove(store, {"it": file_anchor(tmp_path)})

    assert (result.anchored, result.problem) == (0, None)
    assert "cannot be read" in str(result.anchors[0].problem)


def test_heads_of_what_a_restore_ended_are_told_and_are_no_tampering(store: Store, tmp_path: Path) -> None:
    write(store, 3)
    backup.make(store, tmp_path / "backup.db")
    write(store, 4)
    carry(store, file_anchor(tmp_path))
    restore.restore(store, tmp_path / "backup.db", yes=True)

    with Store.open(STATE, tmp_path) as again:
        write(again, 5)
        carry(again, file_anchor(tmp_path))
        result = proof.prove(again, {"it": file_anchor(tmp_path)})

    assert (result.problem, result.anchored, result.entries) == (None, 9, 9)
    assert result.remarks == ("a restore at entry 4 replaced entries 4 to 7",)


def test_a_log_that_was_cut_before_it_was_replaced_by_a_backup_is_named(store: Store, tmp_path: Path) -> None:
    write(store, 3)
    backup.make(store, tmp_path / "backup.db")
    write(store, 4)
    carry(store, file_anchor(tmp_path))
    with store.begin() as tx:
        for statement in (
            "DELETE FROM anchors",
            "DELETE FROM checkpoints",
            "DELETE FROM audit_bodies WHERE seq > 5",
            "DELETE FROM audit WHERE seq > 5",
            "UPDATE audit_head SET seq = 5, head = (SELECT head FROM audit WHERE seq = 5)",
        ):
            tx.connection.execute(sa.text(statement))
    restore.restore(store, tmp_path / "backup.db", yes=True)

    with Store.open(STATE, tmp_path) as again:
        problem = proof.prove(again, {"it": file_anchor(tmp_path)}).problem

    assert problem is not None
    assert (problem.seq, "the log that was replaced there was not whole" in problem.sentence) == (4, True)


def test_a_store_without_anchors_is_signed_all_the_same(store: Store) -> None:
    write(store)

    assert anchoring.write_due(store, {}, {}) == anchoring.AnchoringReport()
    assert proof.prove(store, {}).signed == 1


def test_only_the_owner_can_write_an_anchor_file(tmp_path: Path, store: Store) -> None:
    file_anchor(tmp_path).write(marks(store, 1)[0])

    assert os.stat(tmp_path / "anchor.jsonl").st_mode & 0o022 == 0  # noqa: PTH116 - what the system says


MINUTE = dt.timedelta(minutes=1)


NOON = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)


def queue(store: Store, name: str, channel: str) -> None:
    with store.begin() as tx:
        outbox.enqueue(tx, channel, Notice(id=name, job="nightly", run="run1_x", slot=NOON, test=True))


@pytest.mark.slow
def test_a_channel_too_busy_to_be_read_to_its_anchor_is_no_tampering(tmp_path: Path) -> None:
    """Ten thousand messages later the head is there still, and cannot be reached."""
    with SlackServer() as slack, Store.open("sqlite:///reconcile.db", tmp_path) as store:
        token = SecretStr("xoxb-for-tests")
        bot = SlackSettings(type="slack", token=token, channel="#finance-ops", base_url=slack.base_url)
        anchor = SlackAnchor("team", SlackAnchorSettings(type="slack", channel="ops"), tmp_path, {"ops": bot})
        queue(store, "m1", "post")
        assert anchoring.write_due(store, {"team": anchor}, {"team": MINUTE}).written
        [head] = slack.messages
        slack.messages += [head | {"ts": f"{head['ts']}{n:06d}", "metadata": None} for n in range(10_000)]

        result = prove(store, {"team": anchor})

    assert result.problem is None
    assert "lists more than 10,000 messages" in (result.anchors[0].problem or "")
