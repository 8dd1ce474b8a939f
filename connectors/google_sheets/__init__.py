"""Google Sheets: the sheets of one spreadsheet are read, watched and cleaned through Google's Sheets API."""
