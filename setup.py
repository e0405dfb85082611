"""All is in pyproject.toml but the page of the package, which is README.md without links into the source."""

import re
from pathlib import Path

from setuptools import setup


def describe_package(readme: str) -> str:
    """The README for a page that has no other files: a relative link becomes its text, a relative picture nothing."""
    relative = r"\((?!\w+:|#)[^)]+\)"
    without_pictures = re.sub(rf"!\[[^]]*\]{relative}\n*", "", readme)
    return re.sub(rf"\[([^]]+)\]{relative}", r"\1", without_pictures)


if __name__ == "__main__":
    here = Path(__file__).parent
    setup(
        long_description=describe_package((here / "README.md").read_text(encoding="utf-8")),
        long_description_content_type="text/markdown",
    )
