"""From a runs table to results: what can be checked, what is left out, and what it all says."""
