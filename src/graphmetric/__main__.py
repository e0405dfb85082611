"""``python -m graphmetric``: the same as the command ``graphmetric``."""

from graphmetric.cli import main

if __name__ == "__main__":
    main()
