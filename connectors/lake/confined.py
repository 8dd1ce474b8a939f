"""Open files for pyiceberg: local ones only below a folder, object stores, and nothing for writing."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

from pyarrow.fs import LocalFileSystem
from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO

from connectors.disk.opened_file import open_beneath
from connectors.errors import FileRefused
from connectors.lake.places import STORES

ROOT = "reconcile.root"
"""The property with the folder."""


class ConfinedFileIO(PyArrowFileIO):
    """Opens what a catalogue and the metadata of a table name. Raises FileRefused for what is not to be read."""

    def new_input(self, location: str) -> PyArrowFile:
        scheme, _, path = self.parse_location(location)
        if scheme in STORES:
            return super().new_input(location)
        if scheme != "file":
            remedy = "store the table in a folder or an object store"
            raise FileRefused(location, f"files at {scheme}: are not supported", remedy)
        return self._local(location, Path(path))

    def _local(self, location: str, path: Path) -> PyArrowFile:
        root = Path(self.properties[ROOT]).resolve()
        real = path.resolve()
        if not real.is_relative_to(root):
            reason = "it is outside the root of its source"
            raise FileRefused(str(path), reason, "set `root` of the source to the folder with the tables")
        if not real.is_file():
            raise FileNotFoundError(str(path))
        return _HeldFile(location, open_beneath(root, real.relative_to(root).as_posix()))

    def new_output(self, location: str) -> NoReturn:
        raise FileRefused(location, "it would be written", "report this: reading never writes")

    def delete(self, location: Any) -> NoReturn:
        raise FileRefused(str(location), "it would be deleted", "report this: reading never deletes")


class _HeldFile(PyArrowFile):
    """A local file that was opened before, so that no link can be put in its place."""

    def __init__(self, location: str, file: Any) -> None:
        super().__init__(location=location, path=file.path, fs=LocalFileSystem())
        self._held = file
