"""Step 4: what people are told, written to the outbox and delivered to channels."""
