"""Simulated duplicates and discrepancies, of known causes and by chance alone."""

import datetime as dt
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from rules.forensics.disagreements import Disagreements
from rules.forensics.repeats import RepeatCauses
from rules.groups.group import Difference

Row = dict[str, Any]
Group = list[Row]
MONDAY = dt.datetime(2026, 11, 23, tzinfo=dt.UTC)
WEEK = 7 * 86_400.0
COLUMNS = (("booked", "posted"), ("amount", "total"))


def at(seconds: float) -> dt.datetime:
    return MONDAY + dt.timedelta(seconds=seconds)


def order(chance: random.Random, seconds: float, number: int, **columns: Any) -> Row:
    """A charge of an order."""
    return {"order_id": f"A-{number}", "amount": money(chance), "charged_at": at(seconds), **columns}


def money(chance: random.Random) -> Decimal:
    return Decimal(chance.randrange(100, 100_000)) / 100


def cause(groups: Sequence[Group], *key: str) -> str | None:
    """What is said of these groups of a rule with a window over `charged_at`."""
    repeats = RepeatCauses(key or ("order_id",), ("charged_at",))
    for group in groups:
        repeats.add(group)
    return repeats.cause()


def scattered(chance: random.Random, number: int, longest: float = 900) -> list[Group]:
    """Charges of the same order that have nothing to do with each other."""
    starts = [chance.uniform(0, WEEK) for _ in range(number)]
    return [
        [order(chance, start, place), order(chance, start + chance.uniform(0, longest), place)]
        for place, start in enumerate(starts, 9000)
    ]


def retries(chance: random.Random) -> list[Group]:
    """A client that gives up after 30 s and charges again, all week."""
    starts = [chance.uniform(0, WEEK) for _ in range(40)]
    return [
        [order(chance, start, number), order(chance, start + chance.gauss(30, 0.4), number)]
        for number, start in enumerate(starts)
    ] + scattered(chance, 4)


def overlaps(chance: random.Random) -> list[Group]:
    """A job that starts every 5 minutes and, on four nights, is not done when it starts again."""
    groups = []
    for night in range(4):
        start = night * 86_400 + 2 * 3600
        for number in range(10):
            work = start + 25 * number
            again = work + 300 + chance.uniform(-12, 12)
            groups.append([order(chance, work, 100 * night + number), order(chance, again, 100 * night + number)])
    return groups + scattered(chance, 4)


def resends(chance: random.Random) -> list[Group]:
    """A provider that sends a webhook again after seconds, minutes or hours until it is answered."""
    groups = []
    for number in range(40):
        times = [chance.uniform(0, WEEK)]
        while len(times) < chance.choice([2, 2, 3]):
            times.append(times[-1] + chance.choice([5, 60, 600, 3600]) * chance.uniform(0.5, 2))
        groups.append([order(chance, time, number, event_id=f"evt_{number}") for time in times])
    plain = [[{**row, "event_id": f"evt_{chance.random()}"} for row in group] for group in scattered(chance, 4)]
    return groups + plain


def posted_twice(chance: random.Random) -> list[Group]:
    """A batch of 120 charges that is posted in 2 minutes, and again an hour later."""
    groups = []
    for number in range(120):
        seconds = 14 * 3600 + number
        again = seconds + 3600 + chance.uniform(-3, 3)
        groups.append([order(chance, seconds, number), order(chance, again, number)])
    return groups + scattered(chance, 6)


def batches(chance: random.Random) -> list[Group]:
    """A batch that was imported again under another name, without times; others are in batches of their own."""

    def pair(number: int, first: str, second: str) -> Group:
        return [{"order_id": number, "batch_id": batch} for batch in (first, second)]

    twice = [pair(number, "B-17", "B-18") for number in range(60)]
    return twice + [pair(900 + n, f"B-{chance.randrange(30)}", f"B-{chance.randrange(30)}") for n in range(10)]


CHANCE: Mapping[str, Callable[[random.Random], float]] = {
    "evenly within the window": lambda chance: chance.uniform(0, 900),
    "to the second": lambda chance: float(chance.randrange(900)),
    "to the minute": lambda chance: 60.0 * chance.randrange(16),
    "as customers arrive": lambda chance: chance.expovariate(1 / 200),
    "over all magnitudes": lambda chance: 10 ** chance.uniform(-1, 4.9),
    "around a quarter of an hour": lambda chance: chance.lognormvariate(6.8, 0.8),
}
"""Distances in time of repeats that have no cause in common."""


def random_repeats(chance: random.Random) -> str | None:
    """What is said of duplicates by chance: random times, events, batches, files and rows."""
    distance = chance.choice(list(CHANCE.values()))
    number, files, days = (chance.choice(sizes) for sizes in ((8, 12, 20, 50, 150), (2, 3, 9), (2, 3, 30)))
    groups = []
    for place in range(number):
        start = chance.uniform(0, WEEK)
        rows = [order(chance, start, place)]
        while len(rows) < chance.choice([2, 2, 2, 3]):
            rows.append(order(chance, (rows[-1]["charged_at"] - MONDAY).total_seconds() + distance(chance), place))
        for row in rows:
            row["event_id"] = f"evt_{chance.randrange(10_000)}"
            row["batch_id"] = f"B-{chance.randrange(days)}"
            row["_file"], row["_row"] = f"{chance.randrange(files)}.csv", chance.randrange(500)
        groups.append(rows)
    return cause(groups)


def disagreement(pairs: Sequence[tuple[Row, Row]], column: str = "amount", *, matched: bool = True) -> str | None:
    """What is said of pairs of a left and a right record: matched with a difference, or both without a partner."""
    disagreements = Disagreements(("bank", "ledger"), COLUMNS)
    right_column = dict(COLUMNS)[column]
    for number, (left, right) in enumerate(pairs):
        if matched:
            field = Difference(f"{column} / {right_column}", left[column], right[right_column], column, right_column)
            disagreements.add({"reference": number}, [left], [right], [field])
        else:
            disagreements.add({"reference": number}, [left], [])
            disagreements.add({"reference": number}, [], [right])
    return disagreements.cause()


def entries(chance: random.Random, number: int, wrong: Callable[[Decimal], Decimal]) -> Iterator[tuple[Row, Row]]:
    """Pairs with another amount in the ledger."""
    for _ in range(number):
        amount, booked = money(chance), MONDAY.date() + dt.timedelta(chance.randrange(60))
        yield {"amount": amount, "booked": booked}, {"total": wrong(amount), "posted": booked}


def random_disagreements(chance: random.Random) -> str | None:
    """What is said of differences by chance, matched and without a partner."""
    sizes = (8, 12, 20, 50, 150)
    largest = chance.choice([3, 100, 10_000, 100_000])
    errors: list[Callable[[Decimal], Decimal]] = [
        lambda _: money(chance),
        lambda amount: amount + Decimal(chance.choice([-1, 1]) * chance.randrange(1, largest)) / 100,
        lambda amount: (amount * Decimal(str(chance.uniform(0.8, 1)))).quantize(Decimal("0.01")),
        lambda amount: amount - Decimal("0.30"),
        lambda amount: amount.quantize(Decimal(1)) + chance.randrange(-9, 9),
    ]
    disagreements = Disagreements(("bank", "ledger"), COLUMNS)
    error, days = chance.choice(errors), chance.choice([3, 7, 30])
    for number, (left, right) in enumerate(entries(chance, chance.choice(sizes), error)):
        disagreements.add(
            {"reference": number}, [left], [right], [Difference("amount", left["amount"], right["total"], "", "")]
        )
        posted = left["booked"] + dt.timedelta(chance.choice([-1, 1]) * chance.randrange(1, days))
        disagreements.add({}, [left], [right], [Difference("booked", left["booked"], posted, "", "")])
    for record in unmatched(chance, chance.choice(sizes), chance.choice(errors)):
        disagreements.add(*record)
    return disagreements.cause()


def unmatched(
    chance: random.Random, number: int, error: Callable[[Decimal], Decimal]
) -> Iterator[tuple[Row, list[Row], list[Row]]]:
    """Records without a partner, by chance: of some keys that agree, or of one, with few or many amounts and days."""
    amounts, days, has_keys = (chance.choice(choice) for choice in ((60, 300, 100_000), (1, 3, 60), (True, False)))
    for place in range(number):
        left, right = (Decimal(chance.randrange(100, 100 + amounts)) / 100 for _ in range(2))
        booked, posted = (MONDAY.date() + dt.timedelta(chance.randrange(days)) for _ in range(2))
        key = {"reference": place} if has_keys else {"currency": "EUR"}
        yield key, [{"amount": left, "booked": booked}], []
        yield key if chance.random() < 0.5 else {}, [], [{"total": error(right), "posted": posted}]
