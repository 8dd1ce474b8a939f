"""The wording of messages: a notice becomes a document of lines, which each channel renders."""
