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


_BEFORE_LOOSE = "_GET = _ROW.add_columns"
_LOOSE = (
    "_LOOSE = (\n    _OF_KEY,\n    sa.bindparam('the_fence') > 0,\n    sa.bindparam('the_state') != '',\n)\n"
    + _BEFORE_LOOSE
)
"""A condition that takes the parameters of `_UNCHANGED` and compares only the key."""

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
    Mutant(
        "claim without a lease",
        "a key in progress goes to whoever asks next",
        (
            (
                "reconcile/guard/claiming.py",
                "    if row.state is KeyState.IN_PROGRESS and seconds > 0:",
                "    if row.state is KeyState.IN_PROGRESS and seconds < 0:",
            ),
        ),
        (
            _at(
                "reconcile/guard/test_claims", "test_a_key_is_mine_then_in_progress_for_others_and_done_with_its_result"
            ),
        ),
    ),
    Mutant(
        "check, then act",
        "a claim takes the key that it saw free, whatever it is by now",
        (
            (
                "reconcile/store/guarded_keys.py",
                "_TAKE = (\n    sa.update(guarded_keys)\n    .where(*_UNCHANGED)",
                "_TAKE = (\n    sa.update(guarded_keys)\n    .where(*_LOOSE)",
            ),
            ("reconcile/store/guarded_keys.py", _BEFORE_LOOSE, _LOOSE),
        ),
        (_at("reconcile/guard/test_claims", "test_of_two_claims_that_saw_the_same_row_one_takes_it"),),
    ),
    Mutant(
        "a key from the time",
        "each attempt has a key of its own",
        (
            (
                "reconcile/guard/keys.py",
                '    fields = {"v": VERSION,',
                '    fields = {"at": str(uuid.uuid1()), "v": VERSION,',
            ),
        ),
        (
            _at(
                "reconcile/guard/test_claims",
                "test_a_guarded_function_works_once_per_key_and_its_repeats_get_the_result",
            ),
            _at(
                "reconcile/guard/test_webhooks",
                "test_an_event_is_worked_on_once_and_its_repeats_get_the_stored_answer",
            ),
        ),
    ),
    Mutant(
        "complete without a fence",
        "a claimer completes a key that another one took over",
        (
            (
                "reconcile/store/guarded_keys.py",
                "_FINISH = (\n    sa.update(guarded_keys)\n    .where(*_UNCHANGED)",
                "_FINISH = (\n    sa.update(guarded_keys)\n    .where(*_LOOSE)",
            ),
            ("reconcile/store/guarded_keys.py", _BEFORE_LOOSE, _LOOSE),
        ),
        (
            _at(
                "reconcile/guard/test_claims",
                "test_a_stale_claimer_completes_fails_and_renews_nothing_after_a_take_over",
            ),
        ),
    ),
    Mutant(
        "free the key on an exception",
        "after any error the work counts as not done",
        (("reconcile/guard/guard.py", "        except not_done as error:", "        except Exception as error:"),),
        (_at("reconcile/guard/test_claims", "test_an_error_leaves_the_key_in_progress_because_the_work_may_be_done"),),
    ),
    Mutant(
        "the payload is not compared",
        "another request gets the result of the first one with its key",
        (
            (
                "reconcile/guard/claiming.py",
                "    if row.payload != wanted.payload and row.state not in FREE:",
                "    if row.payload == wanted.key and row.state not in FREE:",
            ),
        ),
        (
            _at(
                "reconcile/guard/test_claims",
                "test_another_payload_is_refused_while_the_key_is_in_progress_and_after",
            ),
        ),
    ),
    Mutant(
        "leases by a clock that people set",
        "on one host, a lease ends when the wall clock says so",
        (
            (
                "reconcile/guard/claiming.py",
                "    if boot == host.boot and end:",
                "    if boot == host.boot and not end:",
            ),
        ),
        (_at("reconcile/guard/test_claims", "test_on_one_host_a_clock_that_is_set_ahead_ends_no_lease"),),
    ),
    Mutant(
        "deduplicate before the signature",
        "a webhook that anybody sent is worked on",
        (("reconcile/guard/webhooks/signatures.py", "    if not any(equal):", "    if not equal:"),),
        (_at("reconcile/guard/test_webhooks", "test_what_is_not_signed_is_answered_401_and_claims_nothing"),),
    ),
)
