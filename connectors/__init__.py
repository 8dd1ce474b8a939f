"""The connectors to records in databases, files, workbooks, lakes and Spark: typed, and in bounded memory."""

__reconcile__ = True  # `reconcile doctor` checks this mark: another distribution can silently replace our package.

KINDS: dict[str, str] = {
    "sql": "connectors.sql.connector:SqlConnector",
    "duckdb": "connectors.sql.duckdb_file:DuckDbSource",
    "delta": "connectors.lake.delta:DeltaSource",
    "files": "connectors.files.connector:FilesConnector",
    "iceberg": "connectors.lake.iceberg:IcebergSource",
    "spark": "connectors.spark.source:SparkSource",
    "workbook": "connectors.workbook.source:WorkbookSource",
}
"""The connectors, one file each; this is the only place that lists them. Loaded when a configuration names them."""
