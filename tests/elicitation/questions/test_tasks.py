"""The user's own network: breaks if file, words or records mean something else than they say."""

import re

import pandas as pd
import pytest

from bayesnets import write_network
from coherence import InputError
from elicitation import Design, load_task, plan_task

LAWN = """network lawn { }
variable rain        { type discrete [ 2 ] { no, yes }; }
variable sprinkler   { type discrete [ 3 ] { off, low, high }; }
variable "wet grass" { type discrete [ 2 ] { wet, dry }; }
probability ( rain ) { table 0.8, 0.2; }
probability ( sprinkler ) { table 0.5, 0.3, 0.2; }
probability ( "wet grass" | rain, sprinkler ) {
    (no, off) 0.1, 0.9; (no, low) 0.6, 0.4; (no, high) 0.8, 0.2;
    (yes, off) 0.7, 0.3; (yes, low) 0.9, 0.1; (yes, high) 0.95, 0.05;
}
"""


@pytest.fixture
def lawn(tmp_path):
    file = tmp_path / "garden.bif"
    file.write_text(LAWN, encoding="utf-8")
    return file


@pytest.fixture
def words(tmp_path, lawn, run):
    file = tmp_path / "garden.toml"
    run(f"networks phrases {lawn} --target rain --out {file}")
    text = file.read_text(encoding="utf-8").replace('"a person"', '"a lawn"')
    file.write_text(re.sub("(has|have) rain = yes", r"\1 seen rain", text), encoding="utf-8")
    return file


def test_own_words_are_what_is_asked(lawn, words, tmp_path):
    task = load_task(lawn, phrases=words)
    assert (task.name, task.target, task.phrases.positive("rain")) == ("lawn", "rain", "yes")
    plan = plan_task(task, task.cases(5, seed=0), Design(reps=1))
    texts = [question.text for question in plan.questions]
    assert any("a lawn" in text and "have seen rain" in text for text in texts)
    assert not any("patient" in text for text in texts)
    other = load_task(lawn, target="sprinkler", phrases=words)
    assert (other.name, other.target) == ("lawn:sprinkler", "sprinkler")
    # Another format gives the same questions.
    write_network(task.network, tmp_path / "same.xml")
    same = load_task(tmp_path / "same.xml", phrases=words)
    pd.testing.assert_frame_equal(task.cases(5, seed=1), same.cases(5, seed=1))


def test_without_words_the_names_are_used_and_the_state_must_be_clear(lawn):
    task = load_task(lawn, target="rain")
    assert task.phrases.question("rain") == "have rain = yes"
    # No target is the usual one, so that the name tells them apart.
    assert task.name == "lawn:rain"
    dry = load_task(lawn, target="wet grass", positive="dry").phrases
    assert dry.question("wet grass") == "have wet grass = dry"
    for options, message in (
        ({"target": "sprinkler"}, r"the state of 'sprinkler' .* off, low, high"),
        ({}, r"--variable.* of network .* Known: rain, sprinkler"),
        ({"target": "rian"}, "Did you mean 'rain'"),
        (
            {"target": "wet grass", "positive": ["dry"]},
            "must be the name of a state of 'wet grass'",
        ),
        ({"target": "wet grass", "positive": {}}, "must be the name of a state of 'wet grass'"),
    ):
        with pytest.raises(InputError, match=message):
            load_task(lawn, **options)
