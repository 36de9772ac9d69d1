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
    "data": """data : DataFrame, optional
    Table; arguments of shape (n,) may then name its columns, and lists of names several.""",
    "context": """context : array-like, shape (n,), optional
    Ids of the evidence; without them every row is its own context.""",
    "group": """group : array-like, shape (n,), optional
    What contexts share beyond their belief, such as a template: contexts are then compared within
    groups, or groups are the clusters of resampling, at least ten of them. Constant within a
    context.""",
    "positive": """positive : Any
    Label of the state that a belief in one state is in; all others are then the other state. May be
    left out where the labels are 0 and 1, no and yes, or false and true.""",
    "computed": """computed : bool
    Whether beliefs have no noise: computed from a model's distribution, or such that asking again
    gives them again.""",
    "n_draws": """n_draws : int
    Draws from the null distribution, at least 99.""",
    "n_bootstraps": """n_bootstraps : int
    Resamples of rows for the published interval, at least 2.""",
    "rng": """rng : Generator, int or None
    Source of randomness; None draws fresh entropy.""",
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
OF_TESTS = {
    "belief": """belief : array-like, shape (n,) or (n, n_states)
    Stated probability of the state `positive`, in [0, 1], or of every state: columns of a DataFrame
    named as `truth` names states (``sun`` or ``p_sun``), or in their order where these are numbers;
    of two columns, the second is in the state `positive`.""",
    "action": """action : array-like, shape (n,) or (n, n_actions)
    Labels, or the probability of each action; a DataFrame's columns name the actions.""",
    "truth": """truth : array-like, shape (n,)
    Labels of the realised state; constant within a context.""",
    "exact": """exact : array-like, shape (n,)
    Exact posterior of the state `positive`, in [0, 1]; constant within a context.""",
}
OF_FIGURES = {
    "action": """action : array-like, shape (n,) or (n, n_actions), optional
    Beside an array of beliefs: labels, or the probability of each action.""",
    "truth": """truth : array-like, shape (n,), optional
    Beside an array of beliefs: the realised state, constant within a context.""",
    "exact": """exact : array-like, shape (n,), optional
    Beside an array of beliefs: the exact posterior, which takes the place of the realised state. In
    a table it is the column ``p_true``, where every row has it.""",
}
_RETURNS = "\n\nReturns\n-------\n"
_PARAMETERS = "Parameters\n----------\n"


def with_entries(docstring: str, parameters: Iterable[str], *, draws: bool) -> str:
    """Return the docstring of a test, or of what `draws`, with an entry for each parameter."""
    head, returns, rest = docstring.partition(_RETURNS)
    summary, _, own = head.partition(_PARAMETERS)
    entries = ENTRIES | (OF_FIGURES if draws else OF_TESTS)
    for entry in filter(None, re.split(r"\n(?=\S)", own)):
        entries |= dict.fromkeys(re.findall(r"\w+", entry.partition(" : ")[0]), entry)
    told = dict.fromkeys(entries[name] for name in parameters if name in entries)
    return summary.rstrip() + "\n\n" + _PARAMETERS + "\n".join(told) + returns + rest


def described(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Write the entries of shared parameters into the docstring of a function that draws."""
    written = with_entries(
        cleandoc(function.__doc__ or ""), signature(function).parameters, draws=True
    )
    function.__doc__ = written
    return function
