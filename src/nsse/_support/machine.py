"""Compute how much memory is available to the process, in the container and on the machine."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

# Smaller requests are not checked.
WORTH_ASKING = 100_000_000


def available_memory(root: Path = Path("/")) -> int | None:
    """Return the bytes that this process can still get, or None if the system does not provide them.

    Systems other than Linux need psutil.

    Parameters
    ----------
    root : Path, default=Path("/")
        The folder that contains ``proc`` and ``sys``.
    """
    found = [*_of_the_machine(root), *_of_groups(root)]
    return max(min(found), 0) if found else None


def require_memory(n_bytes: int, cure: str) -> None:
    """Raise an error before the work starts if it needs more memory than is available."""
    left = available_memory() if n_bytes > WORTH_ASKING else None
    if left is not None and n_bytes > left:
        need, have = f"{n_bytes / 1024**3:.1f} GiB", f"{left / 1024**3:.1f} GiB"
        raise MemoryError(f"The fit needs about {need} of memory, and {have} are left. {cure}")


def _of_the_machine(root: Path) -> Iterator[int]:
    fields = _numbers(root / "proc/meminfo")
    if "MemAvailable" in fields:
        yield 1024 * (fields["MemAvailable"] + fields.get("SwapFree", 0))
    elif find_spec("psutil") is not None:
        import psutil

        yield psutil.virtual_memory().available


def _of_groups(root: Path) -> Iterator[int]:
    """Yield what the limits of the control groups of this process leave, as containers have them.

    In a container the path may be one of the host, and the group itself lie at the top.
    """
    for line in _lines(root / "proc/self/cgroup"):
        path = PurePosixPath(line.removeprefix("0::"))
        if line.startswith("0::/"):
            for group in (path, *path.parents):
                folder = root / "sys/fs/cgroup" / str(group).lstrip("/")
                limit, used = _lines(folder / "memory.max"), _lines(folder / "memory.current")
                if limit and limit[0].isdecimal():  # "max" is no limit
                    # Files in memory are counted, although the system removes them if necessary.
                    idle = _numbers(folder / "memory.stat").get("inactive_file", 0)
                    yield int(limit[0]) - max(sum(map(int, used)) - idle, 0)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):  # it does not exist, or must not be read
        return []


def _numbers(path: Path) -> dict[str, int]:
    """Parse lines that contain a name and a number."""
    pairs = [line.replace(":", " ").split()[:2] for line in _lines(path)]
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdecimal()}
