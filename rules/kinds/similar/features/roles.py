"""Mailboxes of roles, such as info@: several persons read one, as they share the phone of a company."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rules.kinds.similar.encoded import Encoded
from rules.kinds.similar.texts import SEVERAL
from rules.normalise.vocabulary import listed


def parted(encoded: Encoded) -> tuple[Encoded, Encoded] | None:
    """Return the mailboxes of persons and those of roles in a column of addresses.

    None if fewer than two records have one of a role.
    """
    values = pc.split_pattern(encoded.values.cast(pa.string()), SEVERAL)
    addresses = pc.list_flatten(values)
    names = pc.replace_substring_regex(addresses, "@.*$|[^a-z]+", "")
    roles = np.asarray(pc.is_in(names, value_set=pa.array(sorted(listed("mailboxes", "roles")))), dtype=bool)
    if not roles.any():
        return None
    parents = np.asarray(pc.list_parent_indices(values), dtype=np.int64)
    of_persons, of_roles = (
        encoded.mapped(Encoded.of(_joined(addresses, parents, kept, len(values)))) for kept in (~roles, roles)
    )
    return (of_persons, of_roles) if of_roles.filled > 1 else None


def _joined(addresses: pa.Array, parents: NDArray[np.int64], kept: NDArray[np.bool_], cells: int) -> pa.Array:
    """Return the kept addresses of each cell as one text, null without any."""
    ends = np.cumsum(np.bincount(parents[kept], minlength=cells))
    offsets = pa.array(np.concatenate([[0], ends]), pa.int32())
    text = pc.binary_join(pa.ListArray.from_arrays(offsets, addresses.filter(pa.array(kept))), SEVERAL)
    return pc.if_else(pc.equal(text, ""), None, text)
