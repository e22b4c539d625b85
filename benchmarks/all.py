"""Run the benchmarks one after the other and print their tables; ``--write`` puts them into docs/benchmarks.md.

Each runs in a process of its own, so that none measures what another left behind. Names choose some of them:
``python benchmarks/all.py runtime_overhead turn_overhead``.
"""

import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "benchmarks.md"
NOT_BENCHMARKS = {"all", "corpora", "extraction_peers", "measure"}
MARK = "<!-- tables: everything below is written by `python benchmarks/all.py --write` -->"


def scripts(names: list[str]) -> list[Path]:
    """Return the chosen benchmark scripts. Exits with a sentence when a name is unknown."""
    known = {path.stem: path for path in sorted(HERE.glob("*.py")) if path.stem not in NOT_BENCHMARKS}
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"No benchmark is called {', '.join(unknown)}; there are {', '.join(known)}.")
    return [known[name] for name in names or known]


def section(script: Path) -> str:
    """Run one benchmark and return its section: its command and what it printed."""
    print(f"running {script.name} ...", file=sys.stderr)
    finished = subprocess.run([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, check=False)
    printed = finished.stdout.strip() or f"It ended with status {finished.returncode} and printed nothing."
    return f"## {script.stem}\n\n    python benchmarks/{script.name}\n\n{printed}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="which benchmarks; all of them by default")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/benchmarks.md")
    arguments = parser.parse_args()
    sections = []
    for script in scripts(arguments.names):
        sections.append(section(script))
        print(sections[-1], flush=True)
    if arguments.write:
        head = PAGE.read_text().split(MARK)[0]
        PAGE.write_text(f"{head}{MARK}\n\n" + "\n".join(sections))


if __name__ == "__main__":
    main()
