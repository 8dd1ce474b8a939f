"""The people who sign in: users with roles, their passwords, sessions and tokens."""
