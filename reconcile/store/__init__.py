"""The one door to the state database: tables, migrations, transactions and the database's clock."""
