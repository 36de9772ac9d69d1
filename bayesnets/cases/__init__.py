"""Cases drawn from a network so that posteriors are covered evenly."""
