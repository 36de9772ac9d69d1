import numpy as np
import pytest

from elicitation import AnswerStore
from elicitation.batteries.revealed.questions import LETTERS, even_bet_questions
from elicitation.batteries.revealed.scenarios.grid import decompositions, in_between
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


def exactly(setting):
    return {outcome: float(probability) for outcome, probability in setting.truth.items()}


@pytest.fixture
def coherent(teller):
    def coherent(settings, *, act=lambda p: float(p > 0.5), believe=exactly):
        """Tell a model every text about settings: beliefs, and bets that follow from them."""
        continuations, every = {}, [*settings, *in_between(settings)]
        for setting in every:
            belief = believe(setting)
            spread = {f" {outcome}": mass for outcome, mass in belief.items()}
            continuations |= dict.fromkeys(setting.texts.values(), spread)
            if setting.event:
                share = act(sum(belief[outcome] for outcome in setting.event.outcomes))
                for question in even_bet_questions(setting):
                    yes = question.options.index("Yes")
                    letters = {f" {LETTERS[yes]}": share, f" {LETTERS[1 - yes]}": 1 - share}
                    continuations[question.text] = letters
        for part in decompositions(every):
            for inner in (part.part, *part.given.values()):
                spread = {f" {outcome}": float(mass) for outcome, mass in inner.truth.items()}
                continuations[inner.texts["standard"]] = spread
        return teller(continuations)

    return coherent
