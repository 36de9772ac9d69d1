"""Replies: breaks if thinking is read as an answer, or a cut end as a whole one."""

import pytest

from coherence.decoding.reply import Reply, take_apart


@pytest.mark.parametrize(
    ("text", "said", "thinking"),
    [
        ("0.3", "0.3", None),
        ("<think>a</think>0.3", "0.3", "a"),
        ("<THINKING>a</THINKING>0.3", "0.3", "a"),
        ("<reasoning>a</reasoning>\n0.3", "\n0.3", "a"),
        ("a</think>0.3", "0.3", "a"),
        ("[THINK]a[/THINK]0.3", "0.3", "a"),
        ("<|begin_of_thought|>a<|end_of_thought|>0.3", "0.3", "a"),
        ("\u25c1think\u25b7a\u25c1/think\u25b70.3", "0.3", "a"),
        ("<think>a<think>b</think>0.3", "0.3", "ab"),
        ("<think>a</think>0.3<think>b</think>", "0.3", "ab"),
        ("<|channel|>analysis<|message|>a<|channel|>final<|message|>0.3", "0.3", None),
        ("<thinker>0.3", "<thinker>0.3", None),
    ],
)
def test_thinking_is_kept_apart(text, said, thinking):
    reply = take_apart(text)
    assert reply.text == said
    assert not reply.unfinished
    if thinking is not None:
        assert reply.thinking == thinking


@pytest.mark.parametrize(
    "text", ["<think>0.3", "0.3\n<reasoning>0.4", "<|channel|>analysis<|message|>0.3"]
)
def test_thinking_without_an_end_is_unfinished(text):
    assert take_apart(text).unfinished


@pytest.mark.parametrize(
    "mark",
    ["<|im_end|>", "<|eot_id|>", "</s>", "<end_of_turn>", "<|endoftext|>", "<|end|>", "<eos>"],
)
def test_a_turn_ends_at_its_mark_and_was_not_cut_before(mark):
    reply = take_apart(f"0.3{mark}\nuser: and now? 0.4", "length")
    assert reply == Reply("0.3", None, cut=False, unfinished=False, marked=True)


def test_marks_that_open_a_turn_are_no_text():
    assert take_apart("<|im_start|>assistant\n0.3").text == "\n0.3"
    assert take_apart("<s>0.3</s>").text == "0.3"


def test_of_a_cut_reply_the_complete_lines_are_left():
    assert take_apart("No: 0.30\nYes: 0.6", "length").text == "No: 0.30\n"
    assert take_apart("0.6", "length") == Reply("", None, cut=True)
    assert take_apart("No: 0.30\nYes: 0.6", "stop").text == "No: 0.30\nYes: 0.6"
