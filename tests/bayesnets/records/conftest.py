import pytest

from bayesnets import load_network, sample
from bayesnets.records.task import RecordTask

COVARIATES = ("smoke", "bronc", "xray", "dysp")


@pytest.fixture(scope="module")
def records():
    return sample(load_network("asia"), 4000, rng=1)


@pytest.fixture(scope="module")
def task(records):
    return RecordTask("clinic", records, COVARIATES, "either", "yes")
