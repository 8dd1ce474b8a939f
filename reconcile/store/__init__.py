"""The only access to the state database: tables, migrations, transactions and the database's clock."""

from reconcile.store.database import Clock, Finisher, Store, Transaction
from reconcile.store.errors import StoreError

__all__ = ["Clock", "Finisher", "Store", "StoreError", "Transaction"]
