"""Where each file of tests was before it moved: the keys of states, and so the order of findings, come of it."""

_MOVED = """
connectors/disk: scratch
connectors/files/bank: bank=reading_bank bank_any=reading_bank_any camt=reading_camt mt940=reading_mt940
  ofx=reading_ofx qif=reading_qif
connectors/files: conformance=connectors_conformance_files csv_any=reading_csv_any files=connectors_files
  formats=reading_formats json=reading_json left_out=reading_left_out parquet_any=reading_parquet_any
  ugly=connectors_ugly
connectors/lake: changes=lake_changes files=lake_files lakes object_stores pruning=lake_pruning schemas=lake_schemas
  types=lake_types
connectors/spark: cluster=spark_cluster connect=spark_connect jdbc=spark_jdbc spark
connectors/sql: catalogue=connectors_catalogue conformance=connectors_conformance_sql duckdb=connectors_duckdb
  generic=connectors_sql_generic replicas replication sql=connectors_sql stop=connectors_stop
  target=connectors_target target_cells=connectors_target_cells target_errors=connectors_target_errors
connectors: amounts_written coerce=connectors_coerce epochs fill
connectors/workbook: digits=connectors_workbook_digits files=workbook_files headers=workbook_headers
  pure=connectors_workbook_pure sheets=workbook_sheets workbook=connectors_workbook
  workbooks_any=reading_workbooks_any
notifications: apprise=notifications_apprise email=notifications_email file=notifications_file
  render=notifications_render slack=notifications_slack slack_published template=notifications_template
  webhook=notifications_webhook
product/chaos: crash=chaos_crash database=chaos_database disk=chaos_disk kill=chaos_kill model=chaos_model naive
  network=chaos_network races=chaos_races soak table_witness
product/docs: cookbook deployment docs docs_facts examples
product/oracle: oracle
product/security: bombs=security_bombs canaries=security_canaries files=security_files fuzz=security_fuzz
  isolation=security_isolation personal_doors private_files redirects roles=security_roles supply=security_supply
product: across_systems bench errors language long_names naughty real_input start structure
reconcile/audit: anchors audit checkpoints evidence_erased evidence_restored evidence_signing evidence_undo
  state=audit_state tamper=audit_tamper verifier verifier_fuzz verifier_hostile
reconcile/chat: chat
reconcile/cleaning/any_schema: any_schema=clean_any_schema
reconcile/cleaning: actions=clean_actions attempts binding check=check_cleaning deferral_matrix drift=clean_drift
  entries=clean_entries erased=clean_erased execute=clean_execute extreme_ids failed_cleanings
  limits=cleaning_limits limits_shown=cleaning_limits_shown pauses=pauses_cleaning plan=clean_plan
  plan_any=clean_plan_any plan_shown=clean_plan_shown references=clean_references resolve=clean_resolve
  runs=clean_runs settings=cleaning_settings shape=clean_shape sides=clean_sides told=cleaning_told undo=clean_undo
  undo_conflicts unknown=clean_unknown waiting=clean_waiting witness=clean_witness
reconcile/cli: audit=cli_audit bad_input=cli_bad_input broken_configuration cleaning=cli_cleaning cli
  decisions=cli_decisions explain findings=cli_findings habits=cli_habits messages=cli_messages
  mistakes=cli_mistakes older_state personal=cli_personal shells targets=cli_targets terminal
reconcile/config: cleaning=config_cleaning document=config_document errors=config_errors fuzz=config_fuzz
  load=config_load scaffold=config_scaffold schema=config_schema secrets=config_secrets written=config_written
reconcile/coordination: clock_confirmed lease releases
reconcile/decisions: advice approvals asked_again asked_again_model decide decided_records decisions_model
  decisions_survive field_values keeper many rejections two_people who_approves
reconcile/detection: frames incremental incremental_databases incremental_model proposals=check_proposals
  proposals_bank settings=check_settings subtotals titles=check_titles unchanged_files
reconcile/doctor: doctor
reconcile/findings: amounts display periods_shown
reconcile/journal: breaker effects effects_model effects_races holds keys owner_tables owners_meet ownership
reconcile/messages: outbox state_trouble troubles unnotified watchdog when_told
reconcile/people: people
reconcile/plugins: plugins=config_plugins toys toys_comparison
reconcile/profiling: suggest
reconcile/runs: datasets=runs_datasets diff kill=runs_kill limits listing=run_listing memory=runs_memory
  messages=runs_messages races=runs_races recognised release=runs_release runs shared_reads unchanged_runs
  undelivered=runs_undelivered
reconcile/schedule: retry schedule slots zones=schedule_zones
reconcile/service: alarm children listener listener_app scheduler serve serve_watched triggers workers
reconcile/sheets: export
reconcile/store: open=store_open sealing transactions=store_transactions upgrade=store_upgrade
reconcile/telemetry: alerts logs metrics traces
reconcile/tracking: discrepancies=findings_discrepancies filters findings findings_model former_settings
  in_parts=findings_in_parts in_scope=findings_in_scope order record_names search
reconcile/upkeep: backup compaction erasure
reconcile/views: views
reconcile/web: api console pages=web_pages sheets=web_sheets strangers=web_strangers web
rules/binding: barren=rules_barren datasets=rules_datasets listed=rules_listed
rules/engines: declared=engines_declared equivalence=rules_equivalence interrupted=engines_interrupted
  marked=rules_marked marks=rules_marks warehouses
rules/examples: examples=rules_examples
rules/expressions: calendar=rules_calendar expressions=rules_expressions functions=rules_functions
rules/forensics: forensics=rules_forensics
rules/groups: any_key=rules_any_key any_key_runs=any_key fields=rules_fields max_share nearness=rules_nearness
  open_keys=rules_open_keys repeats=rules_repeats survivorship=rules_survivorship
rules/kinds/check: check=check_kind runs=check_kind_runs
rules/kinds/custom_sql: custom_sql=rules_custom_sql files=custom_sql_files
rules/kinds/duplicates: consecutive duplicates=rules_duplicates
rules/kinds/reconciliation: assignment=reconciliation_assignment contained=reconciliation_contained
  group=reconciliation_group group_oracle=reconciliation_group_oracle inside=reconciliation_inside
  near=reconciliation_near options=reconciliation_options oracle=reconciliation_oracle reconciliation
  runs=reconciliation_runs
rules/normalise: hostile_cells map_dataset normalise=rules_normalise
rules/presets: presets
rules: empty=rules_empty values=rules_values
support: crash_points=testing tcp_proxy
"""
"""A folder, and its files, each with its former name if that was another."""


def former_path(path: str) -> str:
    """The path in which the key of a test's state begins."""
    return _FORMER.get(path, path)


def _former() -> dict[str, str]:
    paths, folder = {}, ""
    for word in _MOVED.split():
        if word.endswith(":"):
            folder = word[:-1]
        else:
            name, _, former = word.partition("=")
            paths[f"tests/{folder}/test_{name}.py"] = f"tests/test_{former or name}.py"
    return paths


_FORMER = _former()
