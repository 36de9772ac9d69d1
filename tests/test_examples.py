"""Every public function has an example; that it runs is seen by the ordinary run of doctests."""

import doctest
import importlib
import inspect

import pytest

PACKAGES = ("coherence", "bayesnets", "elicitation", "coherence.plots")


def public_functions():
    """Return the public functions, each under the name that a user calls it by."""
    found = {}
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in sorted(module.__all__):
            if inspect.isfunction(getattr(module, name)):
                found[f"{package}.{name}"] = getattr(module, name)
    return found


FUNCTIONS = public_functions()


def examples_of(function):
    names = dict(vars(inspect.getmodule(function)))
    finder = doctest.DocTestFinder(recurse=False)
    return [one for one in finder.find(function, globs=names) if one.examples]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_there_is_an_example_under_its_heading(name):
    assert "\nExamples\n--------\n" in inspect.getdoc(FUNCTIONS[name])
    assert examples_of(FUNCTIONS[name])
