"""Leaves words of docstrings as they are written.

`mkdocs.yml` names it as an extension of griffe, which reads the docstrings and takes whatever
happens to compile for code: "array-like, shape (n,)" for an array minus like, and a tuple with a
call of shape. And what looks like an element of HTML, such as p_<state>, a page would swallow.
"""

import re

from griffe import Docstring, Extension, Function, Object

from coherence.public_names import with_entries

# What a parameter or a result is said to be, in words; a comma behind a bracket is one of a type.
_PARAMETER = re.compile(r"^([\w*, ]+ : )([A-Za-z][^\n\[]*(?:-like|, )[^\n]*)$", re.MULTILINE)
_RESULT = re.compile(r"^()([A-Za-z][^\n:]*(?:-like|, shape \()[^\n:]*)$", re.MULTILINE)
_NO_CODE = "\u2060"  # a word joiner: it takes no room, and no Python name may hold it
_CODE = re.compile(r"(``[^`]*``|`[^`]*`)")


def as_written(docstring: str) -> str:
    """Mark types that are words, and escape what looks like an element.

    Parameters
    ----------
    docstring : str
        As in the source, without its indentation.

    Returns
    -------
    str
        The same to a reader of the page.
    """
    marked = docstring
    for words in (_PARAMETER, _RESULT):
        marked = words.sub(rf"\1{_NO_CODE}\2", marked)
    pieces = _CODE.split(marked)
    # Every other piece is code, which is shown as it stands; so are examples.
    pieces[::2] = [re.sub(r"(?<!>>> )<(?=[A-Za-z/])", "&lt;", piece) for piece in pieces[::2]]
    return "".join(pieces)


class AsWritten(Extension):
    """Passes every docstring through `as_written`."""

    def on_object(self, *, obj: Object, **kwargs: object) -> None:
        """Change one docstring."""
        if isinstance(obj.docstring, Docstring):
            of = [str(each.value) for each in getattr(obj, "decorators", ())]
            for word, draws in (("described", True), ("takes_columns", False)):
                if isinstance(obj, Function) and any(word in each for each in of):
                    names = [parameter.name for parameter in obj.parameters]
                    obj.docstring.value = with_entries(obj.docstring.value, names, draws=draws)
            head, examples, rest = obj.docstring.value.partition("\nExamples\n--------\n")
            obj.docstring.value = as_written(head) + examples + rest
