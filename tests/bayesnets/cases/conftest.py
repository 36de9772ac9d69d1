import pytest

from bayesnets import load_network, sample_cases

ASIA = load_network("asia")


@pytest.fixture(scope="module")
def cases():
    return sample_cases(ASIA, "lung", 200, rng=11)
