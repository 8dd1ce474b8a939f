"""The only access to the state database: tables, migrations, transactions and the database's clock."""

from reconcile.store.database import Clock, Finisher, Store, Transaction
from reconcile.store.errors import StoreError
from reconcile.store.tables import REVISION

__all__ = ["REVISION", "Clock", "Finisher", "Store", "StoreError", "Transaction"]
