"""What runs in the process of a task. It is run as a script, and imports nothing but the standard library at first.

Its standard input brings the path of modules, then where the outcome goes to, a limit, and the task. It stays open for
as long as the process that started this one lives.
"""

from __future__ import annotations

import json
import os
import pathlib
import pickle
import signal
import sys
import threading
import time
from typing import Any

_GRACE = 5.0


def main() -> None:
    """Does the task."""
    signal.signal(signal.SIGTERM, _end)
    sys.path[:] = pickle.load(sys.stdin.buffer)
    answer, memory, task = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_follow_parent, daemon=True).start()

    from foldproof.batch.task import perform
    from foldproof.engines.worker import limit_memory

    limit_memory(memory)
    told = pathlib.Path(f"{answer}.part")
    told.write_text(json.dumps(perform(task).to_dict()), encoding="utf-8")
    told.replace(answer)


def _end(number: int, frame: Any) -> None:
    """Ends by an exception, so that temporary files are taken away."""
    sys.exit(128 + number)


def _follow_parent() -> None:
    """Ends this process, and what it has started, when the one that started it is no more."""
    while os.read(0, 1):  # past the buffer, which has nothing left: no lock is held when this process ends
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_GRACE)
    if hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


if __name__ == "__main__":
    main()
