"""Where the lines of an answer end that were asked for; the same for local models and servers."""


def end_of_lines(text: str, max_lines: int | None) -> int | None:
    """Return where so many lines with visible characters end.

    Parameters
    ----------
    text : str
        The text.
    max_lines : int or None
        How many lines; None never ends.

    Returns
    -------
    int or None
        Position after the line break that ends the last of these lines; None while it is not
        complete.
    """
    if max_lines is None:
        return None
    position = n_visible = 0
    # What follows the last line break is no complete line: a model may go on with it.
    for line in text.split("\n")[:-1]:
        position += len(line) + 1
        n_visible += bool(line.strip())
        if n_visible == max_lines:
            return position
    return None


def first_lines(text: str, max_lines: int | None) -> str:
    r"""Cut a text after so many lines with visible characters.

    Parameters
    ----------
    text : str
        The text.
    max_lines : int or None
        How many; None cuts nothing.

    Returns
    -------
    str
        The text up to and with the line break that ends the last of these lines.

    Examples
    --------
    >>> first_lines("\nNo: 0.4\n\nYes: 0.6\nI hope that helps", 2)
    '\nNo: 0.4\n\nYes: 0.6\n'
    """
    return text[: end_of_lines(text, max_lines)]
