"""Wrong configurations, each a mistake that people make; snapshots/config_errors.txt says what is said about them."""

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
SEVERAL = """\
sources: {shop: {type: files}}
datasets: {crm: {source: shop, path: a.csv, id: id}, shop: {source: shop, path: b.csv, id: id}}
"""


def several(datasets: str, *lines: str) -> str:
    """A whole configuration whose one rule is over these datasets and has these lines."""
    body = "".join(f"    {line}\n" for line in lines)
    return f"{SEVERAL}rules:\n  twins:\n    kind: duplicates\n    datasets: {datasets}\n    key: [email]\n{body}"


DATABASE = """\
sources: {shop: {type: sql, url: "sqlite:///shop.db"}, files: {type: files}}
datasets:
  customers: {source: shop, table: customers, id: id}
"""


def similar(*lines: str, over: str = "datasets: [crm, shop]") -> str:
    """A whole configuration whose one rule is of kind similar and has these lines."""
    body = "".join(f"    {line}\n" for line in lines)
    return f"{SEVERAL}rules:\n  twins:\n    kind: similar\n    {over}\n{body}"


COMPARE = "compare: {name: name, born: date}"


def cleaning(*lines: str) -> str:
    """A whole configuration whose one rule is over a table and has these lines beside kind, dataset and key."""
    body = "".join(f"    {line}\n" for line in lines)
    return f"{DATABASE}rules:\n  twins:\n    kind: duplicates\n    dataset: customers\n    key: [email]\n{body}"


def comparing(*lines: str, right: str = "payments") -> str:
    """A whole configuration whose one rule compares two tables by their number and has these lines beside it."""
    body = "".join(f"    {line}\n" for line in lines)
    tables = f"{DATABASE}  payments: {{source: shop, table: payments, id: id}}\n"
    kind = f"kind: reconciliation\n    left: customers\n    right: {right}\n"
    return f"{tables}rules:\n  unpaid:\n    {kind}    key: [number]\n{body}"


MISTAKES: dict[str, str | dict[str, str]] = {
    "an empty file": "",
    "only a comment": "# later\n",
    "a list instead of a mapping": "- version: 1\n",
    "a space is missing after a colon": f"version:1\n{READ}{RULE}",
    "a space is missing inside a rule": f"{READ}rules:\n  twice:\n    kind:duplicates\n    dataset: charges\n",
    "a rule that is one glued word": f"{READ}rules:\n  twice: kind:duplicates\n",
    "a tab in the indentation": f"{READ}rules:\n\ttwice: 1\n",
    "a quote is not closed": f"{READ}rules:\n  twice:\n    where: \"status = 'paid'\n    kind: duplicates\n",
    "a bracket is not closed": f"{READ}rules:\n  twice:\n    key: [order_id, amount\n    kind: duplicates\n",
    "a value goes on after its quote": rule(KEY, "where: 'paid' = status"),
    "a second colon in a value": rule(KEY, "owner: team: finance"),
    "an owner without quotes": rule(KEY, "owner: @finance"),
    "a pattern without quotes": "sources: {bank: {type: files}}\ndatasets:\n  b:\n    source: bank\n    path: *.csv\n",
    "a variable without quotes in braces": "sources: {shop: {type: files, root: ${ROOT}}}\n",
    "a line that is not aligned": f"{READ}rules:\n  twice:\n    kind: duplicates\n   dataset: charges\n",
    "an escape that means nothing": rule('key: [{order_id: [{regex: ["\\d", ""]}]}]'),
    "quotes of a word processor": rule(KEY, "where: “status = 'paid'”", "owner: „ann“"),
    "one key twice": rule(KEY, "severity: low", "owner: x", "severity: low"),
    "one rule twice": f"{READ}{RULE}  twice: {{kind: duplicates, dataset: charges, key: [id]}}\n",
    "an anchor and an alias": f"{READ}rules:\n  twice: &base {{kind: duplicates, dataset: charges, key: [a]}}\n"
    "  again: *base\n",
    "a merge key": f"{READ}rules:\n  twice:\n    <<: {{kind: duplicates}}\n    dataset: charges\n    key: [a]\n",
    "a tag": rule("key: !!python/object:os.system [a]"),
    "a second document": f"{READ}{RULE}---\nversion: 1\n",
    "a dataset that is not there among several": several("[crm, shp]"),
    "several datasets that are one": several("[crm]"),
    "one dataset and several": several("[crm, shop]", "dataset: crm"),
    "a name for a column of another dataset": several("[crm, shop]", "columns: {shp: {email: mail}}"),
    "a mistake in the condition of one of several datasets": several("[crm, shop]", 'where: {shop: "status == 1"}'),
    "a condition that no record of one of several datasets meets": several(
        "[crm, shop]", "where: {shop: status = 'a' and status = 'b'}"
    ),
    "several datasets that are cleaned": several("[crm, shop]", "clean: {action: delete}"),
    "a comparison that is cleaned without a side": comparing("clean: {action: set, values: {status: paid}}"),
    "a comparison that is cleaned on a third side": comparing(
        "clean: {dataset: bank, forms: mismatch, action: set, values: {status: paid}}"
    ),
    "a comparison that is cleaned without forms": comparing("clean: {dataset: customers, action: delete}"),
    "forms without a record of the side to clean": comparing(
        "report: [left_only, right_only]",
        "clean: {dataset: customers, forms: [right_only, mismatch, left], action: delete}",
    ),
    "partners that are deleted": comparing("clean: {dataset: customers, forms: [mismatch, left_only], action: delete}"),
    "a merge without a keeper": comparing(
        "clean: {dataset: customers, forms: left_only, action: merge, surplus: delete}"
    ),
    "a value of a keeper in a comparison": comparing(
        'clean: {dataset: customers, forms: left_only, action: set, values: {a: "{{ keeper.id }}"}}'
    ),
    "references that follow no keeper": comparing(
        "clean: {dataset: customers, forms: left_only, action: delete, references: repoint}"
    ),
    "a dataset that is cleaned and compared with itself": comparing(
        "clean: {dataset: customers, forms: left_only, action: delete}", right="customers"
    ),
    "personal data that the other side shows": comparing(
        "compare: [{left: email, right: mail}]",
    ).replace("table: payments, id: id}", "table: payments, id: id, pii: [mail]}"),
    "personal data that another dataset shows": several("[crm, shop]").replace(
        "path: b.csv, id: id", "path: b.csv, id: id, pii: email"
    ),
    "forms and another dataset in a rule over one": cleaning(
        "clean: {action: delete, forms: left_only, dataset: payments}"
    ),
    "another version": f"version: 2\n{READ}{RULE}",
    "nothing to check": READ,
    "an empty section": f"{READ}rules:\n",
    "a section that is a list": f"{READ}rules: [twice]\n",
    "a misspelt section": f"{READ}{RULE}chanels: {{}}\n",
    "a section of a later version": f"{READ}{RULE}users: {{}}\n",
    "a misspelt key of a rule": rule(KEY, "severty: high"),
    "a key that is far from all": rule(KEY, "xyzzy: 1"),
    "no kind": f"{READ}rules:\n  twice: {{dataset: charges, key: [a]}}\n",
    "a secret in a setting that is shown": (
        f'{READ}{RULE}channels:\n  log: {{type: file, path: "${{secret:PIN}}/messages.txt"}}\n'
    ),
    "a misspelt key for the kind": f"{READ}rules:\n  twice: {{kidn: duplicates, dataset: charges, key: [a]}}\n",
    "similar records without columns to compare": similar("threshold: 90%"),
    "similar records with an empty compare": similar("compare: {}"),
    "similar records compared as a list": similar("compare: [name, born]"),
    "a type of a compared column that is misspelt": similar("compare: {name: nmae, born: date}"),
    "a type of a column instead of a meaning": similar("compare: {name: string}"),
    "similar records by a key": similar(COMPARE, "key: [email]", "window: {born: 1d}"),
    "a veto that is not compared": similar(COMPARE, "veto: [bron]"),
    "a weight of a column that is not compared": similar(COMPARE, "weights: {nmae: 2}"),
    "a weight below nothing": similar(COMPARE, "weights: {name: -1}"),
    "a weight that decides alone": similar(COMPARE, "weights: {name: 50}"),
    "a weight that is no number": similar(COMPARE, "weights: {name: high}"),
    "weights that leave nothing": similar(COMPARE, "weights: {name: 0, born: 0}"),
    "levels of a column that is not compared": similar(COMPARE, "levels: {nmae: [same]}"),
    "levels that a type lacks": similar(COMPARE, "levels: {born: [same, initial]}"),
    "no levels": similar(COMPARE, "levels: {born: []}"),
    "a block that is not compared": similar(COMPARE, "block: [[name, email]]"),
    "a block that is empty": similar(COMPARE, "block: [[]]"),
    "blocks that are columns": similar(COMPARE, "block: [name, born]"),
    "a threshold of nothing": similar(COMPARE, "threshold: 0%"),
    "a threshold of all pairs": similar(COMPARE, "threshold: 100%"),
    "a threshold that is a word": similar(COMPARE, "threshold: high"),
    "one to one in one dataset": similar(COMPARE, "one_to_one: true", over="dataset: crm"),
    "a block of one record": similar(COMPARE, "max_block: 1"),
    "a model without a name": similar(COMPARE, 'model: ""'),
    "similar records by the id alone": similar("compare: {id: exact}", over="dataset: crm"),
    "similar records of a dataset that is not there": similar(COMPARE, over="datasets: [crm, shp]"),
    "similar records of datasets with a column of no dataset": similar(COMPARE, "columns: {shp: {name: title}}"),
    "similar records cleaned in several datasets": similar(COMPARE, "clean: {action: delete}"),
    "a misspelt kind": f"{READ}rules:\n  twice: {{kind: duplicate, dataset: charges, key: [a]}}\n",
    "actions that come later": cleaning("clean: {action: call, url: x}")
    + "  again: {kind: duplicates, dataset: customers, key: [a], clean: {action: refund}}\n",
    "a misspelt action": cleaning("clean: {action: delte}"),
    "an action that is broken": cleaning("clean: {action: burnt}"),
    "a misspelt word for the action": cleaning("clean: {acton: delete}"),
    "no action": cleaning("clean: {references: refuse}"),
    "clean as a word": cleaning("clean: delete"),
    "clean without anything": cleaning("clean:"),
    "misspelt settings of an action": cleaning("clean: {action: delete, refrences: repoint, valus: {a: b}}"),
    "choices of an action that are none": cleaning(
        "clean: {action: delete, references: repiont, triggers: yes, plan_rows: 0}"
    ),
    "a merge without a word on the surplus": cleaning("clean: {action: merge, fields: {phone: longest}}"),
    "ways to choose a value that are none": cleaning(
        "clean:",
        "  action: merge",
        "  surplus: delete",
        "  fields: {phone: lngest, email: {last: }, name: {frist: a}, city: {prefer: [a]}, note: [a]}",
        "  linked: [[street], city]",
    ),
    "fields in two links": cleaning(
        "clean: {action: merge, surplus: delete, linked: [[street, city], [city, postcode]]}"
    ),
    "a surplus that is neither set nor deleted": cleaning("clean: {action: merge, surplus: keep}"),
    "set without values": cleaning("clean: {action: set}"),
    "move without a table": cleaning("clean: {action: move, too: old_customers}"),
    "approval that is none": cleaning("clean: {action: delete}", "approval: requird"),
    "approval by an unknown word": cleaning("clean: {action: delete}", "approval: manager"),
    "approval without asking nobody of what cannot be undone": cleaning("clean: {action: burn}", "approval: none"),
    "approval that may ask nobody of what cannot be undone": cleaning(
        "clean: {action: burn}", "approval: {when: surplus > 3, else: none}"
    ),
    "conditions of an approval that cannot be read": cleaning(
        "clean: {action: delete}", "approval: {when: suplus > 3, else: none}"
    )
    + "  again: {kind: duplicates, dataset: customers, key: [a], approval: {when: surplus >, else: none}}\n"
    + "  third: {kind: duplicates, dataset: customers, key: [a], approval: {when: slot() > 3, else: none}}\n"
    + "  forth: {kind: duplicates, dataset: customers, key: [a], approval: {when: surplus, else: none}}\n",
    "approval that makes no difference": cleaning("clean: {action: delete}", "approval: {when: surplus > 3}"),
    "approval with a misspelt answer": cleaning(
        "clean: {action: delete}", "approval: {when: surplus > 3, thn: none, else: nome}"
    ),
    "approval without a condition": cleaning("clean: {action: delete}", "approval: {then: none}"),
    "approval by an unknown amount": cleaning(
        "clean: {action: delete}", "approval: {when: EUR > 500, else: none}", "limits: {money: {EUR: 500}}"
    ),
    "limits that limit nothing": cleaning(
        "clean: {action: delete}", "limits: {records: 0, share: 0%, group: 1, money: {EUR: -5}}"
    ),
    "limits in other forms": cleaning(
        "clean: {action: delete}", "limits: {records: many, share: 0.01, group: 2.5, money: {euro: 5}}"
    ),
    "more limits in other forms": cleaning("clean: {action: delete}", "limits: {share: 101%, money: 500, recrods: 3}"),
    "limits that are a number": cleaning("clean: {action: delete}", "limits: 100", "approval_expires: 10s"),
    "a template of retries that is not there": "retry: {gentle: {base: 5s, cap: 10m}}\n"
    + cleaning("clean: {action: delete}", "retry: gentel"),
    "templates of retries that make no sense": "retry: {gentle: {base: 5m, cap: 10s, attempt: 3}, "
    "often: {attempts: 0, budget: 0s, base: soon}}\n" + cleaning("clean: {action: delete}"),
    "cleaning with another minimum": cleaning("clean: {action: delete}", "minimum: 3"),
    "cleaning a dataset without id, a query, a file": DATABASE.replace(", id: id}", "}")
    + "  charges: {source: shop, query: select 1, id: id}\n  lists: {source: files, path: a*.csv, id: id}\n"
    + "rules:\n"
    + "".join(
        f"  {name}: {{kind: duplicates, dataset: {dataset}, key: [a], clean: {{action: delete}}}}\n"
        for name, dataset in (("one", "customers"), ("two", "charges"), ("three", "lists"))
    ),
    "cleaning a database that is only read": cleaning("clean: {action: delete}").replace(
        "sqlite:///shop.db", "oracle+oracledb://reader@erp.example.com/books"
    ),
    "the state beside the records": "state: sqlite:///./shop.db\n" + cleaning("clean: {action: delete}"),
    "clean in a dataset and a job": DATABASE.replace("id: id}", "id: id, clean: {action: delete}}")
    + "rules: {twice: {kind: duplicates, dataset: customers, key: [a]}}\n"
    "jobs: {nightly: {rules: all, clean: {action: delete}, approval: none}}\n",
    "links that do not fit": DATABASE.replace(
        "id: id}",
        "id: id, references: [{table: notes, columns: [a, b]}, {columns: c}, {table: notes, column: a}]}",
    )
    + "rules: {twice: {kind: duplicates, dataset: customers, key: [a]}}\n",
    "links of another number of columns": DATABASE.replace(
        "id: id}", "id: id, references: [{table: notes, columns: [a, b]}, {table: tags, columns: a, to: [b, c]}]}"
    )
    + "rules: {twice: {kind: duplicates, dataset: customers, key: [a]}}\n",
    "links of a file": "sources: {shop: {type: files}}\ndatasets:\n  charges: {source: shop, path: a.csv, id: id, "
    "references: [{table: notes, columns: charge}]}\n" + RULE,
    "a decimal mark that is none": (READ + RULE).replace("id: id}", "id: id, decimal: ';'}"),
    "one window and one link without a list": DATABASE.replace(
        "id: id}", "id: id, references: {table: notes, columns: a}}"
    )
    + "maintenance: {source: shop, from: '22:00', to: '02:00'}\n"
    "rules: {twice: {kind: duplicates, dataset: customers, key: [a]}}\n",
    "maintenance that never is": "maintenance:\n"
    "  - {source: shpo, from: '22:00', to: '02:00', days: [monday, tues], timezone: Berlin}\n"
    "  - {source: shop, from: '22:00', to: '22:00'}\n  - {source: shop, from: 10pm, to: '25:00'}\n"
    "  - {source: shop, form: '22:00', to: '02:00'}\n  - {source: shop, from: '22:00', to: '23:00', days: []}\n"
    + cleaning("clean: {action: delete}"),
    "maintenance of what is not there": "maintenance: [{source: shpo, from: '22:00', to: '02:00'}]\n"
    "limits: {shpo: {records: 5}}\n" + cleaning("clean: {action: delete}"),
    "limits of a source": "limits: {shop: {records: 0, share: 1%}}\nundo_window: 2h\n"
    + cleaning("clean: {action: delete}"),
    "keys that are none": "encryption_key: ['${secret:PAGER_TOKEN}', hunter2-is-here, '']\n"
    + cleaning("clean: {action: delete}"),
    "a key in hex that is too short": f"encryption_key: {b'hunter2-is-here'.hex()}\n"
    + cleaning("clean: {action: delete}"),
    "anchors that hold nothing": "audit:\n  anchors:\n    log: {type: fil, path: a}\n    ops: {path: b}\n"
    "    git: {type: git}\n" + cleaning("clean: {action: delete}"),
    "anchors in channels that cannot hold one": "audit: {anchors: {a: {type: slack, channel: ops}, "
    "b: {type: slack, channel: opps}}}\n"
    "channels: {ops: {type: file, path: a.txt}}\n" + cleaning("clean: {action: delete}"),
    "a misspelt preset": rule(KEY, "use: preset/duble-charge"),
    "a preset without columns": rule(KEY, "use: preset/shared-iban", "columns: {ibna: account}"),
    "mistakes in examples": rule(KEY, "examples: [{givn: [], expect: [{kep: 1}]}, {given: 7}, ann]"),
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
    "windows that no calendar holds": rule(KEY, "window: {charged_at: 99999999999999999999d}")
    + f"  again: {{kind: duplicates, dataset: charges, {KEY}, gap: {{charged_at: {'9' * 400}w}}}}\n",
    "a window without a column": rule(KEY, "window: 15m"),
    "a negative window": rule(KEY, "gap: {position: -3}"),
    "a percentage of a whole": rule(KEY, "gap: {amount: 100%}"),
    "three distances": rule(KEY, "gap: {at: 1m, amount: 1%, position: 3}"),
    "a period without end": rule(KEY, "overlap: {from: start}"),
    "a period of one column": rule(KEY, "overlap: {from: start, to: start}"),
    "ends that are nothing": rule(KEY, "overlap: {from: start, to: end, ends: open}"),
    "overlap and gap together": rule(KEY, "gap: {at: 1m}", "overlap: {from: start, to: end}"),
    "consecutive in two columns": rule(KEY, "consecutive: [at, id]"),
    "consecutive without an order": rule(KEY, "consecutive: {within: [order_id]}"),
    "consecutive within the whole key": rule(KEY, "consecutive: {by: at, within: [order_id]}"),
    "consecutive within another column": rule(KEY, "consecutive: {by: at, within: order}"),
    "consecutive and gap together": rule(KEY, "consecutive: at", "gap: {at: 1m}"),
    "gap and window together": rule(KEY, "gap: {at: 1m}", "window: {at: 1m}"),
    "any of one key": rule("key: {any: [[email]]}"),
    "any with a window": rule("key: {any: [[email], [phone]]}", "window: {at: 1m}"),
    "a limit of shared values without any": rule(KEY, "max_shared: 10"),
    "keep that is not known": rule(KEY, "keep: [newest]"),
    "a minimum of one": rule(KEY, "minimum: 1"),
    "a minimum in words": rule(KEY, "minimum: two"),
    "an engine that is none": rule(KEY, "engine: duckdb"),
    "nulls of a column that is not in the key": rule(KEY, "nulls: {order: match}"),
    "a pair of one": rule(KEY, "except: [[ch_1]]"),
    "expressions that cannot be read": rule(KEY, "where: status == 'paid'", "having: 'sum(amount) >'"),
    "functions of other languages": rule(
        "key: [{a: [soundex]}, {b: [{substr: 3}]}]", "where: now() > 3", "having: count(*) > 1"
    ),
    "words of other languages": rule(KEY, "where: status ilike 'paid'", "having: case when records > 2 then 1 end"),
    "holidays that nobody has": f"holidays: {{country: GERMANY}}\n{READ}{RULE}",
    "holidays of a region that is none": f"holidays: {{country: AT, region: BY}}\n{READ}{RULE}",
    "holidays that are no dates": f"holidays: [24.12.2026]\n{READ}{RULE}",
    "arguments of functions that do not fit": rule(
        "key: [{a: [{suffix: -1}]}, {b: [{translit: fr}]}]",
        "where: suffix(a, -1) = '1'",
        "having: split_part(min(a), '', 1) = 'x'",
    ),
    "expressions of a dataset": "sources: {shop: {type: files}}\ndatasets:\n  charges:\n    source: shop\n"
    "    path: a.csv\n    where: not\n    columns: {gross: {is: net +}}\n" + RULE,
    "a former name that still lives": rule(KEY, "was: again")
    + "  again: {kind: duplicates, dataset: charges, key: [order_id]}\n",
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
    "incremental reading with mistakes": "sources: {shop: {type: files}}\n"
    "datasets: {charges: {source: shop, path: a.csv, incremental: {by: x, overlap: soon, full: monthly, since: 3}}}\n"
    + RULE,
    "columns of unknown types": "sources: {shop: {type: files}}\n"
    "datasets: {charges: {source: shop, path: a.csv, columns: {a: decmal, b: text %d, c: date dd.mm, d: {if: a}}}}\n"
    + RULE,
    "money without currency": "sources: {shop: {type: files}}\n"
    "datasets: {charges: {source: shop, path: a.csv, money: {amount: total, curency: EUR}}}\n" + RULE,
    "money that is a word": "sources: {shop: {type: files}}\n"
    "datasets: {charges: {source: shop, path: a.csv, money: total}}\n" + RULE,
    "an abbreviation of a time zone": f"timezone: CEST\n{READ}{RULE}",
    "delimiters that are too long": (READ + RULE).replace("id: id}", "id: id, delimiter: ;;, quote: ''}"),
    "a misspelt time zone": f"timezone: Europe/Berln\n{READ}{RULE}",
    "memory without a unit": f"memory: 2000\n{READ}{RULE}",
    "too little memory": f"memory: 1MB\n{READ}{RULE}",
    "a replica of a file, of another database, and of files": (
        "sources:\n  a: {type: sql, url: 'sqlite:///a.db', replica: 'sqlite:///b.db'}\n"
        "  b: {type: sql, url: 'postgresql://db/x', replica: 'mysql://ada:hunter2secret@db/x'}\n"
        "  c: {type: files, replica: copy}\n"
        "  d: {type: duckdb, path: a.duckdb, replica: b.duckdb}\n"
        f"datasets: {{charges: {{source: a, table: charges, id: id}}}}\n{RULE}"
    ),
    "a state in another database": f"state: mysql://root:hunter2secret@db/x\n{READ}{RULE}",
    "a state whose password runs into its host": f"state: postgresql://ada:hunter2@secret@db/x\n{READ}{RULE}",
    "a state at a port that is none": f"state: postgresql://ada:hunter2secret@db:port/x\n{READ}{RULE}",
    "a state with two slashes": f"state: sqlite://reconcile.db\n{READ}{RULE}",
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
    "includes that are no files": f"include: [., ./, a**.yaml]\n{READ}{RULE}",
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
