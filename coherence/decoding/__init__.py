"""From the text of an answer to a value and a status; no model is needed."""
