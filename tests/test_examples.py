"""Every public function has an example. Breaks if one has none, or one that takes long.

That they run is seen by the ordinary run, which collects the examples of all modules.
"""

import doctest
import importlib
import inspect
import time

import pytest

PACKAGES = ("coherence", "bayesnets", "elicitation", "coherence.plots")
SLOWEST, ALL = 15.0, 90.0  # seconds of processor time with every core in use; alone a fifth


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


@pytest.mark.lengthy
def test_examples_are_quick():
    # Loaded beforehand, so that none is charged for what all of them need.
    for library in ("matplotlib.pyplot", "torch", "transformers", "pgmpy.models"):
        importlib.import_module(library)
    pyplot = importlib.import_module("matplotlib.pyplot")
    taken = {}
    for name, function in FUNCTIONS.items():
        pyplot.close("all")  # it warns of many that are open, other tests' among them
        for one in examples_of(function):
            said: list[str] = []
            started = time.process_time()
            doctest.DocTestRunner(verbose=False).run(one, out=said.append)
            taken[name] = time.process_time() - started
            assert said == [], name
    pyplot.close("all")
    slow = {name: round(seconds, 2) for name, seconds in taken.items() if seconds > SLOWEST}
    assert slow == {}, slow
    assert sum(taken.values()) < ALL
