"""What a package offers, loaded on first use; a name or an argument that is near one is said.

Parameters that many functions share are described once, by name, and stand in the docstring of
each all the same.
"""

import re
from collections.abc import Callable, Iterable
from functools import wraps
from inspect import cleandoc, signature
from typing import Any, ParamSpec, TypeVar

import lazy_loader

Given = ParamSpec("Given")
Result = TypeVar("Result")


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], Any]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package, from the stub beside it."""
    load, listed, names = lazy_loader.attach_stub(package, file)

    def loaded(name: str) -> Any:
        if name not in names:
            from coherence.errors import closest  # of no use to who types rightly

            hint = "" if name.startswith("_") else f". {closest(name, names)}"
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        return load(name)

    return loaded, listed, names


def rng_for_seed(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Answer ``seed=``, as other libraries call it, by the parameter that the function has."""

    @wraps(function)
    def called(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        refuse_seed(kwargs)
        return function(*args, **kwargs)

    return called


def refuse_seed(arguments: dict[str, Any]) -> None:
    """Raise TypeError where ``seed`` is among the keyword arguments."""
    if "seed" in arguments:
        raise TypeError(
            f"there is no seed=; received {arguments['seed']!r}. Write rng={arguments['seed']!r}."
        )


ENTRIES = {
    "action": """action : array-like, shape (n,) or (n, n_actions), optional
    Beside an array of beliefs: labels, or the probability of each action.""",
    "truth": """truth : array-like, shape (n,), optional
    Beside an array of beliefs: the realised state, constant within a context.""",
    "exact": """exact : array-like, shape (n,), optional
    Beside an array of beliefs: the exact posterior, which takes the place of the realised state. In
    a table it is the column ``p_true``, where every row has it.""",
    "context": """context : array-like, shape (n,), optional
    Ids of the evidence; without them every row is its own context.""",
    "positive": """positive : Any
    Label of the state that beliefs are in; not needed for 0 and 1, no and yes, false and true.""",
    "columns": """columns : mapping, optional
    What a table calls the columns, as for `coherence.analyze`.""",
    "scale": """scale : (float, float), optional
    Least and largest share that the axis must hold, as several figures share it; None takes them
    from this one. From half of [0, 1] on, the axis holds all of it.""",
    "noun": """noun : str
    What the axis calls the belief.""",
    "title": """title : str, optional
    None says what is shown, an empty text leaves it out.""",
    "ax": """ax : Axes, optional
    Where to draw; a new figure without it.""",
}
"""Parameter -> its entry in docstrings of functions that have it and do not describe it."""
_RETURNS = "\n\nReturns\n-------\n"


def with_entries(docstring: str, parameters: Iterable[str]) -> str:
    """Return a docstring with the entries of parameters that it does not describe."""
    head, returns, rest = docstring.partition(_RETURNS)
    told = set(re.findall(r"\w+", " ".join(re.findall(r"^([\w, ]+) : ", head, re.MULTILINE))))
    entries = [ENTRIES[name] for name in parameters if name not in told and name in ENTRIES]
    return "\n".join([head, *entries]) + returns + rest


def described(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Write the entries of `ENTRIES` into the docstring of a function."""
    function.__doc__ = with_entries(
        cleandoc(function.__doc__ or ""), signature(function).parameters
    )
    return function
