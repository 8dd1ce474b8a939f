"""Step 4: messages to people, written to the outbox and delivered to channels."""
