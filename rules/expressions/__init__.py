"""The one expression language: read, typed against a dataset, evaluated here or compiled to SQL. Never pasted."""

from rules.expressions.expression import Bound, BoundGroup, Expression, GroupExpression, parse, parse_group
from rules.expressions.tokens import ExpressionError

__all__ = ["Bound", "BoundGroup", "Expression", "ExpressionError", "GroupExpression", "parse", "parse_group"]
