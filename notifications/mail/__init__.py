"""E-mail: a message as text and HTML, sent over SMTP."""
