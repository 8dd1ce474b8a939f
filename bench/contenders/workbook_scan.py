"""Our connector alone: the sheet as typed Arrow batches."""

import sys
from pathlib import Path

from connectors.workbook.source import WorkbookSource

path = Path(sys.argv[1])
settings = WorkbookSource.Settings.model_validate({"type": "workbook", "path": str(path)})
source = WorkbookSource("crm", settings, path.parent)
dataset = WorkbookSource.Dataset.model_validate({"sheet": "Contacts"})
columns = [field.name for field in source.describe(dataset) if not field.name.startswith("_")]
print(sum(batch.num_rows for batch in source.scan(dataset, columns).reader))
source.close()
