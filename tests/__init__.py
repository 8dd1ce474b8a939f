"""The tests of everything here, in folders that follow the packages and rooms."""
