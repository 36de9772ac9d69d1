"""What tokenizer and template do to a question: breaks if an answer is taken from elsewhere."""

import json
import shutil
from datetime import datetime

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from coherence import InputError
from elicitation import Request, load_causal_model, outcome_probabilities
from elicitation.answers.reading import decode_answer
from elicitation.asking.ask import ask
from elicitation.batteries.revealed.reading import in_chat
from elicitation.models.local.causal import Prompting
from elicitation.models.local.sources import find_source
from elicitation.questions.question import Question, QuestionSpec
from elicitation.spelling.forms import AnswerForm
from elicitation.training.organisms.untrained import make_untrained_model

ENDS = ["<end>"]
CHAT = "{% for m in messages %}[{{ m.role }}] {{ m.content }}{% endfor %}{{ 'Reply:' }}"
THINKS = CHAT.replace("Reply:", "Reply:<think>")
DATED = "{{ strftime_now('%d %b %Y') }} " + CHAT


@pytest.fixture(scope="module")
def blank(tmp_path_factory):
    return make_untrained_model(tmp_path_factory.mktemp("prompts") / "blank")


@pytest.fixture
def changed(blank, tmp_path):
    """Return a copy of the model with another template, or tokens behind every text."""

    def copy(name, template=None, behind=(), special=()):
        folder = shutil.copytree(blank, tmp_path / name)
        if template is not None:
            (folder / "chat_template.jinja").write_text(template, encoding="utf-8")
        file = folder / "tokenizer.json"
        known = json.loads(file.read_text(encoding="utf-8"))
        for token in special:
            at = 200 + len(known["added_tokens"])
            known["added_tokens"].append({**known["added_tokens"][0], "id": at, "content": token})
            known["model"]["vocab"] = {
                text: i for text, i in known["model"]["vocab"].items() if i != at
            } | {token: at}
        for token in behind:
            item = {"SpecialToken": {"id": token, "type_id": 0}}
            known["post_processor"]["single"].append(item)
            i = next(each["id"] for each in known["added_tokens"] if each["content"] == token)
            known["post_processor"]["special_tokens"][token] = {
                "id": token,
                "ids": [i],
                "tokens": [token],
            }
        file.write_text(json.dumps(known), encoding="utf-8")
        return folder

    return copy


def shares(model):
    return outcome_probabilities(model, ["Rain?"], ["Yes", "No"]).probabilities.to_numpy()


@pytest.mark.parametrize("behind", [ENDS, ["<end>", "<pad>"]])
def test_nothing_that_the_tokenizer_adds_stands_between_text_and_answer(blank, changed, behind):
    plain = load_causal_model(blank, chat=False)
    model = load_causal_model(changed("ends", behind=behind))
    assert model.tokenizer.decode(model.tokenizer("Rain?")["input_ids"]).endswith(behind[-1])
    assert model.encode(["Rain?"]) == plain.encode(["Rain?"])
    assert model.encode(["Rain?"], answer="No") == plain.encode(["Rain?"], answer="No")
    request = Request("Rain?", 3, 8)
    assert model.generate([request]) == plain.generate([request])
    np.testing.assert_array_equal(shares(model), shares(plain))


@pytest.mark.parametrize("behind", ["[END]", "[END] <end>", "<end> [END]", "[END] [END]"])
def test_an_end_token_that_is_not_registered_as_special_is_cut_too(behind):
    """Breaks if the tokenizer's own names of special tokens say what is added behind a text."""
    vocabulary = {word: i for i, word in enumerate(["<start>", "<end>", "[END]", "Rain", "?", "x"])}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="x"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(
        single=f"<start> $A {behind}",
        special_tokens=[(word, vocabulary[word]) for word in ("<start>", "<end>", "[END]")],
    )
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<end>", unk_token="x")
    prompting = Prompting(tokenizer, name="words", chat=False)
    assert prompting.encode(["Rain?"]) == [[0, 3, 4]]
    assert prompting.encode(["Rain?"], answer=" Rain") == [[0, 3, 4, 3]]


def test_a_mark_that_the_template_writes_last_stays(changed):
    """Breaks if the end of the user's turn is cut: the answer would go on with the question."""
    template = "{% for m in messages %}{{ m.content }}<end>{% endfor %}"
    chat = load_causal_model(changed("chat", template, behind=ENDS))
    assert chat.tokenizer.decode(chat.encode(["Rain?"])[0]) == "Rain?<end>"
    plain = load_causal_model(changed("plain", behind=ENDS), prefill="<end>")
    assert plain.tokenizer.decode(plain.encode(["Rain?"])[0]) == "<start>Rain?<end>"


def test_what_was_asked_behind_an_end_token_is_not_found_again(blank, changed):
    """Answers stored before are kept where nothing changed, and asked anew where something did."""
    model = load_causal_model(blank, device="cpu", dtype="float32")
    before = "dtype=float32;chat=False"
    assert model.fingerprint == find_source(blank).fingerprint(before)
    folder = changed("ends", behind=ENDS)
    model = load_causal_model(folder, device="cpu", dtype="float32")
    assert model.fingerprint != find_source(folder).fingerprint(before)
    assert load_causal_model(folder, chat=False).fingerprint == model.fingerprint


def test_probabilities_inside_a_thinking_are_refused_and_the_remedy_works(changed):
    folder = changed("thinks", THINKS)
    model = load_causal_model(folder)
    with pytest.raises(InputError, match=r'<think>.*--set "prefill=</think>"'):
        shares(model)
    with pytest.raises(InputError, match="opens its thinking"):
        model.log_probabilities(model.encode(["Rain?"]), [[[5]]])
    ended = load_causal_model(folder, prefill="</think>")
    assert shares(ended).sum() > 0
    with pytest.raises(InputError, match="--only-revealed"):
        in_chat(load_causal_model(folder, chat=False))
    assert shares(load_causal_model(folder, chat=False)).sum() > 0


@pytest.mark.parametrize(
    ("template", "options"),
    [
        (CHAT.replace("Reply:", "<think></think>"), {}),
        (CHAT, {"system": "Think between <think> tags."}),
        (CHAT.replace("Reply:", "Reply:</think>"), {}),
    ],
)
def test_a_thinking_that_is_closed_or_only_spoken_of_is_none(changed, template, options):
    model = load_causal_model(changed("closed", template), **options)
    assert not model.facts.thinking
    assert shares(model).sum() > 0


@pytest.mark.parametrize(
    ("opens", "closes"),
    [
        ("<longcat_think>", "</longcat_think>"),
        ("<|START_THINKING|>", "<|END_THINKING|>"),
        ("<|begin_of_thought|>", "<|end_of_thought|>"),
        ("<|channel>thought", "<channel|>"),
        ("<|inner_prefix|>", "<|inner_suffix|>"),
        ("[THINK]", "[/THINK]"),
    ],
)
def test_a_thinking_is_known_by_the_tags_of_its_maker(changed, opens, closes):
    template = CHAT.replace("Reply:", f"Reply:{opens}")
    facts = load_causal_model(changed("thinks", template)).facts
    assert facts.thinking == opens
    assert f'prefill={closes}"' in facts.remedy
    assert not load_causal_model(changed("closed", template), prefill=closes).facts.thinking


@pytest.mark.parametrize(
    "content", ["", "{% for c in m.content %}{{ c.text }}{% endfor %}", "{{ m.content[:9] }}"]
)
def test_a_template_without_the_question_is_refused(changed, content):
    template = CHAT.replace("{{ m.content }}", content)
    with pytest.raises(InputError, match="leaves out or changes the text.*chat=False"):
        load_causal_model(changed("empty", template))
    assert load_causal_model(changed("plain", template), chat=False).generate([Request("A?", 0, 2)])


def test_a_template_that_fails_in_a_way_of_its_own_is_one_line(changed):
    with pytest.raises(InputError, match="the chat template of fails refuses the text"):
        load_causal_model(changed("fails", "{{ 1 + 'a' }}" + CHAT))


def read(answer):
    spec = QuestionSpec("belief", "standard", ("No", "Yes"))
    return decode_answer(spec, answer)


def test_a_thought_that_is_cut_is_not_read(changed, monkeypatch):
    """Breaks if a number that the model wrote to itself passes for its answer."""
    model = load_causal_model(changed("thinks", THINKS))
    said = "No: 0.70\nYes: 0.30\n"
    for more, status in (("", "truncated"), ("</think>No: 0.40\nYes: 0.60\n", "ok")):
        drawn = model.tokenizer(said + more, add_special_tokens=False)["input_ids"]
        script = iter(drawn)
        monkeypatch.setattr(
            "elicitation.models.local.generation.draw_tokens",
            lambda logits, rows, script=script: ([next(script)], [0.0]),
        )
        (answer,) = model.generate([Request("Rain?", 1, len(drawn))])
        assert answer.text == "<think>" + said + more
        decoded = read(answer)
        assert (decoded.status, decoded.value) == (status, None if not more else 0.6)


def test_tags_of_thinking_that_are_special_tokens_come_with_the_answer(changed, monkeypatch):
    """Breaks if decoding leaves them out, so that what was thought is read."""
    model = load_causal_model(changed("tags", CHAT, special=("[THINK]", "[/THINK]")))
    said = "[THINK]Yes: 0.30[/THINK]No: 0.40\nYes: 0.60\n<pad>"
    script = iter(model.tokenizer(said, add_special_tokens=False)["input_ids"])
    monkeypatch.setattr(
        "elicitation.models.local.generation.draw_tokens",
        lambda logits, rows: ([next(script)], [0.0]),
    )
    (answer,) = model.generate([Request("Rain?", 1, len(said) - 18)])
    assert answer.text == "[THINK]Yes: 0.30[/THINK]No: 0.40\nYes: 0.60\n"
    assert read(answer).value == 0.6


def test_a_template_that_writes_the_date_writes_the_same_every_day(changed, monkeypatch, caplog):
    folder = changed("dated", DATED)
    model = load_causal_model(folder)
    assert model.render("Rain?") == "26 Jul 2024 [user] Rain?Reply:"
    assert f"{datetime.now():%d %b %Y}" in model.tokenizer.apply_chat_template(
        [{"role": "user", "content": "Rain?"}], tokenize=False
    )
    assert "as on 26 Jul 2024" in caplog.text
    # Answers that were stored under the date of their day are not taken for these.
    model = load_causal_model(folder, device="cpu", dtype="float32")
    assert model.fingerprint != find_source(folder).fingerprint("dtype=float32;chat=True")
    usual = changed("usual", CHAT)
    model = load_causal_model(usual, device="cpu", dtype="float32")
    assert model.fingerprint == find_source(usual).fingerprint("dtype=float32;chat=True")


def test_an_answer_of_a_form_is_not_asked_inside_a_thinking(changed, store):
    model = load_causal_model(changed("thinks", THINKS))
    question = Question.of_form("Rain?", AnswerForm("number"))
    with pytest.raises(InputError, match="prefill"):
        ask(model, [question], store)
    assert len(store) == 0
