"""Wrong configurations, each a mistake that people make; snapshots/config_errors.txt says what is said about them."""

from __future__ import annotations

READ = """\
sources: {shop: {type: files}}
datasets: {charges: {source: shop, path: a.csv, id: id}}
"""
RULE = """\
rules:
  twice: {kind: duplicates, dataset: charges, key: [order_id]}
"""


def rule(*lines: str) -> str:
    """A whole configuration whose one rule has these lines beside kind and dataset."""
    body = "".join(f"    {line}\n" for line in lines)
    return f"{READ}rules:\n  twice:\n    kind: duplicates\n    dataset: charges\n{body}"


KEY = "key: [order_id]"

MISTAKES: dict[str, str | dict[str, str]] = {
    "an empty file": "",
    "only a comment": "# later\n",
    "a list instead of a mapping": "- version: 1\n",
    "a blank is missing after a colon": f"version:1\n{READ}{RULE}",
    "a blank is missing inside a rule": f"{READ}rules:\n  twice:\n    kind:duplicates\n    dataset: charges\n",
    "a rule that is one glued word": f"{READ}rules:\n  twice: kind:duplicates\n",
    "a tab in the indentation": f"{READ}rules:\n\ttwice: 1\n",
    "a quote is not closed": f"{READ}rules:\n  twice:\n    where: \"status = 'paid'\n    kind: duplicates\n",
    "a bracket is not closed": f"{READ}rules:\n  twice:\n    key: [order_id, amount\n    kind: duplicates\n",
    "a value goes on after its quote": rule(KEY, "where: 'paid' = status"),
    "a second colon in a value": rule(KEY, "owner: team: finance"),
    "an owner without quotes": rule(KEY, "owner: @finance"),
    "a pattern without quotes": "sources: {bank: {type: files}}\ndatasets:\n  b:\n    source: bank\n    path: *.csv\n",
    "a variable without quotes in braces": "sources: {shop: {type: files, root: ${ROOT}}}\n",
    "a line that does not line up": f"{READ}rules:\n  twice:\n    kind: duplicates\n   dataset: charges\n",
    "an escape that means nothing": rule('key: [{order_id: [{regex: ["\\d", ""]}]}]'),
    "one key twice": rule(KEY, "severity: low", "owner: x", "severity: low"),
    "one rule twice": f"{READ}{RULE}  twice: {{kind: duplicates, dataset: charges, key: [id]}}\n",
    "an anchor and an alias": f"{READ}rules:\n  twice: &base {{kind: duplicates, dataset: charges, key: [a]}}\n"
    "  again: *base\n",
    "a merge key": f"{READ}rules:\n  twice:\n    <<: {{kind: duplicates}}\n    dataset: charges\n    key: [a]\n",
    "a tag": rule("key: !!python/object:os.system [a]"),
    "a second document": f"{READ}{RULE}---\nversion: 1\n",
    "another version": f"version: 2\n{READ}{RULE}",
    "nothing to check": READ,
    "an empty section": f"{READ}rules:\n",
    "a section that is a list": f"{READ}rules: [twice]\n",
    "a misspelt section": f"{READ}{RULE}chanels: {{}}\n",
    "a section of a later version": f"{READ}{RULE}maintenance: {{}}\n",
    "a misspelt key of a rule": rule(KEY, "severty: high"),
    "a key that is far from all": rule(KEY, "xyzzy: 1"),
    "no kind": f"{READ}rules:\n  twice: {{dataset: charges, key: [a]}}\n",
    "a secret in a setting that is shown": (
        f'{READ}{RULE}channels:\n  log: {{type: file, path: "${{secret:PIN}}/messages.txt"}}\n'
    ),
    "a misspelt key for the kind": f"{READ}rules:\n  twice: {{kidn: duplicates, dataset: charges, key: [a]}}\n",
    "a misspelt kind": f"{READ}rules:\n  twice: {{kind: duplicate, dataset: charges, key: [a]}}\n",
    "a kind of a later version": f"{READ}rules:\n  twice: {{kind: reconciliation, left: a, right: b}}\n",
    "cleaning, which comes later": rule(KEY, "clean: {action: delete}", "approval: none", "limits: {records: 3}"),
    "a preset and examples, which come later": rule(KEY, "use: preset/double-charge", "examples: []"),
    "no dataset": f"{READ}rules:\n  twice: {{kind: duplicates, key: [a]}}\n",
    "a misspelt dataset": f"{READ}rules:\n  twice: {{kind: duplicates, dataset: charge, key: [a]}}\n",
    "no key": rule("minimum: 2"),
    "a misspelt key setting": rule("keys: [order_id]"),
    "an empty key": rule("key: []"),
    "a key without a value": rule("key:"),
    "a column twice in a key": rule("key: [a, b, a]"),
    "a part of a key that is a list": rule("key: [a, [b, c]]"),
    "a misspelt normaliser": rule("key: [{email: [trim, mailbx]}]"),
    "an argument that does not fit": rule("key: [{amount: [{round: two}]}]"),
    "an argument where none is taken": rule("key: [{name: [{trim: 3}]}]"),
    "a normaliser with two names": rule("key: [{name: [{trim: 3, round: 2}]}]"),
    "a severity that is none": rule(KEY, "severity: hihg"),
    "a severity far from all": rule(KEY, "severity: urgent"),
    "a window that is no duration": rule(KEY, "window: {charged_at: 15 minutes}"),
    "a window without a column": rule(KEY, "window: 15m"),
    "a negative window": rule(KEY, "gap: {position: -3}"),
    "gap and window together": rule(KEY, "gap: {at: 1m}", "window: {at: 1m}"),
    "keep that is not known": rule(KEY, "keep: [newest]"),
    "a minimum of one": rule(KEY, "minimum: 1"),
    "a minimum in words": rule(KEY, "minimum: two"),
    "an engine that is none": rule(KEY, "engine: duckdb"),
    "nulls of a column that is not in the key": rule(KEY, "nulls: {order: match}"),
    "a pair of one": rule(KEY, "except: [[ch_1]]"),
    "expressions that cannot be read": rule(KEY, "where: status == 'paid'", "having: 'sum(amount) >'"),
    "expressions of a dataset": "sources: {shop: {type: files}}\ndatasets:\n  charges:\n    source: shop\n"
    "    path: a.csv\n    where: not\n    columns: {gross: {is: net +}}\n" + RULE,
    "a former name that still lives": rule(KEY, "was: twice"),
    "a source without type": "sources: {shop: {root: x}}\n" + RULE,
    "a misspelt type": "sources: {shop: {type: file}}\n" + RULE,
    "a type of a later version": "sources: {shop: {type: stripe}}\n" + RULE,
    "a plug-in that is broken": "sources: {shop: {type: broken}}\n" + RULE,
    "a source that is a word": "sources: {shop: files}\n" + RULE,
    "a misspelt key of a source": "sources: {shop: {type: files, rot: x}}\n" + RULE,
    "a misspelt source": "sources: {shop: {type: files}}\ndatasets: {charges: {source: shpo, path: a.csv}}\n" + RULE,
    "a dataset without source": "sources: {shop: {type: files}}\ndatasets: {charges: {path: a.csv}}\n" + RULE,
    "a dataset without what its source needs": "sources: {shop: {type: files}}\ndatasets: {charges: {source: shop}}\n"
    + RULE,
    "misspelt keys of a dataset": "sources: {shop: {type: files}}\n"
    "datasets: {charges: {source: shop, pth: a.csv, ids: a, delimeter: x}}\n" + RULE,
    "a source and its dataset, both wrong": "sources: {v: {type: vault}}\n"
    "datasets: {charges: {source: v, tabel: t}}\n" + RULE,
    "incremental reading, which comes later": "sources: {shop: {type: files}}\n"
    "datasets: {charges: {source: shop, path: a.csv, incremental: {by: x}}}\n" + RULE,
    "columns of unknown types": "sources: {shop: {type: files}}\n"
    "datasets: {charges: {source: shop, path: a.csv, columns: {a: decmal, b: text %d, c: date dd.mm, d: {if: a}}}}\n"
    + RULE,
    "money without currency": "sources: {shop: {type: files}}\n"
    "datasets: {charges: {source: shop, path: a.csv, money: {amount: total, curency: EUR}}}\n" + RULE,
    "money that is a word": "sources: {shop: {type: files}}\n"
    "datasets: {charges: {source: shop, path: a.csv, money: total}}\n" + RULE,
    "a misspelt time zone": f"timezone: Europe/Berln\n{READ}{RULE}",
    "memory without a unit": f"memory: 2000\n{READ}{RULE}",
    "too little memory": f"memory: 1MB\n{READ}{RULE}",
    "a state in another database": f"state: mysql://root:hunter2secret@db/x\n{READ}{RULE}",
    "a state in memory": f"state: 'sqlite://'\n{READ}{RULE}",
    "a job without rules": f"{READ}{RULE}jobs: {{nightly: {{}}, hourly: {{rules: []}}}}\n",
    "misspelt names in a job": f"{READ}{RULE}jobs: {{nightly: {{rules: [twic], notify: [ops], existing: sumary}}}}\n"
    "channels: {opps: {type: pager, token: t0p-s3cret}}\n",
    "schedules that name no time": f"{READ}{RULE}jobs:\n  a: {{rules: all, schedule: {{cron: daily}}}}\n"
    "  b: {rules: all, schedule: 61 6 * * *}\n  c: {rules: all, schedule: 0 6 31 2 *}\n"
    "  d: {rules: all, schedule: {cron: 0 6 * * *, timezone: Europe/Berln, jitter: 2, catch_up: lates, max: 0}}\n"
    "  e: {rules: all, schedule: {corn: 0 6 * * *}}\n  f: {rules: all, schedule: '@reboot'}\n",
    "jobs that wait for what is not there or for each other": f"{READ}{RULE}jobs:\n"
    "  a: {rules: all, after: [b, lod], watch: chrges}\n  b: {rules: all, after: a}\n"
    "  c: {rules: all, after: c, time_limit: 0s, stall: soon, priority: high}\n",
    "a watched table and watchdogs that cannot be called": "sources: {shop: {type: sql, url: 'sqlite:///a.db'}}\n"
    f"datasets: {{charges: {{source: shop, table: charges, id: id}}}}\n{RULE}jobs:\n"
    "  w: {rules: all, watch: [charges]}\n  a: {rules: all, heartbeat: 'ping', heartbeat_allow: intranet}\n"
    "  b: {rules: all, heartbeat: 'https://me:t0p-s3cret@ping.example.com/', heartbeat_allow: [10.0.0.1/8]}\n"
    "  c: {rules: all, heartbeat: 'https://ping.example.com:http/t0p-s3cret', success_within: 0s}\n",
    "settings of serve that make no sense": f"{READ}{RULE}listen: 8321\nmax_parallel: 0\ngrace_stop: 2h\n"
    "alerts: [opps]\ntraces: localhost\nretention: {runs: 1h, details: 9w, rows: 3d}\n"
    "channels: {ops: {type: pager, token: t0p-s3cret}}\n",
    "a channel of a later version": f"{READ}{RULE}channels: {{ops: {{type: email}}}}\n",
    "a name that is none": f"{READ}rules:\n  twice charged!: {{kind: duplicates, dataset: charges, key: [a]}}\n",
    "a rule called all": f"{READ}rules:\n  all: {{kind: duplicates, dataset: charges, key: [a]}}\n",
    "variables that are not set": f"timezone: ${{TZNE}}\n{READ}{RULE}"
    "channels: {ops: {type: pager, token: '${secret:PAGER_TOKN}'}}\n",
    "variables that are none": rule(KEY, "owner: a ${x y} b", "runbook: ${OPEN"),
    "a secret file that is missing": f"{READ}{RULE}channels: {{ops: {{type: pager, token: '${{file:no/token}}'}}}}\n",
    "a secret in a rule": rule(KEY, "owner: ${secret:PAGER_TOKEN}"),
    "a secret that does not fit": "sources:\n"
    "  v: {type: vault, url: '${secret:PAGER_TOKEN}', retries: '${secret:PIN}'}\n" + RULE,
    "a secret written in the file": "sources: {v: {type: vault, url: 'hunter2-is-here'}}\n" + RULE,
    "an include that matches nothing": f"include: [rules/*.yaml]\n{READ}{RULE}",
    "an include that leads out": f"include: [../*.yaml, /etc/*.yaml]\n{READ}{RULE}",
    "one name in two files": {
        "reconcile.yaml": f"include: ['rules/*.yaml']\n{READ}{RULE}",
        "rules/a.yaml": RULE,
        "rules/b.yaml": f"state: sqlite:///x.db\n{RULE}rulez: {{}}\n",
    },
    "mistakes in three files": {
        "reconcile.yaml": f"include: ['rules/*.yaml']\n{READ}timezone: Mars\n",
        "rules/a.yaml": "rules:\n  one: {kind: duplicates, dataset: charges, key: [a], minimum: x}\n",
        "rules/b.yaml": "rules:\n  two: {kind: duplicates, dataset: nothing, key: [a]}\n  three: [\n",
    },
}
