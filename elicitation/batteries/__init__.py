"""Questions whose right answer is known exactly, for each battery of `coherence.batteries`."""
