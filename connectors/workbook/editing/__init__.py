"""Edit workbooks (xlsx, xlsm) as a text editor would: every byte outside the edited cells and the new rows stays."""
