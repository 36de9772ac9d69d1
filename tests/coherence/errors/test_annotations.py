"""Breaks if a wrong argument is not named, or a fault of the function itself is taken for one."""

import inspect
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import pandas as pd
import pytest
from numpy.typing import ArrayLike, NDArray

import bayesnets
import coherence
import elicitation
from coherence.errors.annotations import first_misfit, fits, shown


class Named(Protocol):
    name: str

    def ask(self) -> str: ...


@pytest.mark.parametrize(
    ("value", "hint", "fitting"),
    [
        (1, float, True),
        (np.float32(1), float, True),
        (True, float, False),
        ("1", float, False),
        (10**400, float, False),
        (np.int64(3), int, True),
        (1.5, int, False),
        (None, int | None, True),
        ("a", "an unresolved name", True),
        ("\ud800", str, False),
        ("a", Literal["a", "b"], True),
        (1, Literal[True], False),
        ("abc", Sequence[str], False),
        (["a", 1], Sequence[str], False),
        (np.array(["a"]), Sequence[str], True),
        (np.array("a"), Collection[str], False),
        ((1, "a"), tuple[int, str], True),
        ((1,), tuple[int, str], False),
        ({"a": 1}, Mapping[str, int], True),
        ({1: 1}, Mapping[str, int], False),
        (len, Callable[..., Any], True),
        ([[1, 2], [3]], ArrayLike, False),
        ({"a": 1}, ArrayLike, False),
        ([0.5, None], ArrayLike, True),
        ([{}], ArrayLike, False),
        (pd.Series(["a"]), ArrayLike, True),
        ([0.5], NDArray[np.int64], False),
        ([1], NDArray[np.int64], True),
        (pd.DataFrame(), pd.DataFrame, True),
        ("x", Named, False),
        (Path("x"), str, False),
    ],
)
def test_what_fits(value, hint, fitting):
    assert fits(value, hint) is fitting


def mean(values: ArrayLike, *, share: float | None = None) -> float:
    if share == 0.5:
        raise ValueError("a fault of the function")
    return float(np.mean(np.asarray(values, dtype=float)))


def test_the_first_misfit_is_named_with_what_it_must_be():
    said = "share must be a number or None; received 'x'. See help(mean)."
    assert first_misfit(mean, ([1.0],), {"share": "x"}) == said
    assert "unexpected keyword argument 'other'" in first_misfit(mean, ([1],), {"other": 1})
    assert "Did you mean 'values'?" in first_misfit(mean, (), {"value": [1]})
    assert "missing a required argument: 'values'" in first_misfit(mean, (), {})
    assert first_misfit(mean, ([1.0],), {"share": 0.5}) is None
    error = ValueError("could not convert string to float: 'a'")
    assert first_misfit(mean, (["a"],), {}) is None
    said = "values must be numbers; received ['a']. See help(mean)."
    assert first_misfit(mean, (["a"],), {}, error) == said


def test_public_names_stay_what_they_are_and_answer():
    for package in (coherence, bayesnets, elicitation):
        for name in package.__all__:
            assert getattr(package, name) is getattr(package, name)
    assert inspect.signature(coherence.cmi_test).parameters["k"].default == 3
    assert isinstance(elicitation.Design(reps=1), elicitation.Design)
    with pytest.raises(coherence.InputError, match=r"^seed must be a whole number; received \[1\]"):
        elicitation.Design(seed=[1])
    with pytest.raises(coherence.InputError, match="missing a required argument: 'pvalues'"):
        coherence.holm()


def test_a_fault_of_our_own_keeps_its_traceback(monkeypatch):
    from coherence.errors import answering

    def public(number: int) -> int:
        raise KeyError("a fault of the function")

    monkeypatch.setattr(coherence, "public", public, raising=False)
    load = answering(lambda name: public, "coherence")
    with pytest.raises(KeyError, match="a fault of the function"):
        load("public")(3)
    with pytest.raises(coherence.InputError, match="number must be a whole number; received 'a'"):
        load("public")("a")


def test_a_message_is_one_line():
    assert str(coherence.InputError("received   a\n0  1\n. Stop.")) == "received   a 0  1 . Stop."


def test_what_cannot_be_shown_is_named_by_its_type():
    class Hidden:
        def __repr__(self):
            raise ArithmeticError

    class Loud:
        def __repr__(self):
            warnings.warn("shown", RuntimeWarning, stacklevel=1)
            return "a\nloud  one"

    assert shown(Hidden()) == "<Hidden>"
    assert shown(Loud()) == "a loud one"
