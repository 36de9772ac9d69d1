"""What tokenizer and template do to a question: breaks if an answer is taken from elsewhere."""

import json
import shutil

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from coherence import InputError
from elicitation import Request, load_causal_model
from elicitation.asking.ask import ask
from elicitation.models.local.causal import Prompting
from elicitation.models.local.loading import find_source
from elicitation.models.local.prompts import PromptFacts, open_at_end
from elicitation.questions.question import Question
from elicitation.spelling.forms import AnswerForm
from elicitation.training.organisms import make_untrained_model
from elicitation.ways import QuestionSpec

from ...outcome_masses import outcome_masses

ENDS = ["<end>"]
CHAT = "{% for m in messages %}[{{ m.role }}] {{ m.content }}{% endfor %}{{ 'Reply:' }}"
THINKS = CHAT.replace("Reply:", "Reply:<think>")


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
            words = {text: i for text, i in known["model"]["vocab"].items() if i != at}
            known["model"]["vocab"] = words | {token: at}
        for token in behind:
            item = {"SpecialToken": {"id": token, "type_id": 0}}
            known["post_processor"]["single"].append(item)
            i = next(each["id"] for each in known["added_tokens"] if each["content"] == token)
            mark = {"id": token, "ids": [i], "tokens": [token]}
            known["post_processor"]["special_tokens"][token] = mark
        file.write_text(json.dumps(known), encoding="utf-8")
        return folder

    return copy


def shares(model):
    return outcome_masses(model, ["Rain?"], ["Yes", "No"]).probabilities.to_numpy()


def changed_settings(model, folder, chat):
    """Return whether answers stored before are asked anew."""
    nothing = PromptFacts().settings
    settings = f'dtype=float32;chat={chat};[null, ""]{nothing};quantization=None'
    return model.fingerprint != find_source(folder).fingerprint(settings)


@pytest.mark.parametrize("behind", [ENDS, ["<end>", "<pad>"]])
def test_nothing_that_the_tokenizer_adds_stands_between_text_and_answer(blank, changed, behind):
    settings = {"chat": False, "device": "cpu", "dtype": "float32"}
    plain, folder = load_causal_model(blank, **settings), changed("ends", behind=behind)
    model = load_causal_model(folder, **settings)
    assert model.tokenizer.decode(model.tokenizer("Rain?")["input_ids"]).endswith(behind[-1])
    assert model.encode(["Rain?"]) == plain.encode(["Rain?"])
    assert model.encode(["Rain?"], answer="No") == plain.encode(["Rain?"], answer="No")
    request = Request("Rain?", 3, 8)
    assert model.generate([request]) == plain.generate([request])
    np.testing.assert_array_equal(shares(model), shares(plain))
    # Stored answers are found again where nothing changed, and asked anew where something did.
    assert changed_settings(model, folder, chat=False)
    assert not changed_settings(plain, blank, chat=False)


@pytest.mark.parametrize("behind", ["[END]", "[END] <end>", "<end> [END]", "[END] [END]"])
def test_an_end_token_that_is_not_registered_as_special_is_cut_too(behind):
    """Breaks if the tokenizer's own names of special tokens say what is added behind a text."""
    vocabulary = {word: i for i, word in enumerate(["<start>", "<end>", "[END]", "Rain", "?", "x"])}
    words = Tokenizer(models.WordLevel(vocabulary, unk_token="x"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    marks = [(word, vocabulary[word]) for word in ("<start>", "<end>", "[END]")]
    words.post_processor = processors.TemplateProcessing(
        single=f"<start> $A {behind}", special_tokens=marks
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


@pytest.mark.parametrize(
    ("end", "opened"),
    [
        ("Rain? <analysis>", "<analysis>"),
        ('<think type="deep">', '<think type="deep">'),
        ("[REASONING] ", "[REASONING]"),
        ("<cot>", "<cot>"),
        ("Write <think> first.", ""),
        ("<think>so</think>", ""),
        ("[END_THINKING]", ""),
        ("Answer: <answer>", ""),
        ("", ""),
    ],
)
def test_a_prompt_that_ends_in_a_thinking_is_known(end, opened):
    assert open_at_end(end) == opened


def test_probabilities_inside_a_thinking_are_refused_and_the_remedy_works(changed, store):
    folder = changed("thinks", THINKS)
    model = load_causal_model(folder)
    with pytest.raises(InputError, match=r'<think>.*--set "prefill=</think>"'):
        shares(model)
    with pytest.raises(InputError, match="opens its thinking"):
        model.log_probabilities(model.encode(["Rain?"]), [[[5]]])
    with pytest.raises(InputError, match="prefill"):
        ask(model, [Question.of_form("Rain?", AnswerForm("number"))], store)
    assert len(store) == 0
    assert shares(load_causal_model(folder, prefill="</think>")).sum() > 0
    plain = load_causal_model(folder, chat=False)
    with pytest.raises(InputError, match="--only-revealed"):
        plain.in_chat()
    assert shares(plain).sum() > 0


@pytest.mark.parametrize(
    ("reply", "options", "opens"),
    [
        ("<think></think>", {}, None),
        ("Reply:", {"system": "Think between <think> tags."}, None),  # only spoken of
        ("Reply:</think>", {}, None),
        *((f"Reply:{ends}", {}, None) for ends in ("<answer>", "<assistant>\n", "[INST]", "<b> c")),
        *((f"Reply:{opens}", {"prefill": closes}, opens) for opens, closes in (
            ("<|START_THINKING|>", "<|END_THINKING|>"),
            ("<|begin_of_thought|>", "<|end_of_thought|>"),
            ("<|channel>thought", "<channel|>"),
            ("<analysis>\n", "</analysis>"),
            ("[REASONING]", "[/REASONING]"),
            ("<|analysis|>", "<|/analysis|>"),
            ("<reason>", "</reason>"),
            ("<think type=deep>", "</think>"),
        )),
    ],
)  # fmt: skip
def test_a_thinking_is_known_by_the_tags_of_its_maker_and_may_be_closed(
    changed, reply, options, opens
):
    special = ("<reason>", "</reason>")  # as turns are: known by what it is called
    folder = changed("thinks", CHAT.replace("Reply:", reply), special=special)
    if opens:
        facts = load_causal_model(folder).facts
        assert facts.thinking == opens
        assert ("</reason>" in facts.tags.values()) == (opens == "<reason>")
        assert f'prefill={options["prefill"]}"' in facts.remedy
    assert not load_causal_model(folder, **options).facts.thinking


SAID = "No: 0.70\nYes: 0.30\n"
TAGGED = "[THINK]Yes: 0.30[/THINK]No: 0.40\nYes: 0.60\n"


@pytest.mark.parametrize(
    ("template", "drawn", "text", "status", "p"),
    [
        # A number that the model wrote to itself is not its answer.
        (THINKS, SAID, f"<think>{SAID}", "truncated", None),
        (THINKS, f"{SAID}</think>No: 0.40\nYes: 0.60\n", None, "ok", 0.6),
        # Tags that are special tokens come with the answer, or what was thought would be read.
        (CHAT, f"{TAGGED}<pad>", TAGGED, "ok", 0.6),
    ],
)
def test_what_is_thought_is_not_read(template, drawn, text, status, p, changed, monkeypatch):
    model = load_causal_model(changed("thinks", template, special=("[THINK]", "[/THINK]")))
    ids = model.tokenizer(drawn, add_special_tokens=False)["input_ids"]
    script = iter(ids)
    draw = "elicitation.models.local.causal.draw_tokens"
    monkeypatch.setattr(draw, lambda logits, rows: ([next(script)], [0.0]))
    (answer,) = model.generate([Request("Rain?", 1, len(ids))])
    assert answer.text == (f"<think>{drawn}" if text is None else text)
    decoded = QuestionSpec("belief", "standard", ("No", "Yes")).read(answer)
    assert (decoded.status, decoded.value) == (status, p)
