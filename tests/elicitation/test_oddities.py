"""Two thousand odd answers: breaks if one of them gets another value than it states, or any value where it leaves room for doubt."""

import re

import numpy as np
import pytest

from coherence.decoding.decode import decode_belief
from coherence.table.schema import READABLE

_NUMBER = r"(-?(?:\d+\.?\d*|\.\d+))"
_BELIEF = re.compile(rf"\s*No:[ \t]*{_NUMBER}\s*\n\s*Yes:[ \t]*{_NUMBER}\s*", re.ASCII)

# Spellings of a number that a reader would take for this number and no other, or would refuse;
# (spelling, is it to be read).
_SPELLINGS = [
    (lambda h: f"{h / 100:.2f}", True),
    (lambda h: f"{h / 100:.2f}.", True),
    (lambda h: f"{h}%", True),
    (lambda h: f"{h} %", True),
    (lambda h: f"{h} percent", True),
    (lambda h: f"0,{h:02d}" if h < 100 else "1,0", True),
    (lambda h: f"{h}/100", True),
    (lambda h: f"{h} out of 100", True),
    (lambda h: f"**{h / 100:.2f}**", True),
    (lambda h: f"+{h / 100:.2f}", True),
    (lambda h: f"{h}e-2", True),
    (lambda h: f"{h / 100:.2f} ({h}%)", True),
    (lambda h: "".join(chr(0x0660 + int(c)) if c.isdigit() else c for c in f"{h / 100:.2f}"), True),
    (lambda h: f"about {h / 100:.2f}", False),
    (lambda h: f"not {h / 100:.2f}", False),
    (lambda h: f"{h / 100:.2f} or {h / 100 + 0.01:.2f}", False),
    (lambda h: f"{h / 100:.2f}-{h / 100 + 0.05:.2f}", False),
    (lambda h: f"<{h / 100:.2f}", False),
    (lambda h: f"{h / 100:.2f}?", False),
    (lambda h: f"{h + 2}", False),
    (lambda h: f"-{h / 100 + 0.01:.2f}", False),
    (lambda h: f"{h}%%", False),
    (lambda h: f"${h / 100:.2f}", False),
]
_FRAMES = [
    "No: {no}\nYes: {yes}",
    "no: {no}\nYES : {yes}",
    "Yes: {yes}\nNo: {no}",
    "- No: {no}\n- Yes: {yes}",
    "```\nNo: {no}\nYes: {yes}\n```",
    "Here is my answer:\n\nNo: {no}\nYes: {yes}",
    "Yes: {yes}",
    "{yes}",
    "Probability: {yes}",
    "I would say the probability is {yes}",
]


def test_two_thousand_oddities_give_the_stated_value_or_none():
    rng = np.random.default_rng(11)
    readable = 0
    for _ in range(2000):
        hundredths = int(rng.integers(101))
        spell, fair = _SPELLINGS[rng.integers(len(_SPELLINGS))]
        frame = _FRAMES[rng.integers(len(_FRAMES))]
        text = frame.format(no=spell(100 - hundredths), yes=spell(hundredths))
        decoded = decode_belief(text)
        if fair:
            assert decoded.value == pytest.approx(hundredths / 100, abs=1e-12), text
            assert decoded.status in READABLE
            readable += 1
        else:
            assert decoded.value is None, text
        if decoded.status == "ok":
            assert _BELIEF.fullmatch(text), text
    assert 800 < readable < 1500
