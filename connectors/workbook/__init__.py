"""Source `workbook`: the sheets of one xlsx, ods or xls file, typed as their cells are."""
