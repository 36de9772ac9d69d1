"""Colours and sizes of pictures, in points; readable on white, and without colours."""

INK, FAINT, ARROW, ACCENT, ACCENT_FILL = "#222222", "#5a5a5a", "#6b7f94", "#b34700", "#fff1e0"
# Of arrows by parent, where a single colour would make a thicket of them; dark enough on white.
THREADS = ("#4c78a8", "#7b5ea7", "#3f8f6b", "#8a6d3b", "#5f6f7f", "#a8557a", "#2f8f9d", "#6b7a1e")
DENSE = 2.0  # arrows per variable from which on every parent's have a colour
NAME_SIZE, STATE_SIZE, LINE = (
    11.0,
    8.5,
    1.25,
)  # of text; the last is the height of a line by its size
PADDING, GAP, LANE, MARGIN = 8.0, 16.0, 10.0, 14.0
WIDTH_OF_TITLE = 340.0
NAME_WRAP, STATE_WRAP, MOST_STATES = 18, 26, 6  # characters, characters, states
PORT = 7.0  # room for the head of an arriving arrow
HEAD = (2.8, 6.5)  # half the width and the length of an arrow's head
DPI, MOST_PIXELS = 150, 16_000  # per side; larger pictures get a coarser grid
MATPLOTLIB = {
    "font.family": "sans-serif",
    # Text stays text, and equal pictures get equal bytes.
    "svg.fonttype": "none",
    "svg.hashsalt": "bayesnets",
    "text.usetex": False,
    "pdf.fonttype": 42,
}
