"""The words of messages: a notice becomes a document of lines, which each channel draws."""
