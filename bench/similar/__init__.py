"""What kind `similar` finds on data whose truth is known, next to four specialists: `make bench-similar`."""
