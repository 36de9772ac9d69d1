"""Short tables of text, as wide as their widest cells, for reports of sessions and batteries."""

from collections.abc import Collection, Sequence

from rich.cells import cell_len

GAP = 2
# A text holds no codes, wherever it comes from; a tab parts words.
_CONTROLS = {9: " "} | dict.fromkeys([*range(9), *range(10, 32), *range(127, 160)])


def aligned(rows: Sequence[Sequence[str]], *, right: Collection[int] = ()) -> list[str]:
    r"""Return the lines of a table whose columns are as wide as their widest cell."""
    rows = [[cell.translate(_CONTROLS) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = []
        for at, (cell, width) in enumerate(zip(row, widths, strict=True)):
            free = " " * (width - cell_len(cell))
            cells.append(free + cell if at in right else cell + free)
        lines.append((" " * GAP).join(cells).rstrip())
    return lines
