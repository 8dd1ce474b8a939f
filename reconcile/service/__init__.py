"""`reconcile serve`: the scheduler, its workers, triggers and HTTP endpoints."""
