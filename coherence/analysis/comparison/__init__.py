"""Several models on the same cases: paired differences, false discoveries, rank intervals."""
