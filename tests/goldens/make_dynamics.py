#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes dynamics.txt: sound through sox's compand, and a gate and a limiter by their definitions.

    make_dynamics.py > dynamics.txt

Needs sox (14.4.2). The rate is 8000 Hz. Records are a line with a name and a count and a line of that many numbers:

    input        a signal
    compand_K    attack decay (s) knee (dB), in and out of each point (dB)
    compand_K_output    with a gain of -24 dB
    gate, limiter: the numbers of the structs in filters/dynamics, times in seconds; gate_output, limiter_output
"""
import math
import struct
import subprocess
import sys

RATE = 8000
COMPANDS = [(0.005, 0.05, 0.01, (-60, -60, -20, -20, 0, -15)), (0.02, 0.02, 6, (-70, -70, -60, -20, 0, -5)),
            (0, 0.3, 3, (-90, -90, -45, -60, -30, -30, 0, 0))]


def signal():
    """Bursts of tones of several levels."""
    x, seed = [], 1
    for i in range(2000):
        seed = (seed * 6364136223846793005 + 1442695040888963407) % 2 ** 64
        level = (0.9, 0.01, 0.3, 0.0, 0.05, 1.0, 0.002, 0.5)[i // 250]
        x.append(level * (0.8 * math.sin(i * (0.1 + i * 4e-5)) + 0.2 * (seed / 2 ** 63 - 1)))
    return x


def sox(x, *effects):
    raw = ["-t", "raw", "-e", "floating-point", "-b", "64", "-c", "1", "-r", str(RATE)]
    done = subprocess.run(["sox", "-D", *raw, "-", *raw, "-", *effects], input=struct.pack(f"<{len(x)}d", *x),
                          stdout=subprocess.PIPE, check=True)
    return struct.unpack(f"<{len(done.stdout) // 8}d", done.stdout)


def rate_of(seconds):
    return 1 - math.exp(-1 / (seconds * RATE)) if seconds > 0 else 1


def gate(x, threshold, floor, attack, release, hold):
    y, opening, since = [], 0.0, 10 ** 9
    for v in x:
        since = 0 if abs(v) >= threshold else since + 1
        goal, step = (1.0, rate_of(attack)) if since <= round(hold * RATE) else (0.0, rate_of(release))
        opening = opening + (goal - opening) * step
        y.append(v * (floor + (1 - floor) * opening))
    return y


def limiter(x, ceiling, release, ahead):
    """As filters/dynamics/limiter.h defines it, without its queue and its rounding."""
    n = round(ahead * RATE)
    need = [1.0] * n + [min(1.0, ceiling / abs(v)) if v else 1.0 for v in x] + [1.0] * n  # from -n on
    e, last = [], 1.0
    for t in range(len(x) + n):
        last = min(min(need[t:t + n + 1]), last + (1 - last) * rate_of(release))
        e.append(last)
    return [v * sum(e[t:t + n + 1]) / (n + 1) for t, v in enumerate(x)]


def record(name, values):
    print(name, len(values))
    print(" ".join(f"{v:.10g}" for v in values))


def main():
    x = signal()
    record("input", x)
    for k, (attack, decay, knee, points) in enumerate(COMPANDS):
        record(f"compand_{k}", [attack, decay, knee, *points])
        curve = ",".join(str(p) for p in points)
        record(f"compand_{k}_output", sox(x, "compand", f"{attack},{decay}", f"{knee}:{curve}", "-24", "-200"))
    numbers = (0.2, 0.1, 0.002, 0.02, 0.01)
    record("gate", numbers)
    record("gate_output", gate(x, *numbers))
    numbers = (0.4, 0.01, 0.005)
    record("limiter", numbers)
    record("limiter_output", limiter(x, *numbers))


sys.exit(main())
