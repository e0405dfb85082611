"""Everything is in pyproject.toml except the package page, which is README.md made to stand alone."""

import re
from pathlib import Path

from setuptools import setup

ADDRESS: str | None = None
"""Where the files of the repository can be read, such as https://host/graphmetric/blob/main; None: nowhere yet."""


def describe_package(readme: str, address: str | None = ADDRESS) -> str:
    """Rewrite the README for a page that has no files beside it.

    With an address, relative links and pictures become absolute. Without one, a link becomes its text and the path of
    the file in the source archive, and pictures are left out.
    """
    relative = r"\((?!\w+:|#)([^)]+)\)"
    if address is not None:
        return re.sub(rf"\]{relative}", rf"]({address}/\1)", readme)
    page = re.sub(rf"!\[[^]]*\]{relative}\n*", "", readme)
    page = re.sub(rf"\[([^]]+)\]{relative}", _name_file, page)
    return page.replace("## Where to look\n", "## Where to look\n\nPaths are those of the source archive.\n")


def _name_file(link: re.Match[str]) -> str:
    text, path = link.groups()
    is_path = path.endswith(text.rstrip("/")) and not text.isalpha()
    return f"`{path}`" if is_path else f"{text} (`{path}`)"


if __name__ == "__main__":
    here = Path(__file__).parent
    setup(
        long_description=describe_package((here / "README.md").read_text(encoding="utf-8")),
        long_description_content_type="text/markdown",
    )
