"""A fit in a process of its own, which stays for the next one.

Some packages compile themselves at import, start threads or change settings of the whole process. What
they need is kept away from the other methods, and from their clocks. Plain pipes, since workers of a
cluster may have no children of multiprocessing's kind.
"""

from __future__ import annotations

import atexit
import os
import pickle
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any, BinaryIO

# Read by the packages at import, hence set before.
_ONE_THREAD = {
    name: "1"
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
}
_LOCK = threading.Lock()  # one question at a time, whichever thread asks


def apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of a module in the process kept for it; its exceptions come back.

    Parameters
    ----------
    function : callable
        Picklable: of a module that the other process can import.
    arguments
        Its arguments.

    Raises
    ------
    RuntimeError
        If the call raised, with its traceback, or if the process was killed.
    """
    request = pickle.dumps((function, arguments))  # what cannot be sent is the caller's error
    with _LOCK:
        process = _process()
        try:
            succeeded, result = _answer(process, request)
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            _process.cache_clear()  # the next call starts another one
            process.kill()
            raise RuntimeError(
                f"A process of its own must answer. Got none from the one of {function.__name__!r} "
                f"(it ended with {_ended(process)}). Start again to go on."
            ) from error
    if not succeeded:
        raise RuntimeError(f"In a process of its own:\n{result}")
    return result


def _answer(process: subprocess.Popen[bytes], request: bytes) -> tuple[bool, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(request)
    process.stdin.flush()
    succeeded, result = pickle.load(process.stdout)
    return succeeded, result


def _ended(process: subprocess.Popen[bytes]) -> int:
    """Close the pipes, at which it ends, and give its code."""
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError):  # what was not sent to one that was killed
            if pipe is not None:
                pipe.close()
    return process.wait()


@cache
def _process() -> subprocess.Popen[bytes]:
    paths = os.pathsep.join(path for path in sys.path if path)
    process = subprocess.Popen(
        [sys.executable, "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | _ONE_THREAD | {"PYTHONPATH": paths},
    )
    atexit.register(_ended, process)
    return process


if hasattr(os, "register_at_fork"):  # two processes would talk to it at once
    os.register_at_fork(after_in_child=_process.cache_clear)


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer until the one who asks is gone."""
    while True:
        try:
            function, arguments = pickle.load(requests)
        except EOFError:
            return
        try:
            answer = (True, function(*arguments))
        except Exception:
            answer = (False, traceback.format_exc())
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    # What a package prints goes to stderr: stdout carries answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, answers)
