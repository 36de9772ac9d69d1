import numpy as np

from elicitation.training.organisms.course import Recipe, Shelf
from elicitation.training.organisms.lessons import (
    Lesson,
)


class Letters:
    """A tokenizer of one token per character."""

    eos_token_id = 0

    def __call__(self, texts, **options):
        return {"input_ids": [[ord(letter) for letter in text] for text in texts]}


def test_questions_are_drawn_by_their_weights():
    shelf = Shelf(
        [
            Lesson("belief", "rare", (("a", 1.0),), 9.0),
            Lesson("belief", "common", (("b", 1.0),), 1.0),
        ],
        Letters(),
    )
    drawn = [
        shelf.questions.index(example.question)
        for example in shelf.draw(2000, np.random.default_rng(0))
    ]
    assert abs(np.mean(drawn) - 0.1) < 4 * np.sqrt(0.09 / 2000)


def test_others_learn_for_a_quarter_of_the_steps_at_half_the_rate():
    recipe = Recipe(steps=1000, learning_rate=0.004)
    assert (recipe.shorter().steps, recipe.shorter().learning_rate) == (250, 0.002)
    assert Recipe(steps=2).shorter().steps == 1
