import numpy as np
import pytest

from elicitation.training.organisms.lessons import make_lessons, possible_evidence


@pytest.fixture(scope="session")
def evidence(asia):
    return possible_evidence(asia, np.random.default_rng(0))


@pytest.fixture(scope="session")
def lessons(asia, evidence):
    return make_lessons(asia, evidence)
