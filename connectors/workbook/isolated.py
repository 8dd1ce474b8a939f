"""Start Python for work on untrusted files: it runs nothing from the working directory and gets no secret."""

from __future__ import annotations

import os
import sys
from pathlib import Path

KEPT = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""The variables an installation may need to find its libraries; no other is passed on."""
PACKAGES = str(Path(__file__).resolve().parents[2])
"""The folder that holds our packages."""


def program(code: str) -> list[str]:
    """The command that runs `code` in an isolated Python which finds the packages that this process finds.

    Python's own modules and those of its installation come first, so that nothing can take their place.
    """
    more = f"import sys; sys.path += [path for path in {search_path()!r} if path not in sys.path]"
    return [sys.executable, "-I", "-X", "utf8", "-c", f"{more}; {code}"]


def search_path() -> list[str]:
    """The module path of this process without the working directory, with the folder of our packages last."""
    working_directory = _working_directory()
    paths = [path for path in sys.path if Path(path).is_absolute() and os.path.realpath(path) != working_directory]
    return [path for path in paths if path != PACKAGES] + [PACKAGES]


def environment() -> dict[str, str]:
    """The environment of the started process, without the passwords and tokens of this one."""
    return {name: os.environ[name] for name in KEPT if name in os.environ}


def _working_directory() -> str | None:
    try:
        return os.path.realpath(Path.cwd())
    except FileNotFoundError:
        return None
