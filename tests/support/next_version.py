"""The next version of the program: it has one migration more than this one, so states of this one can be upgraded.

`install` changes the present process; a command in a process of its own is the next version if `NEXT_VERSION` is in its
environment.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from alembic.config import Config

from reconcile.store import migrations, tables

REVISION = "9999"
ENVIRON = {"NEXT_VERSION": REVISION}

_SCRIPT = '''"""A table more, and a column more in a table with rows."""

import sqlalchemy as sa
from alembic import op

revision = "{revision}"
down_revision = "{before}"


def upgrade():
    op.create_table("later", sa.Column("id", sa.Integer(), primary_key=True))
    op.add_column("findings", sa.Column("later", sa.Text()))
'''


def program(folder: Path) -> tuple[str, ...]:
    """Return the command line of the next version; its migration is written to the folder."""
    lines = (
        "from pathlib import Path",
        "from reconcile.cli import main",
        "from tests.support import next_version",
        f"next_version.install(Path({str(folder)!r}))",
        "main()",
    )
    return sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); " + "; ".join(lines)


ROOT = Path(__file__).parents[2]


def install(folder: Path, put: Callable[[object, str, object], None] = setattr) -> None:
    """Make this process the next version; its migration is written to the folder. `put` sets attributes."""
    before, config_of_this_version = tables.REVISION, migrations._config
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{REVISION}_later.py").write_text(_SCRIPT.format(revision=REVISION, before=before))

    def config() -> Config:
        config = config_of_this_version()
        ours = Path(migrations.__file__).parent / "versions"
        config.set_main_option("version_locations", f"{ours}{os.pathsep}{folder}".replace("%", "%%"))
        return config

    put(migrations, "_config", config)
    for module in list(sys.modules.values()):
        if module.__name__.startswith("reconcile.") and vars(module).get("REVISION") == before:
            put(module, "REVISION", REVISION)
