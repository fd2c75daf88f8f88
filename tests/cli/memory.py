#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A long sound is filtered in the memory of a short one, as --trace shows; and what would take more memory than it may is refused.

    memory.py BUILD SOURCE [MINUTES MINUTES]

The sounds are files with holes and nothing is written; the default is a minute against ten. FILTERCHAIN_TRIALS=all compares ten minutes with ten hours.
"""
import json
import math
import os
import random
import re
import resource
import struct
import subprocess
import sys
import unittest

import harness

# AddressSanitizer keeps what is freed for a while, to notice its use: memory that a longer run has more of.
os.environ["ASAN_OPTIONS"] = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"),
                                                    "quarantine_size_mb=0:thread_local_quarantine_size_kb=0"]))

RATE, FRAME = 48000, 4
SHORT, LONG = (10, 600) if os.environ.get("FILTERCHAIN_TRIALS") == "all" else (1, 10)
SLACK = 3 << 20  # bytes: where blocks of memory happen to lie
if len(sys.argv) > 4:
    SHORT, LONG = map(int, sys.argv[3:5])

CHAINS = {"conv1d": ["conv1d:[1,2,3,2,1]/9"],
          "conv1d, winstat, mix, gain, clip": ["conv1d:[1,-1]", "winstat:window=4801:stat=rms", "mix:1,0", "gain:-3dB", "clip:0.9"],
          "stft, istft": ["stft:1024", "istft"],
          "stats": ["stats"],
          "resample, best": ["resample:44100:quality=best"],
          "equalizer, 10 bands": ["equalizer:100,200,400,800,1600,3200,6400,9600,12800,16000:gain=3dB"],
          "loudness": ["loudness"],
          "normalize:peak, two passes": ["normalize:peak=-1dBFS"],
          "conv1d, reverse, biquad": ["conv1d:[1,2,1]/4", "reverse", "biquad:lowpass:freq=1000"],
          "spectrogram": ["gain:-3dB", "spectrogram"],
          "waveform": ["waveform"],
          "compand, limiter, gate": ["compand:-70,-60,0,-20:attack=0.3s:decay=1s", "limiter", "gate"],
          "fade, resample, equalizer, compand, normalize:loudness, limiter": ["fade:in=1s", "resample:44100", "equalizer:100,1000:gain=3dB,-2dB", "compand:-70,-60,0,-20",
                    "normalize:loudness=-23LUFS", "limiter:-1dBFS"]}


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
        out = [] if stages in (["stats"], ["loudness"]) else ["-o", "/dev/null", "--format", "raw"]
        chain = [argument for stage in stages for argument in ("-p", stage)]
        self.succeed("-i", name, *chain, *out, "--device", "cpu", "-j", "2", "--trace", "trace.json", "-q")
        trace = json.loads(self.read("trace.json"))
        seen = [event["args"]["bytes"] for event in trace["traceEvents"] if event["name"] == "resident"]
        self.assertEqual(trace["otherData"]["peak_resident_bytes"], max(seen))
        return max(seen), len(seen)

    def compare(self, what, peak, sizes, slack=SLACK):
        """The peak of the larger size is no more than that of the smaller. What the threads hold at a time is chance, of which a
        longer run has more: of up to five trials the smaller one's most counts, and the larger one's least."""
        small, large = 0, math.inf
        for _ in range(5):
            small, large = max(small, peak(sizes[0])), min(large, peak(sizes[1]))
            if large < small + slack:
                break
        print(f"{what}: {sizes[0]} {small / 1e6:.1f} MB, {sizes[1]} {large / 1e6:.1f} MB", flush=True)
        self.assertLess(large, small + slack)

    def test_a_long_sound_takes_no_more(self):
        self.make("short.rf64", SHORT)
        self.make("long.rf64", LONG)
        for what, stages in CHAINS.items():
            with self.subTest(chain=what):
                looks = {}

                def peak(name):
                    most, looks[name] = self.peak(name, stages)
                    return most
                self.compare(what, peak, ("short.rf64", "long.rf64"))
                self.assertGreater(looks["long.rf64"], looks["short.rf64"])

    def test_an_endless_further_input(self):
        """Is read as far as the first signal goes, beside it."""
        self.write("head", harness.open_wav_header(2, RATE))
        os.mkfifo(self.path("noise.wav"))

        def peak(minutes):
            self.make("in.rf64", minutes)
            endless = subprocess.Popen(["sh", "-c", "cat head /dev/zero > noise.wav"], cwd=self.folder, stderr=subprocess.DEVNULL)
            self.addCleanup(endless.wait)
            return self.peak("in.rf64", ["mixin:noise.wav"])[0]
        self.compare("minutes beside an endless one", peak, (SHORT, LONG))

    def test_a_large_image_takes_no_more(self):
        """Goes by rows. Of what is looked at there are bands of 16 MB, three in and three out."""
        def peak(rows):
            header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, 4096), }}".ljust(117) + "\n"
            with open(self.path("in.npy"), "wb") as file:
                file.write(b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header.encode())
                file.truncate(file.tell() + rows * 4096 * 4)
            return self.peak("in.npy", ["sepconv:[1,2,1]/4", "stats"])[0]
        self.compare("rows of an image", peak, (4000, 16000), 2 * SLACK)

    def test_input_of_unknown_length(self):
        """As from a pipe: what passes through is not kept."""
        def peak(minutes):
            self.write("header", b"RIFF\xff\xff\xff\xffWAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 2, RATE, RATE * FRAME, FRAME, 16)
                       + b"data\xff\xff\xff\xff")
            command = f"(cat header; head -c {minutes * 60 * RATE * FRAME} /dev/zero) | '{harness.COMMAND}' -i - --allow-truncated -q" \
                      " -p 'conv1d:[1,2,1]' -o /dev/null --format raw --device cpu -j 2 --trace trace.json"
            done = subprocess.run(["sh", "-c", command], cwd=self.folder, env=harness.fixed_environment(), check=False,
                                  stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(self.read("trace.json"))["otherData"]["peak_resident_bytes"]
        self.compare("minutes from a pipe", peak, (SHORT, LONG))


WIDE = "winstat:window=2109423"  # of an image of 40 columns: borders of 6.3 MB a row, three times
SAID = (r"this needs 19 MB of memory, and the limit is 10 MB \(--max-memory changes it\): "
        r"winstat looks at 1054711 values before and 1054711 after each, in rows of 40")


class Limits(harness.Case):
    def setUp(self):
        super().setUp()
        harness.write_png(self.path("in.png"), [[x * 7 % 256 for x in range(120)]] * 40, 3)

    def peak_of(self, *arguments):
        """(status, resident bytes at the peak, stderr) of a command; those of the image decoder's child are less."""
        with open(self.path("stderr"), "wb") as said:
            child = subprocess.Popen([harness.COMMAND, *arguments], cwd=self.folder, env=harness.fixed_environment(), stderr=said)
            _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        return child.returncode, usage.ru_maxrss * 1024, self.read("stderr").decode()

    @unittest.skipIf(harness.sanitized(), "a sanitizer keeps what is freed for a while")
    def test_the_report_of_a_long_batch(self):
        """It waits in a file: the memory of a batch does not grow with what is written of each of its files."""
        self.write("list", "".join(f"no/{'long' * 50}/{i}\n" for i in range(20000)))
        run = ["-i", "@list", "-p", "gain:1", "-o", "out/{index}.png", "-q", "-j", "1"]
        without = self.peak_of(*run)[1]
        status, peak, _ = self.peak_of(*run, "--report", "report.json")
        report = self.read("report.json")
        self.assertEqual((status, len(json.loads(report)["files"])), (1, 20000))
        self.assertGreater(len(report), 8 << 20)
        self.assertLess(peak, without + (4 << 20))

    def test_a_border_is_counted(self):
        """Refused before anything is touched: the memory is that of saying so."""
        idle = self.peak_of("-i", "in.png", "-p", "winstat:window=3", "-o", "out.png", "--device", "cpu")[1]
        self.write("out.png", "as it was")
        status, peak, said = self.peak_of("-i", "in.png", "-p", WIDE, "-o", "out.png", "--device", "cpu", "--max-memory", "10")
        self.assertEqual(status, 1)
        self.assertRegex(said, rf"\Afilterchain: {SAID}\n\Z")
        self.assertLess(peak, idle + (16 << 20))
        self.assertEqual(self.read("out.png"), b"as it was")

    def test_scratch_is_counted(self):
        """What an operator works in comes on top of the border, and is known before anything is touched, in a dry run too."""
        for dry in ([], ["--dry-run"]):
            said = self.fails(1, "-i", "in.png", "-p", WIDE, "-o", "out.png", "--device", "cpu", "--max-memory", "30", "-j", "4", *dry)
            self.assertRegex(said, r"\Athis needs [0-9.]+ MB of memory, and the limit is 30 MB \(--max-memory changes it\): "
                                   r"winstat works in [0-9.]+ MB\Z")
        self.assertNotIn("out.png", self.files())

    def test_scratch_that_no_chunk_makes_less(self):
        """Transforms of a long mask are of one size: fewer threads have them at a time, with the same result, and where
        one has too much that is said at once."""
        dice = random.Random(3)
        self.write("mask.txt", " ".join(f"{dice.uniform(-1, 1):.4f}" for _ in range(30001)))
        harness.write_wav(self.path("in.wav"), harness.tone(20000))
        chain = ["-i", "in.wav", "-p", "conv1d:mask.txt", "--device", "cpu", "-j", "4", "-v"]
        self.assertEqual(self.run_command(*chain, "-o", "freely.wav").returncode, 0)
        whole = self.need(*chain)
        for limit, threads in ((whole + 1, 4), (whole / 2 + 2, 2), (whole / 4 + 2, 1)):
            done = self.run_command(*chain, "-o", "out.wav", "--max-memory", str(math.ceil(limit)))
            self.assertIn(f"cpu ({threads} thread", done.stderr)
            self.assertNotIn("trying again", done.stderr)
            self.assertEqual(self.read("out.wav"), self.read("freely.wav"))
        done = self.run_command(*chain, "-o", "no.wav", "--max-memory", "5")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"(?m)\Afilterchain: running on [^\n]+\n"
                         r"filterchain: this needs [0-9.]+ MB of memory, and the limit is 5 MB [^\n]*: conv1d works in [^\n]+\n\Z")

    def need(self, *arguments):
        """Megabytes, as the plan has them."""
        return float(self.succeed(*arguments, "-o", "x.wav", "--dry-run").split(", about ")[1].split()[0])

    def test_no_size_gets_by(self):
        for stage in ("winstat:window=4000000000", "winstat:window=1x4000000000", "winstat:window=60000x60000"):
            with self.subTest(stage=stage):
                said = self.fails(1, "-i", "in.png", "-p", stage, "-o", "out.png", "--device", "cpu", "--max-memory", "4000")
                self.assertRegex(said, r"\Athis needs .* of memory, and the limit is 4 GB \(--max-memory changes it\): winstat looks at ")
        self.assertNotIn("out.png", self.files())

    def test_smaller_chunks_first(self):
        """With the same result."""
        self.write("in.raw", bytes(range(256)) * 4096)
        chain = ["-i", "in.raw", "--raw", "dtype=i16,channels=2,rate=48000", "-p", "conv1d:[1,2,1]/4", "-p", "gain:0.5", "--device", "cpu"]
        self.succeed(*chain, "-o", "freely.raw")
        plan = self.succeed(*chain, "-o", "x.raw", "--dry-run", "--max-memory", "1")
        self.assertLess(float(plan.split(", about ")[1].split()[0]), 1)
        self.succeed(*chain, "-o", "limited.raw", "--max-memory", "1")
        self.assertEqual(self.read("limited.raw"), self.read("freely.raw"))

    def test_scratch_has_room(self):
        """The plan leaves some of the limit to operators, so that no attempt fails. What the limit does is
        reported, not warned of, and numbers agree with their words."""
        harness.write_png(self.path("wide.png"), [[x * 7 % 256 for x in range(6000)]] * 300, 3)
        for stage, limit in (("sepconv:[1,2,1]/4", 1), ("winstat:window=15:stat=std", 1), ("gain:0.5", 2)):
            with self.subTest(stage=stage):
                chain = ["-i", "wide.png", "-o", "out.png", "-p", stage, "--device", "cpu", "-j", "2", "--max-memory", str(limit)]
                planned = int(self.succeed(*chain, "--dry-run").split("chunks of ")[1].split()[0])
                said = self.run_command("-v", *chain).stderr
                self.assertNotIn("trying again", said)
                self.assertRegex(said, rf"worked on {planned} rows? at a time instead of \d+ \(--max-memory sets the limit\)")
        tight = ["-i", "wide.png", "-o", "out.png", "-p", "winstat:window=15:stat=std", "--device", "cpu", "-j", "1",
                 "--max-memory", "1", "--chunk", "1"]
        self.assertIn("chunks of 1 row,", self.succeed(*tight, "--dry-run"))

    def test_a_whole_signal(self):
        """Of a length that only its end tells: what is loaded counts as well."""
        self.write("header", b"RIFF\xff\xff\xff\xffWAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 2, RATE, RATE * FRAME, FRAME, 16)
                   + b"data\xff\xff\xff\xff")
        command = f"(cat header; head -c 40000000 /dev/zero) | '{harness.COMMAND}' -i - --allow-truncated -q" \
                  " -p conv1d:[1,2,1]:border=wrap -o /dev/null --format raw --device cpu --max-memory 20"
        done = subprocess.run(["sh", "-c", command], cwd=self.folder, env=harness.fixed_environment(), check=False, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"a stage needs the whole signal at once, and it does not fit in memory\n", done.stderr)

    @unittest.skipIf(harness.sanitized(), "a sanitizer takes terabytes of address space")
    def test_files_that_do_not_fit_side_by_side(self):
        """Each of them fits by itself: it waits for the others."""
        os.mkdir(self.path("in"))
        harness.write_png(self.path("in/0.png"), [bytes(range(200)) * 45] * 3000, 3)
        for i in range(1, 6):
            os.link(self.path("in/0.png"), self.path(f"in/{i}.png"))
        self.succeed("-i", "in", "-p", "equalize", "-o", "out/", "--format", "npy", "--max-memory", "75", "-j", "6")
        self.assertEqual(sum(name.endswith(".npy") for name in os.listdir(self.path("out"))), 6)

    @unittest.skipIf(harness.sanitized(), "a sanitizer takes terabytes of address space")
    def test_address_space_is_the_limit(self):
        """As `ulimit -v` sets it, where nobody says."""
        limit = 2000000000
        said = self.fails(1, "-i", "in.png", "-p", "winstat:window=400000000", "-o", "out.png", "--device", "cpu",
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assertRegex(said, r"\Athis needs 3\.6 GB of memory, and the limit is 1\.8 GB \(--max-memory changes it\): winstat looks at ")

    @unittest.skipIf(harness.sanitized(), "a sanitizer takes terabytes of address space")
    def test_threads_that_the_address_space_has_room_for(self):
        """A thread takes a stack and more of it: as many as there is room for, and the same comes out."""
        harness.write_wav(self.path("long.wav"), [i * 7919 % 50021 - 25000 for i in range(400000)], 2)
        for i in range(6):
            harness.write_png(self.path(f"{i}.png"), [[(x * x + y * i) % 251 for x in range(1200)] for y in range(800)], 1)
        self.write("mask.txt", "0.001\n" * 1023)
        images = [word for i in range(6) for word in ("-i", f"{i}.png")]
        limit = 1 << 30
        jobs = ((["-i", "long.wav", "-p", "conv1d:mask.txt", "-p", "gain:2"], "wav"),
                (["-i", "long.wav", "-p", "winstat:window=4801:stat=std"], "wav"),
                ([*images, "-p", "sepconv:[1,4,6,4,1]/16", "-p", "winstat:15"], None))
        for job, kind in jobs:
            made = []
            for threads in (2, 32, 128):
                with self.subTest(job=job, threads=threads):
                    to = f"{threads}.wav" if kind else f"made{threads}"
                    if not kind:
                        os.mkdir(self.path(to))
                    self.succeed(*job, "-o", to, "--device", "cpu", "-j", str(threads),
                                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
                    made.append([self.read(to)] if kind else [self.read(f"{to}/{i}.png") for i in range(6)])
            self.assertTrue(all(one == made[0] for one in made), job)
        said = self.run_command(*jobs[0][0], "-o", "o.wav", "--device", "cpu", "-j", "128", "-v",
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))).stderr
        threads = re.search(r": cpu \((\d+) threads?\), ", said)
        self.assertTrue(threads and int(threads[1]) <= limit / 2 / 64e6, said)

    @unittest.skipIf(harness.sanitized(), "a sanitizer takes terabytes of address space")
    def test_legitimate_windows(self):
        """As long as a window may well be, in an address space of 1 GB."""
        limit = 1 << 30
        harness.write_png(self.path("long.png"), [[x * 31 % 251 for x in range(100000)]], 1)
        self.write("mask.txt", "1\n" * 65536)
        for stage in ("winstat:window=65536", "winstat:window=100001:border=wrap", "conv1d:mask.txt:normalize=yes"):
            with self.subTest(stage=stage):
                self.succeed("-i", "long.png", "-p", stage, "-o", "out.png", "--device", "cpu", "-j", "2",
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))


class ShortChunks(harness.Case):
    """What is asked for is rounded up to whole blocks; what shorter chunks cost is said for each stage."""

    def setUp(self):
        super().setUp()
        harness.write_wav(self.path("in.wav"), harness.tone(400000))

    def plan(self, *stages, options=()):
        chain = [argument for stage in stages for argument in ("-p", stage)]
        return self.succeed("-i", "in.wav", *chain, "-o", "out.wav", "--device", "cpu", "-j", "2", "--dry-run", *options).splitlines()[-1]

    def test_up_to_whole_blocks(self):
        blocks = ("dct:4096", "dct:960")
        self.assertIn("chunks of 61440 frames (100 asked for, up to whole blocks of 61440)", self.plan(*blocks, options=("--chunk", "100")))
        self.assertIn("chunks of 122880 frames (61441 asked for, up to whole blocks of 61440)", self.plan(*blocks, options=("--chunk", "61441")))

    def test_too_little_memory_for_whole_blocks(self):
        said = self.plan("dct:4096", "dct:960", options=("--max-memory", "2"))
        told = re.search(r"chunks of (\d+) frames \(some blocks are computed twice; whole blocks of 61440 would take ([0-9.]+) MB of memory\)", said)
        self.assertTrue(told, said)
        self.assertLess(int(told[1]), 61440)
        enough = self.plan("dct:4096", "dct:960", options=("--max-memory", str(2 * math.ceil(float(told[2])))))
        self.assertNotIn("computed twice", enough)

    def test_each_stage_has_a_figure(self):
        """A window of 3001 in chunks of 512 looks at 3512 values for each 512 of its own; the one before it at more."""
        chain, chunk = ("winstat:3001", "winstat:1001", "gain:0.5"), ("--chunk", "16")
        said = self.plan(*chain, options=chunk)
        told = re.search(r"chunks of (\d+) frames.*; winstat \(stage 1\) looks at each value ([0-9.]+) times, winstat \(stage 2\) ([0-9.]+) times$", said)
        self.assertTrue(told, said)
        each = int(told[1])
        self.assertAlmostEqual(float(told[3]), (each + 1000) / each, delta=0.06)
        self.assertGreaterEqual(float(told[2]), (each + 4000) / each - 0.06)
        done = self.run_command("-i", "in.wav", *(argument for stage in chain for argument in ("-p", stage)), "-o", "out.wav", "--device", "cpu", *chunk)
        self.assertRegex(done.stderr, r"^filterchain: warning: in\.wav: chunks of \d+ frames are short: winstat \(stage 1\) looks at each value \S+ times, "
                                      r"winstat \(stage 2\) \S+ times; allow longer ones \(--chunk, --max-memory\)\n$")
        self.assertNotIn("looks at each value", self.plan(*chain))


class Outputs(harness.Case):
    """An output's size follows from the plan."""

    def test_its_size_is_told(self):
        harness.write_wav(self.path("in.wav"), harness.tone(400000))
        plan = self.succeed("-i", "in.wav", "-p", "stft:1024:hop=1", "-o", "out.npy", "--device", "cpu", "--dry-run")
        self.assertRegex(plan, r"1\.6\d? GB of samples")
        plan = json.loads(self.succeed("-i", "in.wav", "-p", "gain:2", "-o", "out.npy", "--device", "cpu", "--dry-run", "--json"))
        self.assertEqual(plan["output_bytes"], 400000 * 4)

    def test_what_cannot_fit_is_refused_first(self):
        """Before a byte is written, by --dry-run too; what was there stays."""
        harness.write_wav(self.path("in.wav"), harness.tone(400000))
        self.write("out.npy", b"what was there")
        before = sorted(os.listdir(self.folder))
        for options in ([], ["--dry-run"]):
            said = self.fails(1, "-i", "in.wav", "-p", "stft:16777216:hop=1", "-o", "out.npy", "--device", "cpu", *options)
            self.assertRegex(said, r"\Aout\.npy: the output takes 26\.8 TB, and where it goes .* are left\Z")
        self.assertEqual(sorted(os.listdir(self.folder)), before)
        self.assertEqual(self.read("out.npy"), b"what was there")


if __name__ == "__main__":
    harness.main()
