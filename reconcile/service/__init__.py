"""`reconcile serve`: the scheduler, its workers, triggers and what watches them."""
