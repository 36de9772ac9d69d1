import pytest

from bayesnets import RecordTask, load_network, sample

COVARIATES = ("smoke", "bronc", "xray", "dysp")


@pytest.fixture(scope="module")
def records():
    return sample(load_network("asia"), 4000, rng=1)


@pytest.fixture(scope="module")
def task(records):
    return RecordTask("clinic", records, COVARIATES, "either", "yes")
