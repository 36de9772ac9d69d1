"""Hand tables, files and calls drawn by hypothesis to the project, and judge the answers.

    python benchmarks/faults/drawn.py --what tables --examples 5000 --seed 0
    python benchmarks/faults/drawn.py --what calls --examples 5000 --seed 0

An answer is a result of the right type or an error of this project that names a parameter, a
column or the file. A fault is all else: another error, a call of more than `SECONDS`, a warning
that escapes, a file of an output that is refused.
"""

import argparse
import resource
from functools import partial

import calls
import tables
from attempts import draw

MEMORY = 8 << 30
WHAT = {"tables": tables, "calls": calls}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--what", choices=list(WHAT), required=True)
    parser.add_argument("--examples", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, hard))
    drawn, report = WHAT[options.what], partial(print, flush=True)
    print(dict(draw(drawn, options.examples, options.seed, report)))
