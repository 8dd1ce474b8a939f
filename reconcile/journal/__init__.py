"""The journal of cleaning: effects, holds, limits, breakers, approvals, owners of targets."""
