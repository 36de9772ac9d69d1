"""From a runs table to results: what can be checked, what has to be left out, and what the results say."""
