import numpy as np
import pandas as pd
import pytest

from elicitation import AnswerStore
from elicitation.batteries.revealed import simulated
from elicitation.batteries.revealed.questions import (
    LETTERS,
    battery,
    even_bet_questions,
    questions_table,
)
from elicitation.batteries.revealed.scenarios.grid import decompositions, in_between
from elicitation.spelling.tokenizations import SpellingMasses


class Told:
    """A scoring model that continues texts as it was told; anything else has no probability."""

    name, fingerprint = "told", "told"

    def __init__(self, beliefs, *, unresolved=0.0):
        self.texts, self.beliefs, self.unresolved, self.calls = (
            list(beliefs),
            beliefs,
            unresolved,
            0,
        )

    def encode(self, texts, *, answer=""):
        return [[self.texts.index(text)] for text in texts]

    def spelling_masses(self, texts, spellings, *, tolerance, itemised=False):
        self.calls += 1
        masses = np.zeros((len(texts), len(spellings)))
        for row, (number,) in enumerate(texts):
            for answer, mass in self.beliefs[self.texts[number]].items():
                for column, spelling in enumerate(spellings):
                    text = spelling.text.decode()
                    bounded = answer == text if spelling.forbidden else answer.startswith(text)
                    masses[row, column] += mass * bounded
        return SpellingMasses(masses, np.full(len(texts), self.unresolved), [])


@pytest.fixture
def teller():
    return Told


@pytest.fixture
def store():
    with AnswerStore(":memory:") as opened:
        yield opened


@pytest.fixture
def coherent(teller):
    def coherent(settings, *, act=lambda p: float(p > 0.5), believe=simulated.exact):
        """Tell a model every text about settings: beliefs, and bets that follow from them."""
        continuations = {}
        for setting in [*settings, *in_between(settings)]:
            belief = believe(setting)
            continuations |= {
                text: {f" {outcome}": mass for outcome, mass in belief.items()}
                for text in setting.texts.values()
            }
            if setting.event:
                share = act(sum(belief[outcome] for outcome in setting.event.outcomes))
                for question in even_bet_questions(setting):
                    yes = question.options.index("Yes")
                    continuations[question.text] = {
                        f" {LETTERS[yes]}": share,
                        f" {LETTERS[1 - yes]}": 1 - share,
                    }
        for part in decompositions([*settings, *in_between(settings)]):
            for inner in (part.part, *part.given.values()):
                continuations[inner.texts["standard"]] = {
                    f" {outcome}": float(mass) for outcome, mass in inner.truth.items()
                }
        return teller(continuations)

    return coherent


@pytest.fixture
def fill():
    def fill(
        settings,
        *,
        believe=simulated.exact,
        accept=lambda setting: float(setting.probability(setting.event) > 0.5),
    ):
        """Answer the whole battery as somebody would whose beliefs and bets are known."""
        table = questions_table(settings)
        questions = {question.name: question for question in battery(settings)}

        def probability(name, outcome):
            question = questions[name]
            if question.kind == "belief":
                return believe(question.setting)[outcome]
            option = question.options[question.outcomes.index(outcome)]
            if question.kind == "stated":
                return float(option == str(question.setting.truth[question.setting.asked]))
            share = accept(question.setting)
            return share if option == "Yes" else 1 - share

        numbers = [
            probability(name, outcome)
            for name, outcome in zip(table["question"], table["outcome"], strict=True)
        ]
        return table.assign(probability=numbers)

    return fill


@pytest.fixture
def draws():
    def draws(table, answers):
        """Replace the rows of questions by drawn answers."""
        rows = [
            {"question": name, "rep": rep, "answer": text}
            for name, texts in answers.items()
            for rep, text in enumerate(texts)
        ]
        return pd.concat([table[~table["question"].isin(list(answers))], pd.DataFrame(rows)])

    return draws


@pytest.fixture
def write(tmp_path):
    def write(table, name="mine.csv"):
        table.to_csv(tmp_path / name, index=False)
        return tmp_path / name

    return write
