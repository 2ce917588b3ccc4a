"""Kills a writer at each system call that changes files, one call per run (Linux, by ptrace).

A run ends immediately before the call, so the runs together leave every state that a kill can leave. For a call that writes,
a second run ends immediately after it, and half of the written bytes are then removed, as a power failure may do.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

# x86_64 and aarch64 number their system calls differently; aarch64 lacks old forms such as open, rename and mkdir.
_X86: Final = {
    1: "write", 2: "open", 18: "pwrite64", 20: "writev", 40: "sendfile", 74: "fsync", 75: "fdatasync", 76: "truncate",
    77: "ftruncate", 82: "rename", 83: "mkdir", 84: "rmdir", 85: "creat", 86: "link", 87: "unlink", 257: "openat",
    258: "mkdirat", 263: "unlinkat", 264: "renameat", 265: "linkat", 285: "fallocate", 296: "pwritev", 316: "renameat2",
    326: "copy_file_range",
}  # fmt: skip
_ARM: Final = {
    34: "mkdirat", 35: "unlinkat", 37: "linkat", 38: "renameat", 45: "truncate", 46: "ftruncate", 47: "fallocate",
    56: "openat", 64: "write", 66: "writev", 68: "pwrite64", 70: "pwritev", 71: "sendfile", 82: "fsync", 83: "fdatasync",
    276: "renameat2", 285: "copy_file_range",
}  # fmt: skip
_CALLS: Final = _ARM if platform.machine() in ("aarch64", "arm64") else _X86
_APPENDING: Final = ("write", "writev", "pwrite64", "pwritev")
_TRACEME, _SYSCALL, _SETOPTIONS, _INFO = 0, 24, 0x4200, 0x420E
_OPTIONS: Final = 0x00000001 | 0x00100000  # TRACESYSGOOD, EXITKILL
_CHANGING: Final = os.O_CREAT | os.O_TRUNC


class _Call(ctypes.Structure):
    """``struct ptrace_syscall_info``: ``entering`` is valid for op 1, ``result`` for op 2."""

    class _Of(ctypes.Union):
        class _Entering(ctypes.Structure):
            _fields_ = (("number", ctypes.c_uint64), ("arguments", ctypes.c_uint64 * 6))

        _fields_ = (("entering", _Entering), ("result", ctypes.c_int64))

    _fields_ = (
        ("op", ctypes.c_uint8), ("_", ctypes.c_uint8 * 3), ("arch", ctypes.c_uint32), ("instruction", ctypes.c_uint64),
        ("stack", ctypes.c_uint64), ("of", _Of),
    )  # fmt: skip


@dataclass(frozen=True)
class Kill:
    """The point of a kill: the number of the change, counted from 1, the system call, and whether its write was torn."""

    number: int
    call: str
    torn: bool


_libc: Final = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_libc.ptrace.restype = ctypes.c_long


def _ptrace(request: int, pid: int, address: int = 0, data: object = None) -> int:
    result: int = _libc.ptrace(request, pid, address, data)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"ptrace {request:#x}: {os.strerror(ctypes.get_errno())}")
    return result


def kills(prepare: Callable[[], object], write: Callable[[], object], *, tear: bool = True) -> Iterator[Kill]:
    """Run ``prepare`` here and ``write`` in a child, kill the child one change later each time, and yield each kill.

    The iteration ends when ``write`` completes before the next change. With ``tear``, each write is also torn. The files stay
    as the kill left them until the caller requests the next kill. Raises AssertionError if ``write`` itself fails.
    """
    number, torn = 1, False
    while True:
        prepare()
        call = _killed_at(write, number, torn=torn)
        if call is None:
            return
        yield Kill(number, call, torn)
        torn = tear and not torn and call in _APPENDING
        number += not torn


def _killed_at(write: Callable[[], object], number: int, *, torn: bool) -> str | None:
    """Return the system call at which the child was killed, or None if the child completed."""
    pid = os.fork()
    if pid == 0:
        _child(write)
    os.waitpid(pid, 0)
    _ptrace(_SETOPTIONS, pid, 0, _OPTIONS)
    seen, call = 0, _Call()
    pending: tuple[str, Path] | None = None
    while True:
        _ptrace(_SYSCALL, pid)
        _, status = os.waitpid(pid, 0)
        if not os.WIFSTOPPED(status):
            assert os.waitstatus_to_exitcode(status) == 0, f"the writer ended with {os.waitstatus_to_exitcode(status)}"
            return None
        if os.WSTOPSIG(status) != signal.SIGTRAP | 0x80:
            continue
        _ptrace(_INFO, pid, ctypes.sizeof(call), ctypes.byref(call))
        if call.op == 2 and pending is not None:
            _kill(pid)
            name, path = pending
            if path.is_file() and call.of.result > 1:  # not a pipe or socket
                os.truncate(path, path.stat().st_size - call.of.result // 2)
            return name
        if call.op != 1 or (name := _change(call)) is None:
            continue
        seen += 1
        if seen == number and not (torn and name in _APPENDING):
            _kill(pid)
            return name
        if seen == number:
            pending = name, Path(os.readlink(f"/proc/{pid}/fd/{call.of.entering.arguments[0]}"))


def _change(call: _Call) -> str | None:
    """Return the name of the call if it changes files, else None."""
    name = _CALLS.get(call.of.entering.number)
    flags = {"openat": 2, "open": 1}.get(name or "")
    if flags is not None and not call.of.entering.arguments[flags] & _CHANGING:
        return None
    return name


def _kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def _child(write: Callable[[], object]) -> None:
    try:
        _ptrace(_TRACEME, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        write()
        os._exit(0)
    finally:
        os._exit(70)
