"""What the kernel knows about processes and the machine."""

import os
import platform

_TICK = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pids):
    """Processor time that processes have used so far, theirs and the kernel's for them."""
    return sum(_cpu_seconds(pid) for pid in pids)


def _cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        # The second field is the program's name, in parentheses, and may contain anything.
        fields = file.read().rsplit(")", 1)[1].split()
    user, system = int(fields[11]), int(fields[12])
    return (user + system) / _TICK


def resident_bytes(pids):
    """Memory that is in use and not merely reserved."""
    return sum(1024 * _field(f"/proc/{pid}/status", "VmRSS") for pid in pids)


def available_bytes():
    """Memory that programs can have without swapping."""
    return 1024 * _field("/proc/meminfo", "MemAvailable")


def machine():
    """What the machine is, for readers who have another."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(1024 * _field("/proc/meminfo", "MemTotal") / 1e9, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def load():
    """How many processes wanted to run in the last minute."""
    return os.getloadavg()[0]


def _processor():
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def _field(path, name):
    with open(path) as file:
        for line in file:
            if line.startswith(name + ":"):
                return int(line.split()[1])
    raise RuntimeError(f"{path} has no field {name}")
