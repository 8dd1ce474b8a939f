"""From records to groups: keys, components, spans, the keeper, and what a group is."""
