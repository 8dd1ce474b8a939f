"""A folder that was prepared once, for many tests that go on from there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


class KeptFolder:
    """The files of a folder, which tests may change and delete.

    They stay the same ones for the file system, in the same folder: by that, plans know their database.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._links = folder.with_name(f"{folder.name}-kept")
        self._links.mkdir()
        self._files: dict[str, tuple[bytes, int]] = {}
        for file in folder.iterdir():
            os.link(file, self._links / file.name)
            self._files[file.name] = (file.read_bytes(), file.stat().st_mode)

    def restored(self) -> Path:
        """Put every file back as it was, remove all others, and return the folder."""
        shutil.rmtree(self._folder)
        self._folder.mkdir()
        for name, (content, mode) in self._files.items():
            link = self._links / name
            link.write_bytes(content)
            link.chmod(mode)
            os.link(link, self._folder / name)
        return self._folder
