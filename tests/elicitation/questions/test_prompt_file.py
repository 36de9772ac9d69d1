"""Templates from a file.

Breaks if a fault passes or hides another, if a text can reach into Python, or if a template is not
asked as it stands.
"""

import pytest

from coherence import InputError
from elicitation import NETWORK_PROMPTS, TABLE_PROMPTS, load_prompts

GOOD = """
[belief.plain]
form = "number"
text = "A patient {description}. P({question})? {{number}}"

[belief.standard]
text = "{description}|{question}|{labels}|{example}|{n_lines}"

[decision]
text = "{description} {question} decide"
"""


def _load(tmp_path, text, base=NETWORK_PROMPTS):
    path = tmp_path / "lab.toml"
    path.write_text(text, encoding="utf-8")
    return load_prompts(path, base)


def test_templates_come_in_over_the_built_in_ones(tmp_path):
    prompts, names = _load(tmp_path, GOOD)
    assert names == ("plain", "standard")
    assert prompts.belief["plain"].form == "number"
    filled = prompts.belief["plain"].fill(description="smokes", question="cough {x}")
    assert filled == "A patient smokes. P(cough {x})? {number}"
    assert prompts.belief["standard"].text.startswith("{description}|")
    assert prompts.belief["mse"] == NETWORK_PROMPTS.belief["mse"]
    assert prompts.decision.text.endswith("decide")
    assert prompts.yes_no == NETWORK_PROMPTS.yes_no
    assert "plain" not in NETWORK_PROMPTS.belief
    # Tables of questions have no description.
    prompts, _ = _load(tmp_path, '[decision]\ntext = "{question}: {options}"', TABLE_PROMPTS)
    assert prompts.decision.fill(question="?", options="a") == "?: a"
    with pytest.raises(InputError, match=r"placeholder \{description\}; there are question"):
        _load(tmp_path, '[belief.a]\ntext = "{description} {question}"', TABLE_PROMPTS)


def test_every_fault_comes_at_once(tmp_path):
    text = """
[belief."x y"]
text = "{name} {question}"
forms = 1
[belief.a]
form = "percent"
text = 3
[decsion]
text = "x"
[decision]
text = "{"
"""
    with pytest.raises(InputError) as caught:
        _load(tmp_path, text)
    message = str(caught.value)
    for part in (
        "8 errors: ",
        "[decsion] is no template",
        "'decision'",
        "named by a letter",
        "unknown key 'forms'",
        "unknown placeholder {name}",
        "lacks the placeholder {description}",
        "form must be one of lines, number",
        "needs text",
        "stray brace",
    ):
        assert part in message, part
    assert message.count(" | ") == 7


@pytest.mark.parametrize(
    "field",
    ["{question.__class__}", "{question[0]}", "{question!r}", "{question:>99999999}", "{0}", "{}"],
)
def test_placeholders_are_names_and_nothing_else(tmp_path, field):
    with pytest.raises(InputError, match="unknown placeholder"):
        _load(tmp_path, f'[belief.a]\ntext = "{{description}} {{question}} {field}"')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it holds no template"),
        ("belief = 3", "variants are tables"),
        ("[belief.token]\ntext = '{description}{question}'", "not token or sampled"),
        ("[belief.a", "is not TOML"),
        ("[decision]\nform = 'number'\ntext = '{description}{question}'", "unknown key 'form'"),
        ("#" * (1 << 21), "smaller than 1 MB"),
    ],
)
def test_single_faults(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        _load(tmp_path, text)
    with pytest.raises(InputError, match="cannot be read"):
        load_prompts(tmp_path / "none.toml", NETWORK_PROMPTS)
