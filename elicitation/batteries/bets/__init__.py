"""Questions about values and bets, and models that choose."""
