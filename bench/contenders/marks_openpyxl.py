"""Set a cell in the first rows of a workbook as openpyxl does: load it, change it, save it."""

import sys

from openpyxl import load_workbook

path, count, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
book = load_workbook(path)
sheet = book["Contacts"]
column = next(cell.column for cell in sheet[1] if cell.value == "city")
for row in range(2, count + 2):
    sheet.cell(row, column).value = "duplicate"
book.save(f"{folder}/openpyxl.xlsx")
print(count)
