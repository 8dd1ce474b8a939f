"""The naive designs that are put in: which texts of the code become which, and the tests that must fail then."""

from __future__ import annotations

from dataclasses import dataclass

Edit = tuple[str, str, str]
"""(file, a text that stands in it once, what it becomes)."""


@dataclass(frozen=True)
class Mutant:
    name: str
    design: str
    edits: tuple[Edit, ...]
    tests: tuple[str, ...]


def _at(module: str, test: str) -> str:
    return f"tests/{module}.py::{test}"


MUTANTS = (
    Mutant(
        "a failed COMMIT means not done",
        "a connection that breaks in COMMIT is taken for a rollback",
        (
            (
                "connectors/sql/cleaning/outcomes.py",
                '_LOST = Meaning((GONE,), N, A, "',
                '_LOST = Meaning((GONE,), N, N, "',
            ),
        ),
        (
            _at(
                "connectors/sql/test_target_errors",
                "test_a_commit_whose_answer_is_lost_is_ambiguous_and_the_receipt_tells",
            ),
        ),
    ),
    Mutant(
        "rescue by age alone",
        "every claimed plan counts as left by a dead worker",
        (
            (
                "reconcile/coordination/lease.py",
                "    if owner.boot == boot_id() and owner.pids == _pid_namespace() and _is_gone(owner):",
                "    if owner.boot:",
            ),
        ),
        (_at("product/chaos/test_naive", "test_a_worker_that_takes_long_but_lives_is_left_alone"),),
    ),
    Mutant(
        "a lease without a fence",
        "a worker records the outcome of a plan that another one claimed meanwhile",
        (
            (
                "reconcile/store/plan_states.py",
                'same = (plans.c.fence == sa.bindparam("the_fence"), plans.c.state == sa.bindparam("the_state"))',
                'same = (plans.c.fence >= sa.bindparam("the_fence") * 0, sa.bindparam("the_state") != "")',
            ),
            (
                "reconcile/store/plan_states.py",
                '{"id": name, "fence": plan.fence, "state": plan.state.value} for name, plan in expected',
                '{"id": name} for name, _ in plans',
            ),
        ),
        (_at("reconcile/journal/test_effects_races", "test_a_stolen_plan_is_written_by_the_thief_alone"),),
    ),
    Mutant(
        "a new key per attempt",
        "the process is part of the key",
        (
            (
                "reconcile/journal/holds.py",
                '    fields = {"v": VERSION, "namespace": namespace, ',
                '    import os\n\n    fields = {"pid": os.getpid(), "v": VERSION, "namespace": namespace, ',
            ),
        ),
        (
            _at(
                "product/chaos/test_naive",
                "test_the_same_work_has_the_same_keys_however_often_it_is_begun_anew",
            ),
        ),
    ),
    Mutant(
        "a key for ever per id",
        "a record that comes back has the key of the one that went",
        (
            (
                "reconcile/journal/effects/generation.py",
                "number = row.generation + (PlanState(row.state) in _DONE)",
                "number = row.generation",
            ),
        ),
        (
            _at(
                "product/chaos/test_naive",
                "test_an_id_that_another_record_got_is_cleaned_and_a_record_that_came_back_is_a_persons",
            ),
        ),
    ),
    Mutant(
        "the guard of drift compares nothing",
        "rows are changed by their id, whatever is in them by now",
        (
            (
                "reconcile/cleaning/execution/images.py",
                "        elif changed := differing(plan, change, row.cells):",
                "        elif changed := []:",
            ),
        ),
        (
            _at(
                "reconcile/cleaning/test_execute",
                "test_whatever_differs_from_the_plan_by_a_byte_leaves_everything_as_it_is",
            ),
            _at(
                "product/chaos/test_naive",
                "test_an_approval_is_of_what_was_shown_and_void_once_the_record_changed",
            ),
        ),
    ),
    Mutant(
        "an approval that is bound to nothing",
        "what was approved is carried out, whatever the rule and the target are now",
        (
            (
                "reconcile/cleaning/execution/terms.py",
                "        if plan.target != target:",
                "        if plan:\n            return None\n        if plan.target != target:",
            ),
        ),
        (
            _at("product/chaos/test_naive", "test_an_approval_is_void_once_the_rule_does_something_else"),
            _at(
                "product/chaos/test_naive",
                "test_a_plan_approved_for_one_database_is_not_carried_out_in_another",
            ),
        ),
    ),
    Mutant(
        "restore the before-image blindly",
        "an undo sets back what somebody wrote since",
        (
            (
                "reconcile/cleaning/inverse.py",
                "for name in changed if name in now and now[name] == after[name]}",
                "for name in changed}",
            ),
        ),
        (_at("product/chaos/test_naive", "test_an_undo_leaves_alone_what_somebody_edited_since"),),
    ),
    Mutant(
        "limits per run only",
        "the use of the last 24 hours is ignored",
        (
            (
                "reconcile/journal/limits.py",
                'in ((self.day, "in 24 hours"), *([(self.in_run, "in a run")] if self.run else [])):',
                'in [(self.in_run, "in a run")] if self.run else []:',
            ),
            (
                "reconcile/journal/limits.py",
                "if not uses or not _exceeded(self.day, total[1], caps):",
                "if uses or not uses:",
            ),
        ),
        (_at("product/chaos/test_naive", "test_limits_hold_over_many_runs_of_a_day"),),
    ),
    Mutant(
        "a cascade that is not captured",
        "references that cascade are not followed",
        (
            (
                "connectors/sql/catalogue/tables.py",
                "all_links = [link for ident in reached for link in by_parent.get(ident, ())]",
                'all_links = [y for x in reached for y in by_parent.get(x, ()) if y.on_delete != "CASCADE"]',
            ),
        ),
        (_at("reconcile/cleaning/test_references", "test_cascade_not_captured"),),
    ),
    Mutant(
        "the catalogue is read before the transaction only",
        "a reference that was born since the plan is not seen",
        (
            (
                "reconcile/cleaning/execution/execute.py",
                "if tables and work.hold(tables) !=",
                "if False and work.hold(tables) !=",
            ),
        ),
        ("tests/reconcile/cleaning/test_references.py", "-k", "born_since_the_plan_deletes and sqlite"),
    ),
    Mutant(
        "a mass match after a schema change",
        "what a rule finds is never compared with what it found before",
        (
            (
                "reconcile/cleaning/planning/shape.py",
                "_change(rule, memory.before(run), now, in_progress, dataset))",
                "None)",
            ),
        ),
        (_at("reconcile/cleaning/test_shape", "test_mass_match_after_a_schema_change"),),
    ),
    Mutant(
        "tables without transactions are taken",
        "any engine of MariaDB is good enough",
        (("connectors/sql/catalogue/mysql.py", 'if str(listed.engine).lower() != "innodb":', "if False:"),),
        (_at("connectors/sql/test_catalogue", "test_of_mariadb_is_refused"),),
    ),
    Mutant(
        "two stores, one target",
        "the owner of the target is ignored",
        (
            (
                "reconcile/journal/ownership.py",
                "    if seen.owner is not None and seen.owner[0] != store.id:\n        raise AnotherOwner",
                "    if False:\n        raise AnotherOwner",
            ),
        ),
        (_at("product/chaos/test_naive", "test_a_second_store_cleans_nothing_in_a_target_that_has_an_owner"),),
    ),
    Mutant(
        "mark it done before the call",
        "what is sent and whose worker died counts as done",
        (
            (
                "reconcile/journal/effects/unknown.py",
                "moved += _refence(tx, sent, PlanState.UNKNOWN, why)",
                "moved += _refence(tx, sent, PlanState.SUCCEEDED, why)",
            ),
        ),
        (
            _at(
                "product/chaos/test_naive",
                "test_the_same_work_has_the_same_keys_however_often_it_is_begun_anew",
            ),
        ),
    ),
    Mutant(
        "delete the key on an exception",
        "what was sent and whose worker died counts as not done, without a receipt to tell",
        (
            (
                "reconcile/journal/effects/unknown.py",
                "moved += _refence(tx, sent, PlanState.UNKNOWN, why)",
                "moved += _refence(tx, sent, PlanState.SKIPPED, why)",
            ),
        ),
        (_at("product/chaos/test_crash", "test_killed_at_any_named_place_it_is_finished_once[a recovery]"),),
    ),
)
