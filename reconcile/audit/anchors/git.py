"""Commits in a git repository of its own: each holds its parent's hash, and a push takes it to another host."""

from __future__ import annotations

import fcntl
import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from reconcile.audit.anchors.base import AnchorError, HeadLost, Receipt, Torn
from reconcile.audit.anchors.settings import AnchorSettings, GitSettings
from reconcile.audit.verifier import Mark

_BRANCH = "reconcile-audit"
_REF = f"refs/heads/{_BRANCH}"
_OWN = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.fsync": "all",
    "core.sshCommand": "ssh",
    "commit.gpgSign": "false",
    "push.gpgSign": "false",
    "log.showSignature": "false",
    "credential.helper": "",  # an empty value drops all earlier helpers
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.ext.allow": "never",
}
"""Settings that override the repository's, each of which could name a program that git then runs as our user."""
_ENVIRONMENT = {
    "GIT_AUTHOR_NAME": "Reconcile",
    "GIT_AUTHOR_EMAIL": "reconcile@localhost",
    "GIT_COMMITTER_NAME": "Reconcile",
    "GIT_COMMITTER_EMAIL": "reconcile@localhost",
    "GIT_ALLOW_PROTOCOL": "file:ssh:https",
    "GIT_NO_LAZY_FETCH": "1",  # a missing object is an error, not a reason to call a remote
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "LC_ALL": "C",
}
_KEPT = ("PATH", "HOME", "SSH_AUTH_SOCK")
"""The variables that git and ssh need; the rest of our environment holds passwords and tokens."""
_REMOTE_HOST = re.compile(r"(?!file://)([a-z]+://|[^/]+:)")
_RECEIVES = "git-receive-pack"
_RECEIVES_HERE = "git -c core.hooksPath=/dev/null receive-pack"


class GitAnchor:
    """Heads as the messages of empty commits on a branch of their own; the work tree is never touched."""

    Settings: ClassVar[type[AnchorSettings]] = GitSettings

    def __init__(self, name: str, settings: GitSettings, root: Path, _channels: Mapping[str, object]) -> None:
        self.name = name
        self._folder = root / settings.path
        self._push = settings.push
        self._timeout = settings.timeout

    def write(self, mark: Mark) -> Receipt:
        """Commit on the branch, by compare-and-set, and push if a remote is set."""
        with self._locked():
            commit = self._commit(mark)
        if self._push is not None:
            self._send(self._push)
        return {"repository": str(self._folder), "commit": commit}

    def check_held(self, mark: Mark, receipt: Receipt) -> None:
        """Raise HeadLost unless the commit of the head is still on the branch."""
        held = self._git("for-each-ref", "--format=%(objectname)", f"--contains={receipt['commit']}", _REF, misses=True)
        if not held:
            raise HeadLost(self.name, f"{self._folder}, commit {receipt['commit'][:12]}", mark.seq)

    def _commit(self, mark: Mark) -> str:
        """Commit on the branch, unless its newest commit is this head: one that could not be pushed before."""
        parent_commit = self._end()
        if parent_commit and self._git("log", "-1", "--format=%B", parent_commit, "--") == mark.line():
            return parent_commit
        tree = self._git("hash-object", "-t", "tree", "-w", "--stdin")
        parent = ("-p", parent_commit) if parent_commit else ()
        commit = self._git("commit-tree", *parent, tree, text=f"{mark.line()}\n")
        self._git("update-ref", _REF, commit, parent_commit or "0" * len(commit))
        return commit

    def read(self, store: str) -> Iterator[Mark | Torn]:
        """The heads of all commits on the branch; a missing repository holds none."""
        if not self._exists or not (end := self._end()):
            return
        log = self._git("log", "--reverse", "-z", "--format=%H %B", end, "--")
        for entry in log.strip("\0").split("\0"):
            commit, _, message = entry.strip().partition(" ")
            try:
                mark = Mark.of(json.loads(message))
            except ValueError:
                yield Torn(f"{self._folder}, commit {commit[:12]}", is_last=False)
            else:
                if mark.store == store:
                    yield mark

    @property
    def _exists(self) -> bool:
        return (self._folder / ".git").exists() or (self._folder / "HEAD").exists()

    def _send(self, remote: str) -> None:
        """Push the branch. A remote on this host would run its hooks as our user, so they are turned off there too."""
        urls = self._git("remote", "get-url", "--push", "--all", remote).splitlines()
        receives = _RECEIVES if any(map(_REMOTE_HOST.match, urls)) else _RECEIVES_HERE
        self._git("push", "--quiet", "--no-verify", f"--receive-pack={receives}", remote, f"{_BRANCH}:{_BRANCH}")

    def _end(self) -> str:
        """The newest commit of the branch; empty if there is none."""
        return self._git("for-each-ref", "--format=%(objectname)", _REF)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Lock the repository for one writer; create it if needed."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(self._folder, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise AnchorError(self.name, f"cannot be written ({self._folder}: {error.strerror})") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if not self._exists:
                self._git("init", "--quiet", "--bare", "--template=")
            yield
        finally:
            os.close(handle)

    def _git(self, *arguments: str, text: str = "", misses: bool = False) -> str:
        """Run git; return its output, with `misses` nothing if it fails.

        It runs no program of the repository's settings and reads no user settings.
        """
        inherited = {name: os.environ[name] for name in _KEPT if name in os.environ}
        bounds = {"GIT_CEILING_DIRECTORIES": str(self._folder.absolute().parent)}  # if not a repository
        settings = [word for name, value in _OWN.items() for word in ("-c", f"{name}={value}")]
        try:
            process = subprocess.run(  # noqa: S603 - the program is fixed, and no shell reads the arguments
                ["git", *settings, *arguments],  # noqa: S607 - git is found by PATH
                cwd=self._folder,
                env=inherited | bounds | _ENVIRONMENT,
                input=text,
                capture_output=True,
                text=True,
                timeout=self._timeout,
                check=False,
            )
        except FileNotFoundError as error:
            raise AnchorError(self.name, "cannot be used: git is not installed") from error
        except subprocess.TimeoutExpired as error:
            raise AnchorError(self.name, f"did not answer: git {arguments[0]} took too long") from error
        if process.returncode != 0:
            if misses:
                return ""
            raise AnchorError(self.name, f"cannot be used: git {arguments[0]} ended with {process.returncode}")
        return process.stdout.strip()
