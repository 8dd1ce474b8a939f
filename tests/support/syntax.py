"""Python code as a tree, for tests that look at how something is written."""

from __future__ import annotations

import ast
import gc


def tree_of(source: str) -> ast.Module:
    """The tree of this code.

    No garbage is collected meanwhile: what another test left unclosed warns as it is collected, the warning's traceback
    parses code in its turn, and Python 3.11 then takes the outer parse for broken ("AST constructor recursion depth
    mismatch", CPython issue 106905).
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(source)
    finally:
        if collecting:
            gc.enable()
