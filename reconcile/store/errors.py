"""What can go wrong with the store, one class per failure, each with its sentence and the way to react."""

from __future__ import annotations

from connectors.errors import Reaction


class StoreError(Exception):
    """The state database cannot be used. The message is one sentence for people and holds no secret."""

    reaction = Reaction.STOP


class StoreMisnamed(StoreError):
    """`state:` names what is no place for the state: the configuration is wrong, and nothing was made or changed."""


class StoreUrlRefused(StoreMisnamed):
    """`state:` names something that cannot hold the state."""

    def __init__(self, said: str) -> None:
        super().__init__(
            f"The state cannot be kept in {said}. Write `state: sqlite:///reconcile.db` for one host, or "
            "`state: postgresql://user@host/database` when several share it"
        )


class StoreFolderMissing(StoreMisnamed):
    """`state:` names a file in a folder that does not exist; nothing was made."""

    def __init__(self, where: str, folder: str) -> None:
        super().__init__(
            f"The state cannot be kept in {where}: there is no folder {folder}. Correct `state:`, or make the folder "
            "if this is a new state"
        )


class StoreDriverMissing(StoreError):
    """The driver for PostgreSQL is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "The state is in PostgreSQL, whose driver is missing: pip install 'reconcile-runner[postgres]'"
        )


class StoreUnreachable(StoreError):
    """The store did not answer, or the connection broke before anything of this step was kept."""

    reaction = Reaction.RETRY

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"The state database {where} did not answer: {reason}. Run it again when it is up")


class StoreRefused(StoreUnreachable):
    """The server answered and did not let us in."""

    reaction = Reaction.ASK

    def __init__(self, where: str, reason: str) -> None:
        StoreError.__init__(
            self,
            f"The state database {where} refused us: {reason}. Nothing was changed; correct `state:`, or let this "
            "user in",
        )


class StoreInDoubt(StoreError):
    """The connection broke while the last step was being committed."""

    reaction = Reaction.RETRY

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(
            f"The state database {where} was lost while saving a step: {reason}. Whether that step was kept is not "
            "known; run it again, which looks first and repeats only what is missing"
        )


class StoreLocked(StoreError):
    """Somebody else held the database, a row or the file for longer than we wait; nothing was changed."""

    reaction = Reaction.RETRY

    def __init__(self, where: str, seconds: float) -> None:
        super().__init__(
            f"The state database {where} stayed locked by another process for {seconds:g} s; nothing was changed. "
            "Run it again when the other process has ended"
        )


class StoreNotWritable(StoreError):
    """The database can be read at best."""

    reaction = Reaction.ASK

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"The state database {where} cannot be written: {reason}. Give this user write access to it")


class StoreFull(StoreError):
    """No room to write; the step was rolled back whole."""

    reaction = Reaction.ASK

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"The state database {where} has no room left: {reason}. Nothing of this step was kept")


class StoreUnreadable(StoreError):
    """The file is not an SQLite database, or is damaged."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(
            f"The state database {where} cannot be read: {reason}. It was left as it is; "
            "move it away, and `reconcile restore` a backup in its place"
        )


class StoreGone(StoreError):
    """The file that was opened does not stand at its place any more; what is written to it now, nobody would find."""

    def __init__(self, where: str) -> None:
        super().__init__(
            f"The state database {where} is not the file that was opened: it was moved, deleted or replaced meanwhile. "
            "Nothing more was written; put it back, and start again what used it"
        )


class StoreForeign(StoreMisnamed):
    """The database belongs to another program."""

    def __init__(self, where: str, tables: str) -> None:
        super().__init__(
            f"{where} is another program's database (it holds {tables}); it was left as it is. "
            "Name a database of its own in `state:`"
        )


class StoreNewer(StoreError):
    """A newer Reconcile has upgraded the store."""

    def __init__(self, where: str, revision: str, ours: str) -> None:
        super().__init__(
            f"The state database {where} was upgraded by a newer Reconcile (schema {revision}; this one knows {ours}). "
            "Nothing was changed; use the newer version"
        )


class StoreKeyMissing(StoreError):
    """The store exists but its key file is gone or is another store's."""

    def __init__(self, where: str, path: str, problem: str) -> None:
        self.path, self.problem = path, problem
        super().__init__(
            f"The key file {path} of the state database {where} {problem}. Copy back the file that was made with "
            "this database: without it the subjects of the audit log cannot be named"
        )


class StoreReplaced(StoreError):
    """The state was restored from a backup while this process had it open."""

    reaction = Reaction.RETRY

    def __init__(self, where: str) -> None:
        super().__init__(
            f"The state database {where} was restored from a backup under this process; nothing of its last step was "
            "kept. Run it again, which goes on from what the backup holds"
        )
