"""Install the wheels into a new environment outside of the checkout: first one plainly, then with what learns.

Without any extra, every public name and every command must work or say which extra it needs (``try_extras.py``). With
the extra ``learn``, the README and the demo are run. The wheel of graphmetric-research comes last.

    python tools/try_wheel.py dist/graphmetric-0.3.0-py3-none-any.whl dist/graphmetric_research-0.3.0-py3-none-any.whl

The packages it depends on come in the versions of constraints.txt. Nothing of the checkout can be imported: programs
run in a temporary folder, without the variables that tell Python where to look.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
_DOCTEST = """
import doctest, sys
import graphmetric
assert sys.prefix in graphmetric.__file__, graphmetric.__file__
print(doctest.testfile(sys.argv[1], module_relative=False))
sys.exit(doctest.master is not None and doctest.master.failures > 0)
"""


def commands_of(readme: str) -> list[list[str]]:
    """The command lines of the README's shell examples."""
    blocks = re.findall(r"```sh\n(.*?)```", readme, re.DOTALL)
    return [shlex.split(line, comments=True) for block in blocks for line in block.splitlines()]


def run(arguments: list[str], folder: Path) -> None:
    """Run a program in the folder, without anything of this environment; its output is shown."""
    print("$", shlex.join(arguments), flush=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    subprocess.run(arguments, cwd=folder, env=environment, check=True)


def main() -> None:
    """Make the environment, install, run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("research", type=Path)
    given = parser.parse_args()
    wheel, research = given.wheel.resolve(), given.research.resolve()
    readme = ROOT / "README.md"
    with tempfile.TemporaryDirectory(prefix="graphmetric-wheel-") as temporary:
        folder = Path(temporary)
        venv.create(folder / "venv", with_pip=True)
        programs = folder / "venv" / "bin"
        python, work = str(programs / "python"), folder / "work"
        work.mkdir()
        install = [python, "-m", "pip", "install", "--quiet", "--constraint", str(ROOT / "constraints.txt")]
        run([*install, str(wheel)], work)
        run([python, "-I", str(ROOT / "tools" / "try_extras.py")], work)
        run([*install, f"{wheel}[learn]"], work)
        run([python, "-I", "-c", _DOCTEST, str(readme)], work)
        for program, *arguments in commands_of(readme.read_text(encoding="utf-8")):
            run([str(programs / program), *arguments], work)
        run([str(programs / "graphmetric"), "demo", "--quick"], work)
        run([*install, f"{wheel}[learn,plot]", str(research)], work)
        quick = ("--quick", "--limit", "30", "--datasets", "molecules", "--only", "size difference")
        run([str(programs / "graphmetric-research"), "protocol-a", *quick], work)
        run([str(programs / "graphmetric"), "ged", "molecules:3", "molecules:8", "--method", "vj"], work)
    print(f"==> {wheel.name} and {research.name} work outside of the checkout")


if __name__ == "__main__":
    sys.exit(main())
