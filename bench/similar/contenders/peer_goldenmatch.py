"""goldenmatch without any configuration, as its first page shows. `peer_goldenmatch.py FOLDER FILE`."""

import contextlib
import io
import logging

import goldenmatch
import pyarrow as pa
from given import Given, answer, within


def main() -> None:
    logging.disable(logging.CRITICAL)
    data = Given.read()
    tables = [pa.Table.from_pandas(table[[*data.types]], preserve_index=False) for table in data.tables]
    with contextlib.redirect_stdout(io.StringIO()):
        if len(tables) == 1:
            result = goldenmatch.dedupe_df(tables[0], confidence_required=False)
            groups = [sorted(cluster["members"]) for cluster in result.clusters.values() if cluster["size"] > 1]
            pairs = within([[int(row) for row in group] for group in groups])
        else:
            matched = goldenmatch.match_df(*tables, confidence_required=False).matched
            pairs = set() if matched is None else set(zip(*_rows(matched), strict=True))
    answer(pairs, 2)


def _rows(matched: pa.Table) -> tuple[list[int], list[int]]:
    return tuple(matched[f"__{side}_row_id__"].to_pylist() for side in ("target", "ref"))  # type: ignore[return-value]


if __name__ == "__main__":
    main()
