"""Rewrite an expression in other names of columns."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from rules.expressions.expression import parse
from rules.expressions.parser import tokens
from rules.expressions.tree import Name, walk


def renamed(text: str, names: Mapping[str, str]) -> str:
    """Return the expression with the columns in `names` replaced; raises ExpressionError if it cannot be parsed."""
    columns = {node.at: node.name for node in walk(parse(text).root) if isinstance(node, Name)}
    places = [token.at for token in tokens(text)]
    for token, after in reversed(list(itertools.pairwise(places))):
        if (name := names.get(columns.get(token, ""))) is not None:
            written = text[token:after].rstrip()
            text = text[:token] + _quoted(name) + text[token + len(written) :]
    return text


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
