"""Step 3: clean findings. A plan lists the changes, people approve it, and it is executed once or not at all."""
