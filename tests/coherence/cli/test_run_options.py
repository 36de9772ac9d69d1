import argparse

import pytest

from coherence.cli.run_options import add_jobs, add_seed, require_seed
from coherence.errors import InputError


def parsed(*words):
    parser = argparse.ArgumentParser()
    add_seed(parser)
    add_jobs(parser)
    return parser.parse_args(words)


def test_defaults_are_one_process_and_the_seed_0():
    assert vars(parsed()) == {"seed": 0, "n_jobs": 1}


def test_a_negative_seed_is_refused():
    require_seed(parsed("--seed", "0"))
    with pytest.raises(InputError, match="--seed must be at least 0; received -1"):
        require_seed(parsed("--seed", "-1"))
