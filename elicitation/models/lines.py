"""Where the lines of an answer end that were asked for; the same for local models and servers."""


def end_of_lines(text: str, max_lines: int | None) -> int | None:
    """Return where so many lines with visible characters end."""
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
    r"""Cut a text after so many lines with visible characters."""
    return text[: end_of_lines(text, max_lines)]
