import numpy as np
import pytest

from elicitation import AnswerStore
from elicitation.models.local.scoring import ReadsForms
from elicitation.spelling.tokenizations import SpellingMasses


class Told(ReadsForms):
    """A scoring model that continues texts as it was told; anything else has no probability."""

    name, fingerprint = "told", "told"

    def __init__(self, beliefs, *, unresolved=0.0):
        self.texts, self.beliefs = list(beliefs), beliefs
        self.unresolved, self.calls = unresolved, 0

    def encode(self, texts, *, answer=""):
        return [[self.texts.index(text)] for text in texts]

    def spelling_masses(self, texts, spellings, *, tolerance, tolerance_for=None, alike_share=0.0):
        self.calls += 1
        masses = np.zeros((len(texts), len(spellings)))
        for row, (number,) in enumerate(texts):
            for answer, mass in self.beliefs[self.texts[number]].items():
                for column, spelling in enumerate(spellings):
                    text = spelling.text.decode()
                    bounded = spelling.forbidden or spelling.ends
                    told = answer == text if bounded else answer.startswith(text)
                    masses[row, column] += mass * told
        return SpellingMasses(masses, np.full(len(texts), self.unresolved))


@pytest.fixture
def teller():
    return Told


@pytest.fixture
def store():
    with AnswerStore(":memory:") as opened:
        yield opened
