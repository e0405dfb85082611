"""``python -m graphmetric_research`` is the command ``graphmetric-research``."""

from graphmetric_research.cli import main

if __name__ == "__main__":
    main()
