"""What importing the contract and the gateway costs a host: fresh processes, beside importing pydantic alone.

Pydantic is the one dependency that both need and the larger part of the cost. The start of the interpreter is on
neither side.
"""

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import Row, Table, spread

ROUNDS = 20
BASELINE = "from pydantic import BaseModel; type('Model', (BaseModel,), {})"
MEASURED = {
    "import knowledge_provider": "import knowledge_provider",
    "import gateway (runtime and tool)": "import gateway",
    "from gateway import create_gateway_application": "from gateway import create_gateway_application",
}


def import_milliseconds(code: str) -> float:
    """Run the code in a fresh process, and return how long it says that took."""
    timed = f"import time; t = time.perf_counter(); exec({code!r}); print((time.perf_counter() - t) * 1000)"
    return float(subprocess.run([sys.executable, "-c", timed], capture_output=True, text=True, check=True).stdout)


def main() -> Table:
    """Run the benchmark, print its table and return it."""
    samples: dict[str, list[float]] = {name: [] for name in ("", *MEASURED)}
    for _ in range(ROUNDS):
        samples[""].append(import_milliseconds(BASELINE))
        for name, code in MEASURED.items():
            samples[name].append(import_milliseconds(code))
    baseline = spread(samples[""])
    rows = tuple(Row(name, spread(samples[name]), baseline) for name in MEASURED)
    table = Table("Import time, beside pydantic with one model", rows)
    print(table)
    return table


if __name__ == "__main__":
    main()
