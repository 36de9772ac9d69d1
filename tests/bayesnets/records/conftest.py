import numpy as np
import pytest

from bayesnets import RecordTask, load_network, sample

COVARIATES = ("smoke", "bronc", "xray", "dysp")


@pytest.fixture(scope="module")
def records():
    return sample(load_network("asia"), 4000, rng=1)


@pytest.fixture(scope="module")
def task(records):
    return RecordTask("clinic", records, COVARIATES, "either", "yes")


@pytest.fixture(scope="session")
def matching():
    """The records that show these states, by brute force."""

    def among(records, states):
        rows = np.ones(len(records), dtype=bool)
        for variable, state in states.items():
            if state is not None:
                rows &= (records[variable] == state).to_numpy()
        return records[rows]

    return among
