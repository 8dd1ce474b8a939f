"""How many examples of a property are tried: as many as its test says, but few of costly ones in `make quick`."""

from __future__ import annotations

from hypothesis import settings


def examples(number: int, quick: int) -> int:
    """Return the number for this session. pytest loads the profile of its command line before it reads the tests."""
    return quick if settings.get_current_profile_name() == "quick" else number
