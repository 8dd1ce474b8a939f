"""Set a cell in the first rows of a workbook as a cleaning does.

Read the rows by their ids, compare them, write the cells, read the new version as every reader does, and exchange the
file.
"""

import shutil
import sys
from pathlib import Path

from connectors.target import Change
from connectors.workbook.source import WorkbookSource

path, count, folder = Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
shutil.copy(path, folder / "reconcile.xlsx")
settings = WorkbookSource.Settings.model_validate({"type": "workbook", "path": "reconcile.xlsx"})
source = WorkbookSource("crm", settings, folder)
dataset = WorkbookSource.Dataset.model_validate({"sheet": "Contacts"})
rows = [row for row in source.rows(dataset, ["id"], [(f"{n:09d}",) for n in range(count)]) if row is not None]
with source.work(600) as work:
    now = work.lock([row.name for row in rows])
    assert all(now[row.name].cells == row.cells for row in rows)  # noqa: S101 - a cleaning compares them, too
    work.apply_all([Change(row.name, row.cells, {"city": ("t", "duplicate")}, "surplus") for row in rows])
    work.commit()
source.close()
print(len(rows))
