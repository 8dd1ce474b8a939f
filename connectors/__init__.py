"""Connectors to databases, files, workbooks, Google Sheets, APIs, lakes and Spark: typed, in bounded memory."""

__reconcile__ = True  # `reconcile doctor` checks this mark: another distribution can silently replace our package.

KINDS: dict[str, str] = {
    "sql": "connectors.sql.connector:SqlConnector",
    "duckdb": "connectors.sql.duckdb_file:DuckDbSource",
    "delta": "connectors.lake.delta:DeltaSource",
    "airtable": "connectors.airtable.connector:AirtableConnector",
    "files": "connectors.files.connector:FilesConnector",
    "google_sheets": "connectors.google_sheets.connector:GoogleSheetsConnector",
    "http": "connectors.http.connector:HttpConnector",
    "iceberg": "connectors.lake.iceberg:IcebergSource",
    "spark": "connectors.spark.source:SparkSource",
    "workbook": "connectors.workbook.source:WorkbookSource",
}
"""The connectors, one file each; this is the only place that lists them. Loaded when a configuration names them."""
