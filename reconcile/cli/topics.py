"""The topics of `reconcile help`: what several commands share, in a screenful of plain lines each."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from textwrap import fill

from reconcile.cli import exits
from reconcile.findings.states import State

_WIDTH = 80

EXIT_CODES: Mapping[int, str] = {
    exits.DONE: "done now or earlier, or running elsewhere",
    exits.FOUND: "an open finding is at or above --fail-on, or something needs attention",
    exits.WRONG: "the configuration or command line is wrong; nothing was changed",
    exits.FAILED: "a source, channel or the state database failed; the rest was done",
    exits.REFUSED: "refused, nothing changed; `run`: something was not cleaned or undone",
    exits.DEFECT: "a defect in Reconcile; details are in the file it names",
    128 + signal.SIGINT: "stopped by Ctrl-C; finished work is kept",
    128 + signal.SIGTERM: "stopped by SIGTERM; finished work is kept",
}
STATES: Mapping[State, str] = {
    State.OPEN: "waits for you",
    State.AWAITING: "a plan waits for approval",
    State.APPROVED: "a plan will be executed; `open` again if the rule is edited",
    State.CLEANING: "a plan is being executed or waits for a retry",
    State.CLEANED: "a plan was executed; it can be undone for `undo_window`",
    State.PARTLY: "some steps are done, others wait",
    State.STALE: "its records have changed since the plan was made, or the target refused the plan; "
    "the next run checks again",
    State.FAILED: "the cleaning was definitely not done; `reconcile retry` tries again",
    State.QUARANTINED: "the outcome of the cleaning is unknown; see `reconcile quarantine`",
    State.UNDONE: "the cleaning was undone; the records count as dismissed",
    State.SNOOZED: "is not reported until a time, or until it grows",
    State.DISMISSED: "you decided that its records are not the same",
    State.HANDLED: "you decided that it is real and has been handled outside Reconcile",
    State.RESOLVED: "its records no longer match, the rule was edited, or the only records left were dismissed in "
    "another finding",
    State.MERGED: "continues in another finding",
}

_CONDITIONS = """\
--where selects findings by a condition: reconcile dismiss --where CONDITION.

  records = 2 and country = 'DE'
  EUR >= 50.00 and first_seen < '2026-01-31'
  rule in ('twins', 'double-charge') and assigned_to is null

Names: the columns of the key, and rule, state, form, records, money,
probability, first_seen, assigned_to, and currencies such as EUR. If the key
has a column `state`, write `key_state`. Write key values as `reconcile
findings` lists them: 'adler', not Adler, where the rule normalises the key.

Comparison   =  <>  <  <=  >  >=   in (1, 2)   between 1 and 5
             like 'INV-%'   is null   is not null
Logic        and  or  not  ( )     `and` binds before `or`
Constants    12   1250.50   'text'   'it''s'   true   false
Calculation  +  -  *  /   abs(x)   lower(x)   prefix(x, 4)   and others

Write the condition in double quotes, so that the shell does not change it.
To change more than 20 findings, add their number: --confirm 43."""
_TIMES = """\
--until, for `pause` and `snooze`, and --expires, for `tokens add`:

  3d                        from now; also 30s, 15m, 6h, 2w
  2026-12-01                when the day begins
  2026-12-01T08:00          a time
  2026-12-01T08:00+01:00    a time with its offset from UTC

--slot, for `run`: a time like the last two. Each slot runs only once.

Times without an offset are in the project's `timezone`. A time that a clock
change skips or repeats is refused; write it with an offset.

Tables use the same zone. JSON, CSV and times that end in UTC use UTC."""
_PERSONAL = """\
Personal data are the values of columns listed in `pii` of a dataset, and
values computed from them. They are printed as ••• in tables, JSON and CSV,
also inside keys, ids and times.

  --show                    show them: run, findings, export, show, plan,
                            explain, diff
  show: [column]            in a channel: columns that its messages show
  reconcile erase DATASET   erase the personal data of a record from the state

Other commands never print them. They never appear in logs, page addresses or
audit log entries."""


def _lines(head: str, entries: Iterable[tuple[str, str]], tail: Sequence[str] = ()) -> str:
    """Return the entries as two columns below a sentence."""
    rows = list(entries)
    margin = max(len(name) for name, _ in rows) + 4
    folded = (fill(f"  {name:<{margin - 2}}{text}", _WIDTH, subsequent_indent=" " * margin) for name, text in rows)
    return "\n".join([head, "", *folded, *tail])


def _exit_codes() -> str:
    order = "If several apply, the first of 70, 2, 4, 3, 1, 0 counts."
    return _lines(order, ((str(code), text) for code, text in EXIT_CODES.items()))


def _states() -> str:
    head = "The states of a finding, for `reconcile findings --state STATE`:"
    tail = ("", "A finding that is resolved, cleaned or undone is open again when its records", "match again.")
    return _lines(head, ((state.value, text) for state, text in STATES.items()), tail)


TOPICS: Mapping[str, Callable[[], str]] = {
    "exit-codes": _exit_codes,
    "conditions": lambda: _CONDITIONS,
    "times": lambda: _TIMES,
    "states": _states,
    "personal-data": lambda: _PERSONAL,
}
