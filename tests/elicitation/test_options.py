"""Options said on a command line, by ``--set``, in a study file and to Inspect.

Breaks if one of these takes what another refuses, or says another reason.
"""

import argparse

import pytest

from coherence import InputError
from elicitation.declarations import add_options, declared, flag_of, from_table, from_words
from elicitation.options import AskOptions

WRONG = {
    "reps": ["x", "0", "1.5"],
    "temperature": ["hot", "-1", "nan"],
    "answers": ["drown"],
    "belief": ["felt"],
    "seed": ["-1"],
    "min_mass": ["2"],
    "draws": ["0"],
    "timeout": ["soon"],
    "extra_body": ["[1]", "{"],
}
RIGHT = {
    "reps": ("3", 3, 3),
    "temperature": ("0", 0, 0.0),
    "answers": ("exact", "exact", "exact"),
    "prompts": ("mse,bayes", ["mse", "bayes"], "mse,bayes"),
    "min_mass": ("0.5", 0.5, 0.5),
    "system": ("-x=1", "-x=1", "-x=1"),
    "extra_body": ('{"top_k": 5}', {"top_k": 5}, {"top_k": 5}),
}


def typed(key, word):
    """Return options as the command line says one of them, and what it is called there."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    add_options(parser, AskOptions)
    advanced = declared(AskOptions)[key].advanced
    words = ["--set", f"{key}={word}"] if advanced else [f"{flag_of(key)}={word}"]
    return words, lambda: from_words(AskOptions, parser.parse_args(words))


@pytest.mark.parametrize(("key", "word"), [(key, word) for key in WRONG for word in WRONG[key]])
def test_what_one_place_refuses_all_refuse_for_one_reason(key, word):
    words, said = typed(key, word)
    with pytest.raises(InputError) as typed_error:
        said()
    with pytest.raises(InputError) as file_error:
        from_table(AskOptions, {key: word})
    name = f"--set {key}" if words[0] == "--set" else flag_of(key)
    assert str(typed_error.value) == str(file_error.value).replace(key, name, 1)


@pytest.mark.parametrize("key", RIGHT)
def test_what_one_place_takes_all_take_alike(key):
    word, value, expected = RIGHT[key]
    _, said = typed(key, word)
    assert getattr(said(), key) == getattr(from_table(AskOptions, {key: value}), key) == expected
