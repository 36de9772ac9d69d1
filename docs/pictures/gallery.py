"""Draws the pictures of docs/gallery.md by running its code.

    PYTHONPATH=. python docs/pictures/gallery.py [FOLDER]

Pictures are stored in 32 colours: enough for lines and texts, and a fifth of the size.
"""

import re
import sys
from pathlib import Path

from PIL import Image

PAGE = Path(__file__).parents[1] / "gallery.md"
FOLDER = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "gallery"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def main() -> None:
    """Run every block of the page, and keep the picture that it saves."""
    FOLDER.mkdir(exist_ok=True)
    for code in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        code = re.sub(r'savefig\("(.+?)"\)', r'savefig(folder / "\1", bbox_inches="tight")', code)
        exec(code, {"folder": FOLDER})  # noqa: S102 - the page is ours
    for path in FOLDER.glob("*.png"):
        with Image.open(path) as picture:
            few = picture.convert("RGB").quantize(32, dither=Image.Dither.NONE)
        few.save(path, optimize=True)


if __name__ == "__main__":
    main()
