"""The real engines, fetched once into a cache: llama.cpp's prebuilt library from npm, Python packages from PyPI.

The cache is ``$CHATPEG_BACKENDS``, else ``chatpeg-backends`` in the directory for temporary files. What cannot be
fetched is an error that says what was tried.
"""

from __future__ import annotations

import fcntl
import functools
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NPM = "@node-llama-cpp/linux-x64@3.22.1"
ALONE = ("xgrammar==0.2.9", "gguf==0.19.0", "llguidance==1.9.1")
"""Installed without their dependencies: those of xgrammar are gigabytes that the engine does without."""
NEEDED = ("apache-tvm-ffi", "pydantic", "numpy", "typing-extensions", "pyyaml", "requests", "tqdm")


def cache() -> Path:
    """The directory of what was fetched."""
    found = Path(os.environ.get("CHATPEG_BACKENDS") or Path(tempfile.gettempdir()) / "chatpeg-backends")
    found.mkdir(parents=True, exist_ok=True)
    return found


@contextmanager
def _alone() -> Iterator[None]:
    """One process at a time fetches."""
    with (cache() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run(*command: str) -> None:
    try:
        done = subprocess.run(command, cwd=cache(), capture_output=True, text=True, timeout=600, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RuntimeError(f"the backends lane could not run {' '.join(command)}: {error}") from None
    if done.returncode:
        raise RuntimeError(f"the backends lane could not fetch with {' '.join(command)}:\n{done.stderr[-2000:]}")


@functools.cache
def llama_library() -> Path:
    """The directory with llama.cpp's shared libraries."""
    found = cache() / "package" / "bins" / "linux-x64"
    with _alone():
        if not found.exists():
            _run("npm", "pack", "--silent", NPM)
            (packed,) = cache().glob("node-llama-cpp-linux-x64-*.tgz")
            unpacked = cache() / "unpacked"
            for half in (unpacked, cache() / "package"):
                shutil.rmtree(half, ignore_errors=True)  # of a run that was interrupted
            with tarfile.open(packed) as archive:
                archive.extractall(unpacked, filter="data")
            (unpacked / "package").rename(cache() / "package")
    return found


@functools.cache
def python_packages() -> Path:
    """A directory with gguf, llguidance and xgrammar, on ``sys.path`` behind everything else."""
    found = cache() / f"python-{sys.version_info.major}.{sys.version_info.minor}"
    with _alone():
        if not (found / "complete").exists():
            install = (sys.executable, "-m", "pip", "install", "-q", "--target", str(found), "--upgrade")
            _run(*install, "--no-deps", *ALONE)
            _run(*install, *NEEDED)
            (found / "complete").touch()
    if str(found) not in sys.path:
        sys.path.append(str(found))
    return found
