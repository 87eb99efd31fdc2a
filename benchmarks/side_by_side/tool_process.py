"""What runs in a process of its own: one optimizer on one model.

`tool_process.py ADAPTER SOURCE TARGET SECONDS [external]` writes to the file SECONDS how long it took to load, optimize
and write, imports excluded. What the tool imports on demand counts as its work.

It is run by its path, with an interpreter that need not know this package, and imports as little as it can: whatever it
imports is charged to the tool.
"""

import importlib.util
import sys
import time


def main() -> None:
    """Prepares, runs, and writes the seconds."""
    adapter, source, target, seconds, *external = sys.argv[1:]
    del sys.path[0]  # the files beside this one are no modules of the tool's
    spec = importlib.util.spec_from_file_location("adapter", adapter)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    run = module.prepare(source, target, bool(external))
    start = time.perf_counter()
    run()
    spent = time.perf_counter() - start
    with open(seconds, "w") as file:  # noqa: PTH123  pathlib would have to be imported
        file.write(str(spent))


main()
