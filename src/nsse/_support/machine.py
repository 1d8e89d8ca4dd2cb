"""Compute how much memory is available to the process, the container and the machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

# Groups without a limit have about this one, the largest number of pages.
NO_LIMIT = 2**60
# Smaller requests are not checked.
WORTH_ASKING = 100_000_000


def available_memory(root: Path = Path("/")) -> int | None:
    """Return the bytes that this process can still get, or None if the system does not provide them.

    Parameters
    ----------
    root : Path, default=Path("/")
        Where ``proc`` and ``sys`` are.
    """
    found = [*_of_the_machine(root), *_of_groups(root), *_of_the_process(root)]
    return max(min(found), 0) if found else None


def require_memory(n_bytes: int, cure: str) -> None:
    """Raise an error before the work starts if it needs more memory than is available."""
    left = available_memory() if n_bytes > WORTH_ASKING else None
    if left is not None and n_bytes > left:
        need, have = f"{n_bytes / 1024**3:.1f} GiB", f"{left / 1024**3:.1f} GiB"
        raise MemoryError(f"The fit needs about {need} of memory, and {have} are left. {cure}")


def _of_the_machine(root: Path) -> Iterator[int]:
    fields = _table(root / "proc/meminfo", 1024)
    if "MemAvailable" in fields:
        yield fields["MemAvailable"] + fields.get("SwapFree", 0)
    # macOS has only the size of the whole memory
    elif sys.platform != "win32" and "SC_PHYS_PAGES" in os.sysconf_names:
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _of_groups(root: Path) -> Iterator[int]:
    """Yield the memory limits of the control groups of this process, of both versions.

    In a container the path may be one of the host, and the group itself lie at the top.
    """
    for line in _lines(root / "proc/self/cgroup"):
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers == "":
            tops = ["sys/fs/cgroup", "sys/fs/cgroup/unified"]
            names = ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            tops = ["sys/fs/cgroup/memory"]
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        group = PurePosixPath("/" + path.lstrip("/"))
        for top in tops:
            for above in (group, *group.parents):
                yield from _left_in(root / top / str(above).lstrip("/"), *names)


def _left_in(folder: Path, limit: str, used: str, cached: str) -> Iterator[int]:
    most = _number(folder / limit)
    if most is None or most >= NO_LIMIT:
        return
    # Files in memory are counted, although the system removes them when memory is needed.
    idle = _table(folder / "memory.stat").get(cached, 0)
    yield most - max((_number(folder / used) or 0) - idle, 0)


def _of_the_process(root: Path) -> Iterator[int]:
    """Yield the limits of ``ulimit -v`` and ``ulimit -d``."""
    if sys.platform == "win32":
        return
    import resource

    held = _table(root / "proc/self/status", 1024)
    for kind, name in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        most = resource.getrlimit(kind)[0]
        if most != resource.RLIM_INFINITY and name in held:
            yield most - held[name]


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):  # it is not there, or not for us
        return []


def _number(path: Path) -> int | None:
    words = _lines(path)
    return int(words[0]) if words and words[0].isdecimal() else None  # "max" is no limit


def _table(path: Path, unit: int = 1) -> dict[str, int]:
    """Parse lines that contain a name and a number."""
    pairs = [line.replace(":", " ").split()[:2] for line in _lines(path)]
    return {pair[0]: unit * int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdecimal()}
