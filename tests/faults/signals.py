#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""SIGINT, SIGTERM, SIGHUP and SIGPIPE at random moments of a run: the output is complete or the
old one, also where it is the input, there is nothing beside it, and the status says which.

    signals.py BUILD SOURCE [SEED]

200 runs; 30 under a sanitizer but with FILTERCHAIN_TRIALS=all.
"""
import collections
import os
import random
import signal
import subprocess
import sys
import time

import outputs
from outputs import harness

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else random.SystemRandom().randrange(1 << 32)


class Signals(outputs.Job):
    def interrupt(self, arguments, number, delay):
        """(status, stderr) of a run that gets this signal so many seconds after its start."""
        run = subprocess.Popen([harness.COMMAND, *arguments], cwd=self.folder, env=harness.fixed_environment(),
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(delay)
        run.send_signal(number)
        _, stderr = run.communicate(timeout=harness.PATIENCE)
        return run.returncode, stderr.decode()

    def judge(self, status, number, stderr, what):
        """Before the handlers are there the signal itself ends the process; a run that takes two seconds to end says nothing."""
        self.assertIn(status, (0, 128 + number, -number), f"{what}: {stderr}")
        late = status > 0 and number != signal.SIGPIPE and not stderr
        silent = status < 0 or number == signal.SIGPIPE or late
        self.check(status, stderr, what, lines=0 if silent else 1)
        return "complete" if status == 0 else "late" if late else "stopped" if status > 0 else "ended at once"

    def test_a_pipe_that_brings_nothing(self):
        """Wakes whoever waits for it before the two seconds after which the process is ended, without a word; on a machine that is
        busy not always."""
        head = harness.open_wav_header()
        for brought in (b"", head[:20], head + bytes(1000), head + bytes(60000)):
            for arguments in (("-i", "pipe"), ("-i", "in.wav", "-p", "mixin:pipe")):
                what, stderr = (len(brought), arguments), ""
                for _ in range(10):
                    stderr = stderr or self.wait_for_pipe(arguments, brought, what)
                self.assertEqual(stderr, "filterchain: stopped by SIGTERM; the output is unchanged\n", what)

    def wait_for_pipe(self, arguments, brought, what):
        """What a run says that is stopped while it waits for more."""
        harness.write_wav(self.path("in.wav"), harness.tone(90000))
        os.mkfifo(self.path("pipe"))
        run = subprocess.Popen([harness.COMMAND, *arguments, "-o", "out.wav"], cwd=self.folder, env=harness.fixed_environment(),
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        with open(self.path("pipe"), "wb", buffering=0) as pipe:
            pipe.write(brought)
            time.sleep(0.3)
            run.send_signal(signal.SIGTERM)
            _, stderr = run.communicate(timeout=harness.PATIENCE)
        self.assertEqual(run.returncode, 128 + signal.SIGTERM, what)
        os.remove(self.path("pipe"))
        self.assertFalse(os.path.exists(self.path("out.wav")), what)
        return stderr

    def duration(self, arguments):
        start = time.monotonic()
        self.succeed(*arguments)
        took = time.monotonic() - start
        self.reset()
        return took

    def test_random_moments(self):
        dice, seen = random.Random(SEED), collections.Counter()
        print(f"seed {SEED}", flush=True)
        trials = 200 if outputs.EVERYTHING else 30
        for ending, size, itself in (("wav", 400000, False), ("wav", 400000, True), ("flac", 200000, False), ("png", 20000, False)):
            arguments = self.prepare(ending, size)
            if itself:
                arguments = self.onto_itself(arguments)
            usual = min(self.duration(arguments) for _ in range(3))
            for trial in range(-(-trials // 4)):
                number, delay = SIGNALS[trial % len(SIGNALS)], dice.uniform(0, 1.1 * usual)
                status, stderr = self.interrupt(arguments, number, delay)
                what = f"{ending}{' onto itself' * itself}: {number.name} after {delay * 1000:.1f} of {usual * 1000:.1f} ms"
                seen[self.judge(status, number, stderr, what)] += 1
                self.reset()
        print(f"{sum(seen.values())} signals: {dict(seen)}", flush=True)
        self.assertGreater(seen["stopped"], 0, "no signal met a run that was under way")
        self.assertLess(seen["late"], 1 + sum(seen.values()) // 10)


if __name__ == "__main__":
    harness.main()
