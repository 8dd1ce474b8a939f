"""The expression language: parsed, typed against a dataset, evaluated here or compiled to SQL with bound values."""

from rules.expressions.expression import BoundExpression, BoundGroup, Expression, GroupExpression, parse, parse_group
from rules.expressions.parser import ExpressionError
from rules.expressions.renaming import renamed

__all__ = [
    "BoundExpression",
    "BoundGroup",
    "Expression",
    "ExpressionError",
    "GroupExpression",
    "parse",
    "parse_group",
    "renamed",
]
