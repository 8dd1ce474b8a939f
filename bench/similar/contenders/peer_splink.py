"""Splink 5 as its demos configure it: comparisons by type, term frequencies, blocking, u from random pairs, two EMs.

`peer_splink.py FOLDER FILE`. A configuration line is a comparison, a blocking rule, a training rule or a call.
"""

import logging

import splink.comparison_level_library as cll
import splink.comparison_library as cl
from given import Given, answer, within
from splink import DuckDBAPI, Linker, SettingsCreator, block_on

CALLS = 9
"""Register, settings, link type, linker, prior with its recall, u, predict, cluster."""


def comparisons(types: dict[str, str]) -> list[object]:
    kinds = {kind: column for column, kind in types.items()}
    given, surname = kinds.get("given_name"), kinds.get("surname")
    result: list[object] = []
    if given and surname:
        result.append(cl.ForenameSurnameComparison(given, surname))
        types = {column: kind for column, kind in types.items() if column not in {given, surname}}
    return result + [comparison(column, kind) for column, kind in types.items()]


def comparison(column: str, kind: str) -> object:
    match kind:
        case "given_name" | "surname" | "name":
            return cl.NameComparison(column)
        case "date":
            return cl.DateOfBirthComparison(column, input_is_string=True)
        case "email":
            return cl.EmailComparison(column)
        case "postcode":
            return cl.LevenshteinAtThresholds(column, [1]).configure(term_frequency_adjustments=True)
        case "phone" | "number" | "exact":
            return cl.DamerauLevenshteinAtThresholds(column, [1]).configure(term_frequency_adjustments=True)
        case "city":
            return cl.JaroWinklerAtThresholds(column, [0.9]).configure(term_frequency_adjustments=True)
        case "amount":
            levels = [
                cll.NullLevel(column),
                cll.ExactMatchLevel(column),
                *(cll.PercentageDifferenceLevel(column, share) for share in (0.01, 0.03, 0.1, 0.3)),
                cll.ElseLevel(),
            ]
            return cl.CustomComparison(levels, output_column_name=column)
        case "text":
            return cl.JaccardAtThresholds(column, [0.9, 0.7])
        case _:
            return cl.JaroWinklerAtThresholds(column, [0.95, 0.88, 0.7])


def main() -> None:
    logging.disable(logging.WARNING)
    data = Given.read()
    types, blocking = data.independent, data.blocking
    tables = [table[["row", *types]] for table in data.tables]
    api = DuckDBAPI()
    frames = [api.register(table, dataset_display_name=name) for table, name in zip(tables, ("a", "b"), strict=False)]
    prior = {} if blocking.certain else {"probability_two_random_records_match": 1 / len(tables[0])}
    settings = SettingsCreator(
        link_type="link_only" if len(tables) > 1 else "dedupe_only",
        unique_id_column_name="row",
        comparisons=comparisons(types),
        blocking_rules_to_generate_predictions=[
            "1=1" if rule == ["1"] else block_on(*rule) for rule in blocking.compare
        ],
        **prior,
    )
    linker = Linker(frames, settings)
    if blocking.certain:
        linker.training.estimate_probability_two_random_records_match(
            [block_on(*rule) for rule in blocking.certain], recall=0.7
        )
    linker.training.estimate_u_using_random_sampling(max_pairs=1e6, seed=1)
    for rule in blocking.train:
        linker.training.estimate_parameters_using_expectation_maximisation(block_on(*rule))
    predicted = linker.inference.predict(threshold_match_probability=0.5)
    if data.one_to_one:
        clusters = linker.clustering.cluster_using_single_best_links(
            predicted, duplicate_free_datasets=["a", "b"], threshold_match_probability=0.5
        )
    else:
        clusters = linker.clustering.cluster_pairwise_predictions_at_threshold(predicted, 0.95)
    groups = clusters.as_pandas_dataframe().groupby("cluster_id")["row"].apply(list)
    rules = len(blocking.compare) + len(blocking.certain) + len(blocking.train)
    answer(within(groups.tolist()), CALLS + len(settings.comparisons) + rules)


if __name__ == "__main__":
    main()
