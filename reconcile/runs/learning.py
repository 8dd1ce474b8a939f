"""Learn the weights of a rule from its current records and from what people judged. It only reads."""

from __future__ import annotations

from reconcile.detection.bounded import detected
from reconcile.errors import Wrong
from reconcile.runs.check import Readers, RunOrder
from reconcile.store import Store
from reconcile.tracking import judged_pairs
from rules.document.mistakes import RuleError
from rules.groups.learning import Learnt
from rules.kinds.base import Rule


def learn(rule: Rule, order: RunOrder, tools: Readers, store: Store | None, precision: float) -> Learnt:
    """Return what the rule learns, within the limits of the job. `store` is None if there is no state yet.

    Raises Wrong for a rule of a kind that has no weights, and as `detected` does.
    """
    try:
        learning = rule.learning(precision)
    except RuleError as error:
        raise Wrong(str(error)) from error
    if store is not None:
        with store.read() as tx:
            learning = judged_pairs.with_answers(tx, learning)
    answer = detected(
        learning,
        *(order.job, order.slot, tools.budget),
        subject=tools.subject,
        stop=tools.stop,
        watch=tools.watch,
    )
    assert answer.detection.learnt is not None  # noqa: S101 - a rule that learns has learnt
    return answer.detection.learnt
