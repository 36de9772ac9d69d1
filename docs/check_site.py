"""Hold that a built site loads nothing from outside: python docs/check_site.py FOLDER.

Links may lead anywhere; what a browser fetches by itself (scripts, style sheets, pictures, fonts,
frames) must lie in the folder.
"""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

# Element -> attributes whose address is fetched without a click.
FETCHED = {
    "audio": ("src",),
    "embed": ("src",),
    "iframe": ("src",),
    "image": ("href", "xlink:href"),
    "img": ("src", "srcset"),
    "input": ("src",),
    "link": ("href",),
    "object": ("data",),
    "script": ("src",),
    "source": ("src", "srcset"),
    "track": ("src",),
    "use": ("href", "xlink:href"),
    "video": ("src", "poster"),
}
# Of <link>, relations that only say where something is.
NOT_FETCHED = {"alternate", "author", "canonical", "edit", "license", "next", "prev", "search"}
OUTSIDE = re.compile(r"^\s*(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)
STYLE_ADDRESS = re.compile(r"url\(\s*[\"']?([^\"')]+)|@import\s+[\"']([^\"']+)")


class Addresses(HTMLParser):
    """Collects what a page makes a browser fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the addresses of one element."""
        given = {name: value or "" for name, value in attrs}
        self.in_style = tag == "style"
        self.fetched += style_addresses(given.get("style", ""))
        if tag == "link" and set(given.get("rel", "").lower().split()) <= NOT_FETCHED:
            return
        self.fetched += [given[name] for name in FETCHED.get(tag, ()) if name in given]

    def handle_endtag(self, tag: str) -> None:
        """Note the end of a style sheet."""
        self.in_style = self.in_style and tag != "style"

    def handle_data(self, data: str) -> None:
        """Collect the addresses of a style sheet inside the page."""
        if self.in_style:
            self.fetched += style_addresses(data)


def style_addresses(style: str) -> list[str]:
    """Return the addresses that a style sheet fetches."""
    return [first or second for first, second in STYLE_ADDRESS.findall(style)]


def addresses(path: Path) -> list[str]:
    """Return what one file of the site makes a browser fetch."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".css":
        return style_addresses(text)
    page = Addresses()
    page.feed(text)
    return page.fetched


def faults(site: Path) -> Iterator[str]:
    """Yield a line for every address that lies outside, or nowhere."""
    for path in sorted([*site.rglob("*.html"), *site.rglob("*.css"), *site.rglob("*.svg")]):
        for address in addresses(path):
            name = f"{path.relative_to(site)}: {address}"
            if OUTSIDE.match(address):
                yield f"{name} is fetched from outside"
            elif not address.startswith(("data:", "#")):
                # 404.html is shown at any depth, so that its addresses begin at the root.
                folder = site if address.startswith("/") else path.parent
                if not (folder / address.lstrip("/").split("#")[0].split("?")[0]).exists():
                    yield f"{name} is not there"


def main() -> int:
    """Check the folder that is named, and tell what is wrong."""
    site = Path(sys.argv[1])
    if not any(site.rglob("*.html")):
        print(f"{site} holds no page", file=sys.stderr)
        return 1
    wrong = list(faults(site))
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
