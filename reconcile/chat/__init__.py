"""Decisions from a chat: presses of buttons, kept first and carried out once."""
