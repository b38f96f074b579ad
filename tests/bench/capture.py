#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What recording costs: workloads bare, linked with Rheaper (off and full), and under heaptrack, in turn; medians in one table.

Ratios of one run are what counts: the machine's mood is in all of its columns. Nothing here passes or fails.
"""

import argparse
import glob
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))

# name, source, arguments, events (None: the program says)
WORKLOADS = [
    ("pairs, depth 5", "pairs.c", "{n} 1000 5 1"),
    ("pairs, depth 30", "pairs.c", "{n} 1000 30 1"),
    ("pairs, depth 100", "pairs.c", "{n} 1000 100 1"),
    ("pairs, cold", "pairs.c", "5000 1000 30 1"),
    ("pairs, 2 threads", "pairs.c", "{n} 1000 30 2"),
    ("manystacks", "manystacks.c", "{n} 8"),
    ("xthread", "xthread.c", "{n} 1 256"),
    ("cppmix", "cppmix.cc", "20000 1"),
]


def run(command, environment):
    """Seconds that the workload says, or else of the clock; its events or None; maximum resident set in KiB."""
    begin = time.monotonic()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)}: exit status {process.returncode}\n{errors}")
    inner = re.search(r"inner=([0-9.]+)", errors)
    events = re.search(r"events=([0-9]+)", errors)
    return float(inner[1]) if inner else seconds, int(events[1]) if events else None, usage.ru_maxrss


class Bench:
    def __init__(self, options, work):
        self.options = options
        self.work = work
        self.libraries = options.destdir + options.libdir
        self.heaptrack = shutil.which("heaptrack")
        self.ways = ["bare", "off", "full"] + (["heaptrack -r"] if self.heaptrack else [])

    def flags(self):
        environment = dict(os.environ, PKG_CONFIG_PATH=f"{self.libraries}/pkgconfig", PKG_CONFIG_SYSROOT_DIR=self.options.destdir)
        names = ["pkg-config", "--cflags", "--libs", "rheaper-c++"]
        return subprocess.run(names, env=environment, check=True, capture_output=True, text=True).stdout.split()

    def build(self, source):
        stem = os.path.join(self.work, os.path.splitext(source)[0])
        compiler = (os.environ.get("CXX") or "c++") if source.endswith(".cc") else (os.environ.get("CC") or "cc")
        command = compiler.split() + ["-O2", "-g", "-fomit-frame-pointer", "-pthread", os.path.join(HERE, source)]
        subprocess.run(command + ["-o", stem + "-bare"], check=True)
        subprocess.run(command + ["-o", stem + "-linked"] + self.flags(), check=True)
        return stem

    def once(self, way, stem, arguments):
        environment = dict(os.environ, RHEAPER_QUIET="1")
        environment.pop("RHEAPER_ENABLE", None)
        profiles = tempfile.mkdtemp(dir=self.work)
        command = [stem + "-bare"] + arguments
        if way in ("off", "full"):
            environment["LD_LIBRARY_PATH"] = self.libraries
            command[0] = stem + "-linked"
        if way == "full":
            environment.update(RHEAPER_ENABLE="1", RHEAPER_PROFILE_DIR=profiles)
        if way == "heaptrack -r":
            command = [self.heaptrack, "-r", "-o", profiles + "/trace"] + command
        result = run(command, environment)
        size = sum(os.path.getsize(path) for path in glob.glob(profiles + "/rip-*/log-*"))
        shutil.rmtree(profiles)
        return result + (size,)

    def measure(self, name, source, arguments):
        stem = self.build(source)
        arguments = arguments.format(n=self.options.events).split()
        seconds = {way: [] for way in self.ways}
        last = {}
        for _ in range(self.options.rounds):
            for way in self.ways:
                last[way] = self.once(way, stem, arguments)
                seconds[way].append(last[way][0])
        median = {way: statistics.median(times) for way, times in seconds.items()}
        events = last["bare"][1]
        cells = [f"{median[way] / median['bare']:.2f}" for way in self.ways[1:]]
        if events:
            cells += [f"{(median[way] - median['bare']) * 1e9 / events:.0f}" for way in self.ways[2:]]
            cells.append(f"{last['full'][3] / events:.1f}")
        else:
            cells += ["-"] * (len(self.ways) - 1)
        if self.heaptrack:
            own, theirs = median["full"] - median["bare"], median["heaptrack -r"] - median["bare"]
            cells.append(f"1/{theirs / own:.1f}" if own > 0 else "-")
        cells.append(f"{(last['full'][2] - last['bare'][2]) / 1024:.1f}")
        return [name] + cells


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--destdir", required=True, help="where Rheaper is installed, before its prefix")
    parser.add_argument("--libdir", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--events", type=int, default=300000, help="allocations of a workload")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(options, work)
        ways = bench.ways
        head = ["workload"] + [f"{way}/bare" for way in ways[1:]] + [f"{way} ns/event" for way in ways[2:]] + ["log bytes/event"]
        head += (["overhead to heaptrack's"] if bench.heaptrack else []) + ["RSS MiB more"]
        rows = [head] + [bench.measure(*workload) for workload in WORKLOADS]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    for row in rows:
        print("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))))
    if not bench.heaptrack:
        print("heaptrack is not installed: no comparison")


if __name__ == "__main__":
    main()
