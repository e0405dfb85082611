"""``python -m graphmetric.cli``: the same as ``python -m graphmetric``."""

from graphmetric.cli import main

if __name__ == "__main__":
    main()
