"""What ``help`` and a notebook's tooltip show. Breaks if a signature fills a screen."""

import inspect

import pytest

import coherence

LONGEST = 600  # characters: six lines; an ArrayLike that is spelt out has 400 of its own


@pytest.mark.parametrize("name", sorted(coherence.__all__))
def test_signatures_fit_on_a_few_lines(name):
    public = getattr(coherence, name)
    if not callable(public) or (isinstance(public, type) and issubclass(public, Exception)):
        return
    assert len(str(inspect.signature(public))) <= LONGEST
    assert inspect.getdoc(public)
