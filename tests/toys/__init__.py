"""What another package may add: a kind of rule, a connector without SQL, a channel and an action, one module each.

Nothing of the product names them: tests/test_toys.py registers them by entry points.
"""
