from collections.abc import Iterator

import pytest

from tests.support.airtable import FakeAirtable, serving
from tests.support.airtable_target import Members


@pytest.fixture
def fake() -> FakeAirtable:
    return FakeAirtable()


@pytest.fixture
def members(fake: FakeAirtable) -> Iterator[Members]:
    with serving(fake) as address:
        yield Members.of(fake, address)
