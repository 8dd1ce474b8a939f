"""A workbook as a target: each sheet is a table, and only the cells of a plan change in the file."""
