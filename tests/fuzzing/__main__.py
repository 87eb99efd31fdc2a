"""`python -m tests.fuzzing --graphs 20000 --seed 0` checks as many random graphs, from that seed on."""

from __future__ import annotations

import argparse
import sys
import time

from tests.fuzzing.campaign import Tally, fuzz_one


def main() -> int:
    """Runs it; the exit status is 1 where there is a fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzzing", description=__doc__)
    parser.add_argument("--graphs", type=int, default=1000, help="how many graphs")
    parser.add_argument("--seed", type=int, default=0, help="the first seed; the others follow")
    parser.add_argument("--rules", action="store_true", help="list in how many graphs each rule fired")
    arguments = parser.parse_args()
    tally, start = Tally(), time.monotonic()
    told = 0
    for seed in range(arguments.seed, arguments.seed + arguments.graphs):
        fuzz_one(seed, tally)
        for fault in list(tally.faults.values())[told:]:
            sys.stdout.write(f"{fault}\n\n")
        told = len(tally.faults)
        if (seed + 1 - arguments.seed) % 500 == 0:
            sys.stdout.write(f"up to seed {seed}, {time.monotonic() - start:.0f} s: {tally}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{tally}\n")
    for reason, count in tally.unrunnable.most_common(20):
        sys.stdout.write(f"unrunnable {count}: {reason}\n")
    if arguments.rules:
        for name, count in tally.rules.most_common():
            sys.stdout.write(f"{count:6} {name}\n")
    sys.stdout.write(f"rules that never fired: {', '.join(tally.silent_rules)}\n")
    return 1 if tally.faults else 0


if __name__ == "__main__":
    sys.exit(main())
