"""From answers to the runs table: distributions and probabilities read off, replies decoded."""
