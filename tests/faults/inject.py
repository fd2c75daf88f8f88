#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Nth write, fsync, rename, allocation, thread, ... fails, for every N until none is
reached, in jobs on WAV, FLAC and PNG.

    inject.py BUILD SOURCE LIBRARY [RUNTIME]

Each run is complete with status 0, or ends with another, one line that says why, the old
output byte for byte, and nothing beside it. In a build with AddressSanitizer, whose RUNTIME is then
preloaded behind ours, LeakSanitizer must have nothing to say at the end of any run either.

Memory: GLib ends the process (SIGABRT, with words of its own) when a small allocation of
its own fails, and so do we where we use it for small things; libsndfile crashes. What is promised then is
that no output is damaged and no temporary left; that there is one line of ours is
promised for what grows with the data (samples, tables, files, metadata), which "large" holds to it. Every allocation fails
where the output is WAV, FLAC, PNG, Vorbis or Opus; of the other formats, and under a sanitizer, the later ones are sampled, but
with FILTERCHAIN_TRIALS=all.
"""
import os
import signal
import struct
import subprocess
import time

import outputs
from outputs import harness

LIBRARY = os.path.abspath(outputs.sys.argv[3])
RUNTIME = outputs.sys.argv[4] if len(outputs.sys.argv) > 4 else None
FOUND = 99  # the status of a run in which a sanitizer found something
# By GLib, or by a library that does not look at what malloc returns (libsndfile at opening).
ABORTED = (-signal.SIGABRT, -signal.SIGTRAP, -signal.SIGSEGV)
# Taken one by one, some of the rest, and those around the moment at which the output is in place.
FIRST, SAMPLES, LAST = (8, 8, 4) if RUNTIME else (20, 40, 4)


def preloaded():
    """What makes the library stand between the program and the C library."""
    if not RUNTIME:
        return {"LD_PRELOAD": LIBRARY}
    # A crash is to end the process by its signal, as without a sanitizer.
    how = f"verify_asan_link_order=0:handle_segv=0:detect_leaks=1:exitcode={FOUND}"
    leaks = os.path.join(os.path.abspath(outputs.sys.argv[2]), "tests", "fuzz", "leaks.txt")
    return {"LD_PRELOAD": f"{LIBRARY}:{RUNTIME}", "ASAN_OPTIONS": how,
            "LSAN_OPTIONS": f"suppressions={leaks}:print_suppressions=0"}


class Faults(outputs.Job):
    piped = None  # what comes from standard input

    def run_with(self, arguments, call, at):
        """(status, stderr, calls, failed) of a run in which that call fails."""
        mark = os.path.join(harness.BUILD, f"fault-mark-{os.getpid()}")
        with open(mark, "wb") as file:
            file.write(bytes(8))
        self.addCleanup(lambda: os.path.exists(mark) and os.remove(mark))
        environment = {**harness.fixed_environment(), **preloaded(), "FAULT_CALL": call, "FAULT_AT": str(at),
                       "FAULT_MARK": mark, "FAULT_PROGRAM": "filterchain"}
        feed = {"input": self.piped} if self.piped else {"stdin": subprocess.DEVNULL}
        done = subprocess.run([harness.COMMAND, *arguments], cwd=self.folder, env=environment, **feed,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=harness.PATIENCE, check=False)
        with open(mark, "rb") as file:
            calls, failed = struct.unpack("<II", file.read(8))
        self.stdout = done.stdout
        return done.returncode, done.stderr.decode(), calls, failed

    def runtime_ended(self, stderr):
        """Whether the sanitizer's own threads wanted the memory that there was not. It ends the process at
        once, as SIGKILL does, so that a temporary may stay; or, where a thread starts late, so that the output
        is complete and in place."""
        if "AddressSanitizer: CHECK failed" not in stderr:
            return False
        for name in set(self.files()) - {*self.before, self.target}:
            self.assertTrue(name.startswith(".filterchain-"), name)
            os.remove(self.path(name))
        if self.target in self.files() and self.read(self.target) == self.complete:
            self.reset()
        return True

    def try_one(self, arguments, call, at, what):
        """TRUE while the call is reached."""
        status, stderr, _, failed = self.run_with(arguments, call, at)
        aborted = status in ABORTED or (status == FOUND and self.runtime_ended(stderr))
        if aborted:
            self.assertEqual(call, "malloc", f"{what}: aborted: {stderr}")
        else:
            self.assertNotEqual(status, FOUND, f"{what}: {stderr}")
            self.assertGreaterEqual(status, 0, f"{what}: ended by signal {-status}: {stderr}")
        self.check(status, stderr, what, lines=None if aborted else 1)
        self.reset()
        self.counts[0 if status == 0 else 2 if aborted else 1] += 1
        return failed

    def try_all(self, ending, call, *more, pipe=False, itself=False, some=False, **job):
        arguments = self.prepare(ending, **job) + list(more)
        if itself:
            arguments = self.onto_itself(arguments)
        if pipe:
            self.piped = self.read(arguments[1])
            arguments[1] = "-"
        status, _, calls, _ = self.run_with(arguments, call, 0)
        self.assertEqual(status, 0)
        self.assertGreater(calls, 0, f"no {call} in a job on {ending}: nothing was tested")
        if call == "sync":
            self.assertGreaterEqual(calls, 2, "the file and its folder")
        self.reset()
        self.counts = [0, 0, 0]
        every = outputs.ASKED or (outputs.EVERYTHING and not some)
        step = 1 if every else max(1, (calls - FIRST) // SAMPLES)
        reached = 0
        chosen = {*range(1, FIRST + 1), *range(FIRST + 1, calls, step), *range(calls - LAST + 1, calls + 1)}
        for at in sorted(chosen & {*range(1, calls + 1)}):
            reached += self.try_one(arguments, call, at, f"{ending}: {call} {at} of {calls}")
        if call == "close":
            self.assertGreater(self.counts[1], 0, "that of the output went unnoticed")
        # Threads and sizes of reads vary a little from run to run.
        self.assertGreater(reached, 0)
        self.assertFalse(self.run_with(arguments, call, 2 * calls + 1000)[3])
        print(f"{ending} {call}: {calls} calls, {reached} failed: {self.counts[0]} runs complete, "
              f"{self.counts[1]} refused, {self.counts[2]} ended by a library", flush=True)


    def test_plain_file_system(self):
        """One that can only rename: outputs are replaced, or not, and synced as on any other."""
        for old in (None, outputs.OLD):
            for more in (["--no-clobber"], ["--sync"], ["--sync", "--no-clobber"]):
                with self.subTest(old=old, more=more):
                    arguments = self.prepare("wav", old=old) + more
                    status, stderr, calls, _ = self.run_with(arguments, "plain", 0)
                    refused = old and "--no-clobber" in more
                    self.assertEqual(status, 1 if refused else 0, stderr)
                    if not refused and (old or "--no-clobber" in more):
                        self.assertGreater(calls, 0, "nothing was asked of it")
                    self.check(status, stderr, str(more))

    def test_close_of_standard_output(self):
        """What is opened there may be a file on a disk that tells only then: straight into it, and by a temporary."""
        self.prepare("wav")
        for kind in ("au", "caf"):
            arguments, refused = ["-i", "in.wav", "-o", "-", "--format", kind], 0
            status, _, calls, _ = self.run_with(arguments, "close", 0)
            self.assertEqual(status, 0)
            complete = self.stdout
            for at in range(1, calls + 1):
                status, stderr, _, _ = self.run_with(arguments, "close", at)
                if status == 0:
                    self.assertEqual(self.stdout, complete, f"{kind} {at}")
                else:
                    self.assertRegex(stderr, r"\Afilterchain: [^\n]+\n\Z")
                    refused += stderr.startswith("filterchain: standard output: ")
            self.assertGreater(refused, 0, kind)

    def test_plain_file_system_for_temporaries(self):
        """What must be gone back to is kept in a file that has lost its name."""
        self.prepare("wav")
        feeds = []
        for ending in ("ogg", "flac"):  # an output whose length is not known, and an input that is kept
            self.succeed("-i", "in.wav", "-o", "in." + ending)
            feeds.append(self.read("in." + ending))
        before = self.files()
        mark = os.path.join(harness.BUILD, f"fault-mark-{os.getpid()}")
        self.addCleanup(lambda: os.path.exists(mark) and os.remove(mark))
        for feed in feeds:
            with open(mark, "wb") as file:
                file.write(bytes(8))
            environment = {**harness.fixed_environment(), **preloaded(), "FAULT_CALL": "plain", "FAULT_AT": "0",
                           "FAULT_MARK": mark, "FAULT_PROGRAM": "filterchain", "TMPDIR": self.folder}
            done = self.run_command("-i", "-", "-o", "-", "--format", "wav", env=environment, text=False, input=feed)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            with open(mark, "rb") as file:
                self.assertGreater(struct.unpack("<II", file.read(8))[0], 0, "nothing was asked of it")
            self.assertEqual(self.files(), before)

    def test_a_name_that_is_taken_meanwhile(self):
        """By another process, before all samples have come: there, too, its file stays."""
        mark = self.path("mark")
        arguments = ["-i", "-", "--in-format", "raw", "--raw", "dtype=i16,rate=8000,channels=1", "-n", "-o", "out.wav"]
        for kinds in ("plain", "rename"):
            self.write("mark", bytes(8))
            environment = {**harness.fixed_environment(), **preloaded(), "FAULT_CALL": kinds, "FAULT_AT": "0",
                           "FAULT_MARK": mark, "FAULT_PROGRAM": "filterchain"}
            with subprocess.Popen([harness.COMMAND, *arguments], cwd=self.folder, env=environment, stdin=subprocess.PIPE,
                                  stderr=subprocess.PIPE) as run:
                run.stdin.write(bytes(20000))
                run.stdin.flush()
                for _ in range(20000):
                    if len(self.files()) > 1:
                        break
                    time.sleep(0.01)
                self.assertEqual(len(self.files()), 2, "the mark and a temporary")
                self.write("out.wav", outputs.OLD)
                said = run.communicate(timeout=harness.PATIENCE)[1].decode()
            self.assertEqual(run.returncode, 1, said)
            self.assertRegex(said, r"\Afilterchain: out\.wav: was created in the meantime; [^\n]+\n\Z")
            self.assertEqual((self.files(), self.read("out.wav")), (["mark", "out.wav"], outputs.OLD))
            os.remove(self.path("out.wav"))


def add_test(ending, call, *more, **settings):
    def test(self):
        self.try_all(ending, call, *more, **settings)
    which = "_of_a_new_file" if "old" in settings else "_of_a_pipe" if "pipe" in settings else \
        "_onto_itself" if "itself" in settings else "_to_" + settings["to"] if "to" in settings else \
        "_in_columns" if "columns" in settings else "_of_a_table_" + settings["mask"][-3:] if "mask" in settings else ""
    setattr(Faults, f"test_{ending}_{call}{which}", test)


HAVE = [entry["name"] for entry in harness.json.loads(harness.formats())["formats"]]
for kind in ("wav", "flac", "png"):
    for fault in ("write", "rename", "malloc", "open"):
        add_test(kind, fault)
    add_test(kind, "sync", "--sync")
    for fault in ("write", "rename", "sync"):
        add_test(kind, fault, "--sync", "--no-clobber", old=None)
for kind in ("wav", "flac"):
    add_test(kind, "thread", "--chunk", "1000", size=200000)
# What a file has much of, samples or metadata, no library asks for by itself: an error, never an end.
for kind, length in (("wav", 300000), ("flac", 300000), ("png", 20000)):
    add_test(kind, "large", size=length, metadata=600000)
for kind, other in (("flac", "ogg"), ("opus", "flac"), ("opus", "ogg")):  # libvorbis asks for comments, and does not look
    add_test(kind, "large", size=300000, metadata=600000, to=other)
if "tiff" in HAVE:
    add_test("png", "large", size=20000, metadata=600000, to="tiff")
for kind, length in (("npy", 300000), ("aiff", 300000), ("jpg", 20000), ("webp", 16000), ("tiff", 20000), ("bmp", 20000), ("tga", 20000)):
    if kind not in HAVE:
        continue
    add_test(kind, "large", size=length)
add_test("npy", "large", size=300000, columns=True)
for kind in ("txt", "npy", "wav"):
    add_test("wav", "large", mask="mask." + kind)
# What some file systems tell only then.
add_test("wav", "close")
add_test("jpg", "write", size=20000)
add_test("png", "fork")
add_test("png", "map")
# What is read with an error is not the end of a file, whoever reads it.
SOUND = ("wav", "rf64", "w64", "aiff", "au", "caf", "flac", "ogg", "opus", "mp3", "npy")
IMAGES = ("png", "jpg", "bmp", "tga")
ALL = outputs.EVERYTHING  # else of each way through the code one
for kind in SOUND + IMAGES if ALL else ("wav", "flac", "ogg", "mp3", "png"):
    add_test(kind, "read", size=20000 if kind in SOUND else 4000)
for kind in ("wav", "aiff", "au", "caf", "flac", "ogg", "mp3", "npy", "png") if ALL else ("wav", "ogg"):
    add_test(kind, "read", size=20000 if kind in SOUND else 4000, pipe=True)
for fault in ("read", "write", "other") if ALL else ("read",):  # what is said beside the samples is put in other words
    add_test("aiff", fault, to="wav")
for kind in SOUND + IMAGES if ALL else ("wav", "png"):
    add_test(kind, "other")
for kind in set(SOUND + IMAGES) - {"mp3", "wav", "flac", "png", "jpg"} if ALL else ("aiff",):
    add_test(kind, "write", size=20000 if kind in SOUND else 4000)
for kind in (*(set(SOUND + IMAGES) - {"mp3", "wav", "flac", "png"}), *(("aiff", "raw"),)) if ALL else ():
    source, to = kind if isinstance(kind, tuple) else (kind, None)
    for fault, more in (("malloc", []), ("rename", []), ("sync", ["--sync"]), ("open", []), ("thread", ["--chunk", "500"])):
        if fault != "thread" or source in SOUND:
            add_test(source, fault, *more, size=5000, some=kind not in ("ogg", "opus"), **({"to": to} if to else {}))
add_test("aiff", "write", to="raw")
for kind in ("wav", "aiff", "flac", "npy", "png", "bmp") if ALL else ():
    for fault in ("write", "rename", "read", "other"):
        add_test(kind, fault, itself=True)

if __name__ == "__main__":
    harness.main()
