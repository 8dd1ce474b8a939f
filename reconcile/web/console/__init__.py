"""The console: pages for people. They work without JavaScript, from a keyboard, and on a phone."""
