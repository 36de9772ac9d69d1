# The scripts need the programs whose logs they make, and are run by hand.
collect_ignore_glob = ["make_*.py"]
