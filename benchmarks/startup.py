"""CPU seconds of commands with a model, from start to end, beside what Python and torch alone take.

    python benchmarks/startup.py [--repeats 3]

Every figure is the least of a few processes: user and system time, with everything that is imported, loaded and
answered. A first, unmeasured run compiles what is missing and leaves the bytecode that an installation has.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path


def cpu_seconds(command: list[str]) -> float:
    """The user and system time of one process."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = os.times()
    subprocess.run(command, check=True, capture_output=True, env=environment)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    ours = [sys.executable, "-m", "graphmetric"]
    with tempfile.TemporaryDirectory() as folder:
        index = str(Path(folder) / "index")
        subprocess.run([*ours, "index", "molecules", "molecules", "--out", index], check=True, capture_output=True)
        commands = {
            "python -c 'import torch'": [sys.executable, "-c", "import torch"],
            "python -c 'import torch, numba, sklearn'": [sys.executable, "-c", "import torch, numba, sklearn"],
            "graphmetric distance": [*ours, "distance", "molecules", "molecules:3", "molecules:8"],
            "graphmetric embed": [*ours, "embed", "molecules", "molecules", "--out", str(Path(folder) / "z.npy")],
            "graphmetric search": [*ours, "search", index, "molecules:3"],
            "graphmetric search --certified": [*ours, "search", index, "molecules:3", "--certified"],
        }
        print("| command | CPU seconds |\n|---|---|")
        for name, command in commands.items():
            cpu_seconds(command)
            least = min(cpu_seconds(command) for _ in range(options.repeats))
            print(f"| `{name}` | {least:.2f} |", flush=True)


if __name__ == "__main__":
    main()
