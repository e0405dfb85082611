"""``python -m graphmetric.cli``."""

from graphmetric.cli import main

main()
