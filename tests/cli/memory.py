#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A long sound is filtered in the memory of a short one, as --trace shows.

    memory.py BUILD SOURCE [MINUTES MINUTES]

The sounds are files with holes and nothing is written; the default is a minute against ten. FILTERCHAIN_TRIALS=all compares ten minutes with ten hours.
"""
import json
import os
import struct
import subprocess
import sys

import harness

# AddressSanitizer keeps what is freed for a while, to notice its use: memory that a longer run has more of.
os.environ["ASAN_OPTIONS"] = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"),
                                                    "quarantine_size_mb=0:thread_local_quarantine_size_kb=0"]))

RATE, FRAME = 48000, 4
SHORT, LONG = (10, 600) if os.environ.get("FILTERCHAIN_TRIALS") == "all" else (1, 10)
SLACK = 3 << 20  # bytes: where blocks of memory happen to lie
if len(sys.argv) > 4:
    SHORT, LONG = map(int, sys.argv[3:5])

CHAINS = {"filter": ["conv1d:[1,2,3,2,1]/9"],
          "several": ["conv1d:[1,-1]", "winstat:window=4801:stat=rms", "mix:2,1", "gain:-3dB", "clip:0.9"],
          "spectrum": ["stft:1024", "istft"],
          "measured": ["stats"]}


class Memory(harness.Case):
    def make(self, name, minutes):
        """Silence, as RF64, which has no limit of 4 GiB."""
        frames = minutes * 60 * RATE
        size = frames * FRAME
        with open(self.path(name), "wb") as file:
            file.write(b"RF64\xff\xff\xff\xffWAVEds64" + struct.pack("<IQQQI", 28, size + 72, size, frames, 0))
            file.write(b"fmt " + struct.pack("<IHHIIHH", 16, 1, 2, RATE, RATE * FRAME, FRAME, 16) + b"data\xff\xff\xff\xff")
            file.truncate(file.tell() + size)
        return name

    def peak(self, name, stages):
        """(the peak, how often it was looked at)"""
        out = [] if stages == ["stats"] else ["-o", "/dev/null", "--format", "raw"]
        chain = [argument for stage in stages for argument in ("-p", stage)]
        self.succeed("-i", name, *chain, *out, "--device", "cpu", "--trace", "trace.json", timeout=600)
        trace = json.loads(self.read("trace.json"))
        seen = [event["args"]["bytes"] for event in trace["traceEvents"] if event["name"] == "resident"]
        self.assertEqual(trace["otherData"]["peak_resident_bytes"], max(seen))
        return max(seen), len(seen)

    def test_a_long_sound_takes_no_more(self):
        self.make("short.rf64", SHORT)
        self.make("long.rf64", LONG)
        for what, stages in CHAINS.items():
            with self.subTest(chain=what):
                short, long = self.peak("short.rf64", stages), self.peak("long.rf64", stages)
                print(f"{what}: {SHORT} min {short[0] / 1e6:.1f} MB, {LONG} min {long[0] / 1e6:.1f} MB "
                      f"({short[1]} and {long[1]} looks)", flush=True)
                self.assertGreater(long[1], short[1])
                self.assertLess(long[0], short[0] + SLACK)

    def test_input_of_unknown_length(self):
        """As from a pipe: what passes through is not kept."""
        peaks = []
        for minutes in (SHORT, LONG):
            self.write("header", b"RIFF\xff\xff\xff\xffWAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 2, RATE, RATE * FRAME, FRAME, 16)
                       + b"data\xff\xff\xff\xff")
            command = f"(cat header; head -c {minutes * 60 * RATE * FRAME} /dev/zero) | '{harness.COMMAND}' -i - --allow-truncated -q" \
                      " -p 'conv1d:[1,2,1]' -o /dev/null --format raw --device cpu --trace trace.json"
            done = subprocess.run(["sh", "-c", command], cwd=self.folder, env=harness.fixed_environment(), check=False,
                                  stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, 0, done.stderr)
            peaks.append(json.loads(self.read("trace.json"))["otherData"]["peak_resident_bytes"])
        print(f"from a pipe: {SHORT} min {peaks[0] / 1e6:.1f} MB, {LONG} min {peaks[1] / 1e6:.1f} MB")
        self.assertLess(peaks[1], peaks[0] + SLACK)


if __name__ == "__main__":
    harness.main()
