"""Fails on a link of the site that leads to no file of it, or to nothing in that file. The web's are not looked at."""

import html.parser
import pathlib
import sys
import urllib.parse

ATTRIBUTES = ("href", "src", "srcset")


class Page(html.parser.HTMLParser):
    """What a page links to, and what in it can be linked to."""

    def __init__(self, path):
        super().__init__()
        self.links, self.places = set(), {"", "top"}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ATTRIBUTES and value:
                self.links.add(value)
            elif name == "id":
                self.places.add(value)


def broken(page, link, pages):
    """Why a link of this page leads nowhere; empty: it doesn't."""
    parts = urllib.parse.urlsplit(link)
    if parts.scheme or parts.netloc:
        return ""
    target = (page.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else page
    if not target.is_file():
        return f"there is no {target}"
    place = urllib.parse.unquote(parts.fragment)
    return "" if target not in pages or place in pages[target].places else f"nothing in that page is named {place}"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    pages = {path: Page(path) for path in sorted(root.rglob("*.html"))}
    findings = [f"{page.relative_to(root)}: {link}: {why}" for page, found in pages.items()
                for link in sorted(found.links) if (why := broken(page, link, pages))]
    print(*findings, sep="\n", end="\n" * bool(findings))
    print(f"{len(pages)} pages, {sum(len(page.links) for page in pages.values())} links, {len(findings)} lead nowhere")
    sys.exit(1 if findings or not pages else 0)


if __name__ == "__main__":
    main()
