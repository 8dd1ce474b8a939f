"""Records of one dataset with the same key, more than one of them."""

from rules.kinds.duplicates.detection import detect, explain, guarded, needed_columns, pushdown_obstacle
from rules.kinds.duplicates.fitted import check
from rules.kinds.duplicates.model import DuplicatesRule, Span

__all__ = [
    "DuplicatesRule",
    "Span",
    "check",
    "detect",
    "explain",
    "guarded",
    "needed_columns",
    "pushdown_obstacle",
]
