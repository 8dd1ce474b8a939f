"""Bare calamine: every cell of the sheet into Python lists."""

import sys

from python_calamine import CalamineWorkbook

sheet = CalamineWorkbook.from_path(sys.argv[1]).get_sheet_by_name("Contacts")
print(sum(1 for _ in sheet.iter_rows()) - 1)
