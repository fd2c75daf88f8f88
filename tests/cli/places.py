#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Outputs in odd places: full disks, mount points, folders that are closed or sticky, pipes,
devices, files of other people. The output is complete, or what was there is still there.

The test runs itself again in a mount namespace of its own, where the machine lets it have
one; else what needs mounts is skipped, and what needs a superuser likewise.
"""
import array
import json
import os
import random
import signal
import stat
import subprocess
import sys
import threading
import time

import harness

OLD = b"what was here before"
INSIDE = "TEST_PLACES_INSIDE"
SOUND = ("wav", "rf64", "w64", "aiff", "au", "caf", "flac", "ogg", "opus", "npy", "raw")
IMAGES = ("png", "jpg", "bmp", "tga", "npy", "raw")
PAGE = 4096
STRANGER, OTHER = 12345, 23456  # user ids that nobody has


def enter_namespace():
    """Goes on inside a namespace where mounts stay, as the superuser or as if it were one."""
    if INSIDE in os.environ:
        return os.environ[INSIDE] == "yes"
    for how in (["-m"], ["-Urm"]):
        command = ["unshare", *how, "--propagation", "private"]
        try:
            if subprocess.run([*command, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
                os.execvpe("unshare", [*command, sys.executable, *sys.argv], {**os.environ, INSIDE: "yes"})
        except OSError:
            break
    return False


MAY_MOUNT = enter_namespace()


def written():
    """Bytes that this process and those that it waited for have written."""
    with open("/proc/self/io", encoding="ascii") as file:
        return int(next(line for line in file if line.startswith("wchar:")).split()[1])


class Places(harness.Case):
    def setUp(self):
        super().setUp()
        dice = random.Random(1)
        noise = array.array("h", (dice.randrange(-9000, 9000) for _ in range(40000)))
        harness.write_wav(self.path("in.wav"), noise, 2, 48000)
        harness.write_png(self.path("in.png"), [[dice.randrange(256) for _ in range(3 * 160)] for _ in range(120)], 3)

    def mount(self, *arguments, name):
        if not MAY_MOUNT:
            self.skipTest("nothing can be mounted here")
        done = subprocess.run(["mount", *arguments, self.path(name)], stderr=subprocess.PIPE, check=False)
        if done.returncode:
            self.skipTest(f"mount: {done.stderr.decode().strip()}")
        self.addCleanup(subprocess.run, ["umount", self.path(name)], check=True)

    def tmpfs(self, name, size=1 << 20):
        os.mkdir(self.path(name))
        self.mount("-t", "tmpfs", "-o", f"size={size}", "none", name=name)

    def fill_up(self, folder, left):
        """All of a file system but so many pages is taken."""
        filler = os.path.join(self.path(folder), "filler")
        with open(filler, "wb") as file:
            disk = os.statvfs(filler)
            os.posix_fallocate(file.fileno(), 0, (disk.f_bavail - left) * disk.f_frsize)
        return filler

    def superuser(self):
        if os.geteuid() != 0:
            self.skipTest("only a superuser can be somebody else")
        os.chmod(self.folder, 0o755)
        try:
            seen = self.run_command("--version", user=STRANGER, group=STRANGER, extra_groups=[])
        except OSError:
            self.skipTest("nobody else is known in this user namespace")
        if seen.returncode:
            self.skipTest("the build is closed to others")

    def own(self, name, user, mode, content=OLD):
        self.write(name, content)
        os.chown(self.path(name), user, user)
        os.chmod(self.path(name), mode)

    def by_stranger(self, *arguments):
        done = self.run_command(*arguments, user=STRANGER, group=STRANGER, extra_groups=[])
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class FullDisks(Places):
    def try_format(self, source, ending):
        """With no page left, half of what is needed, and all but one: the old output; then the new."""
        self.succeed("-i", source, "-o", "whole." + ending)
        needed = -(-os.path.getsize(self.path("whole." + ending)) // PAGE)
        self.assertGreater(needed, 1, ending)
        out = "disk/out." + ending
        for left in {0, needed // 2, needed - 1}:
            self.write(out, OLD)
            filler = self.fill_up("disk", left)
            line = self.fails(1, "-i", source, "-o", out)
            self.assertRegex(line, rf"\A{out}: (.*: No space left on device|the output takes .*, and where it goes .* are left)\Z")
            self.assertEqual(self.read(out), OLD, (ending, left))
            self.assertEqual(sorted(os.listdir(self.path("disk"))), ["filler", "out." + ending])
            os.remove(filler)
        self.succeed("-i", source, "-o", out)
        self.assertEqual(self.read(out), self.read("whole." + ending))
        os.remove(self.path(out))

    def test_every_format(self):
        self.tmpfs("disk")
        for source, endings in (("in.wav", SOUND), ("in.png", IMAGES)):
            for ending in endings:
                with self.subTest(source=source, ending=ending):
                    self.try_format(source, ending)

    def test_what_cannot_fit(self):
        """Is refused before a byte is written, by what samples take in the file: 3 bytes of 24 bits."""
        self.tmpfs("disk")
        tone = ("-p", f"tone:silence:length={4 * PAGE}")
        for name, size in (("out.npy", 4), ("out.raw", 4), ("out.wav:dtype=i24", 3), ("out.aiff:dtype=i16", 2)):
            filler = self.fill_up("disk", 4 * size - 1)
            line = self.fails(1, *tone, "-o", "disk/" + name)
            path = "disk/" + name.partition(":")[0]
            self.assertRegex(line, rf"\A{path}: the output takes 0\.0[0-9]+ MB, and where it goes 0\.0[0-9]+ MB are left\Z")
            self.assertEqual(self.fails(1, "--dry-run", *tone, "-o", "disk/" + name), line)
            self.assertEqual(os.listdir(self.path("disk")), ["filler"])
            os.remove(filler)
            self.succeed(*tone, "-o", "disk/" + name)
            os.remove(self.path(path))

    def test_what_fits_nowhere(self):
        line = self.fails(1, "-p", "tone:silence:length=1000000000000:channels=1000", "-o", "out.npy")
        self.assertRegex(line, r"\Aout\.npy: the output takes 4 PB, and where it goes [0-9.]+ .B are left\Z")
        self.assertNotIn("out.npy", self.files())
        for name in ("-", "/dev/null", "out.flac"): # where there is no telling
            self.succeed("-p", "tone:silence:length=1000000000000", "-o", name, "--format", "flac", "--dry-run")

    def test_report_and_trace(self):
        self.tmpfs("disk")
        self.fill_up("disk", 0)
        for flag in ("--report", "--trace"):
            self.write("side.json", OLD)
            os.symlink(self.path("disk/side.json"), self.path("link.json"))
            done = self.run_command("-i", "in.wav", "-p", "stats", flag, "disk/side.json", "-q")
            self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
            self.assertIn("No space left on device", done.stderr)
            self.assertEqual(os.listdir(self.path("disk")), ["filler"])
            os.remove(self.path("link.json"))

    def test_report_when_all_is_in_place(self):
        """It comes last: the output stays, and the line says what failed."""
        self.tmpfs("disk")
        self.fill_up("disk", 0)
        self.write("out.wav", OLD)
        said = self.fails(1, "-i", "in.wav", "-o", "out.wav", "--report", "disk/side.json")
        self.assertRegex(said, r"\Adisk/side\.json: the report cannot be written: No space left on device\Z")
        self.assertEqual(harness.read_wav(self.path("out.wav")), harness.read_wav(self.path("in.wav")))
        self.assertRegex(self.fails(1, "-i", "in.wav", "-o", "new.wav", "--trace", "disk/side.json"), "No space left")
        self.assertNotIn("new.wav", self.files())

    def test_spool(self):
        """The temporary of an output that goes to a pipe, and whose length is not known, lies in $TMPDIR."""
        self.tmpfs("disk")
        self.fill_up("disk", 1)
        environment = {**harness.fixed_environment(), "TMPDIR": self.path("disk")}
        self.succeed("-i", "in.wav", "-o", "in.ogg")
        done = self.run_command("-i", "-", "-o", "-", "--format", "wav", env=environment, text=False, input=self.read("in.ogg"))
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertRegex(done.stderr, rb"\Afilterchain: standard output: [^\n]*: No space left on device\n\Z")


    def test_spool_of_an_input(self):
        """One that has to be kept, and has no end, does not fill the disk up."""
        self.tmpfs("disk")
        environment = {**harness.fixed_environment(), "TMPDIR": self.path("disk")}
        with open("/dev/zero", "rb") as zeros:
            feed = subprocess.Popen(["cat"], stdin=zeros, stdout=subprocess.PIPE)
        self.addCleanup(feed.stdout.close)
        self.addCleanup(feed.kill)
        done = self.run_command("-i", "-", "--in-format", "flac", "-o", "out.wav", env=environment, stdin=feed.stdout)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"\Afilterchain: standard input: brings more than the [0-9.]+ MB that may be kept of it "
                                      r"in a temporary file \(set TMPDIR to a larger disk\)\n\Z")
        self.assertEqual(os.listdir(self.path("disk")), [])

    def test_a_long_report(self):
        """Its text goes to a temporary file; where that has no room the rest stays in memory, after one attempt."""
        os.mkdir(self.path("many"))
        for i in range(160):
            harness.write_png(self.path(f"many/{i:03}.png"), [[i] * 24] * 8, 3)

        def report(folder):
            os.makedirs(self.path(folder), exist_ok=True)
            before = written()
            done = self.run_command("-i", "many", "-p", "histogram", "--report", f"{folder}.json", "-j", "1",
                                    env={**harness.fixed_environment(), "TMPDIR": self.path(folder)})
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            with open(self.path(f"{folder}.json"), encoding="utf-8") as file:
                files = json.load(file)["files"]
            self.assertEqual(os.listdir(self.path(folder)), [])
            return [(f["input"], f["measurements"]) for f in files], written() - before

        self.tmpfs("small", 3 << 19)
        roomy, small = report("roomy"), report("small")
        self.assertEqual((len(small[0]), small[0]), (160, roomy[0]))
        self.assertGreater(os.stat(self.path("roomy.json")).st_size, 2 << 20)
        self.assertLess(small[1], roomy[1])


class MountPoints(Places):
    def bind(self, name, content=OLD):
        """A file of a small disk that is mounted over another file: nothing can be renamed over it."""
        self.tmpfs("disk")
        self.write("disk/" + name, content)
        self.write(name, "")
        self.mount("--bind", self.path("disk/" + name), name=name)

    def test_a_file_that_is_one(self):
        self.bind("out.wav", OLD * 9000)
        self.succeed("-i", "in.wav", "-p", "gain:0.5", "-o", "out.wav")
        self.succeed("-i", "in.wav", "-p", "gain:0.5", "-o", "want.wav")
        self.assertEqual(self.read("out.wav"), self.read("want.wav"))
        self.assertTrue(os.path.ismount(self.path("out.wav")))
        self.assertNotIn(".filterchain", " ".join(self.files()))

    def test_onto_the_input(self):
        self.bind("both.wav", self.read("in.wav"))
        self.succeed("-i", "both.wav", "-p", "gain:0.5", "-o", "both.wav")
        self.succeed("-i", "in.wav", "-p", "gain:0.5", "-o", "want.wav")
        self.assertEqual(self.read("both.wav"), self.read("want.wav"))

    def test_no_clobber(self):
        self.bind("out.wav")
        self.assertRegex(self.fails(1, "-i", "in.wav", "-n", "-o", "out.wav"), r"\Aout\.wav: exists already")
        self.assertEqual(self.read("out.wav"), OLD)

    def test_a_full_disk_behind_it(self):
        """The space is reserved before the old content is touched."""
        self.bind("out.wav")
        for left in (0, 3):
            filler = self.fill_up("disk", left)
            line = self.fails(1, "-i", "in.wav", "-o", "out.wav")
            self.assertRegex(line, r"\Aout\.wav: cannot be put in place: No space left on device")
            self.assertEqual(self.read("out.wav"), OLD)
            os.remove(filler)
        self.assertNotIn(".filterchain", " ".join(self.files()))

    def test_read_only(self):
        self.tmpfs("disk")
        self.write("disk/out.wav", OLD)
        subprocess.run(["mount", "-o", "remount,bind,ro", self.path("disk")], check=True)
        for name in ("out.wav", "new.wav"):
            self.assertRegex(self.fails(1, "-i", "in.wav", "-o", "disk/" + name), r"Read-only file system\Z")
        self.assertEqual(self.read("disk/out.wav"), OLD)
        self.assertEqual(os.listdir(self.path("disk")), ["out.wav"])


class People(Places):
    def test_a_superuser_keeps_owner_and_mode(self):
        self.superuser()
        self.own("out.wav", STRANGER, 0o640)
        self.succeed("-i", "in.wav", "-o", "out.wav")
        info = os.stat(self.path("out.wav"))
        self.assertEqual((info.st_uid, info.st_gid, stat.S_IMODE(info.st_mode)), (STRANGER, STRANGER, 0o640))
        self.assertNotEqual(self.read("out.wav"), OLD)

    def test_what_belongs_to_another_loses_his_rights(self):
        """Who may write a file and its folder, but not give the new one its owner: no set-id bit of
        the old owner's comes to stand on the new file, and another group may no more than anybody."""
        self.superuser()
        os.chmod(self.folder, 0o777)
        self.own("out.wav", OTHER, 0o6762)
        self.by_stranger("-i", "in.wav", "-o", "out.wav")
        info = os.stat(self.path("out.wav"))
        self.assertEqual((info.st_uid, info.st_gid, stat.S_IMODE(info.st_mode)), (STRANGER, STRANGER, 0o722))
        self.assertNotEqual(self.read("out.wav"), OLD)

    def test_a_sticky_folder(self):
        """Only its owner may rename over a file there: the content is replaced, the owner stays."""
        self.superuser()
        os.mkdir(self.path("sticky"))
        os.chmod(self.path("sticky"), 0o1777)
        self.own("sticky/out.wav", OTHER, 0o666)
        self.by_stranger("-i", "in.wav", "-o", "sticky/out.wav")
        self.succeed("-i", "in.wav", "-o", "want.wav")
        self.assertEqual(self.read("sticky/out.wav"), self.read("want.wav"))
        self.assertEqual(os.stat(self.path("sticky/out.wav")).st_uid, OTHER)
        self.assertEqual(os.listdir(self.path("sticky")), ["out.wav"])

    def test_a_closed_folder(self):
        self.superuser()
        os.mkdir(self.path("closed"))
        self.own("closed/out.wav", OTHER, 0o666)
        os.chmod(self.path("closed"), 0o755)
        self.by_stranger("-i", "in.wav", "-o", "closed/out.wav")
        self.succeed("-i", "in.wav", "-o", "want.wav")
        self.assertEqual(self.read("closed/out.wav"), self.read("want.wav"))

    def test_what_may_not_be_written(self):
        """A file of somebody else's is not replaced behind his back, though its folder would allow it; nor is one made in
        a folder that does not, which is found out before anything is read."""
        self.superuser()
        os.chmod(self.folder, 0o777)
        self.own("out.wav", OTHER, 0o644)
        os.mkdir(self.path("closed"))
        os.chmod(self.path("closed"), 0o755)
        for out, said in (("out.wav", "cannot be written"), ("closed/new.wav", "cannot be created")):
            for dry in ([], ["--dry-run"]):
                line = self.fails(1, "-i", "in.wav", "-o", out, *dry, user=STRANGER, group=STRANGER, extra_groups=[])
                self.assertEqual(line, f"{out}: {said}: Permission denied")
        self.assertEqual(self.read("out.wav"), OLD)
        self.assertEqual(self.files(), ["in.png", "in.wav", "out.wav"])

    def test_reports_keep_a_mode(self):
        """What was private, or open to others, stays so."""
        for flag in ("--report", "--trace"):
            for mode in (0o600, 0o666, 0o640):
                self.write("side.json", OLD)
                os.chmod(self.path("side.json"), mode)
                self.succeed("-i", "in.wav", "-o", "out.wav", flag, "side.json")
                self.assertNotEqual(self.read("side.json"), OLD)
                self.assertEqual(stat.S_IMODE(os.stat(self.path("side.json")).st_mode), mode, flag)

    def test_umask(self):
        for mask, mode in ((0o022, 0o644), (0o077, 0o600), (0o002, 0o664)):
            done = subprocess.run(["sh", "-c", f'umask {mask:o}; exec "$0" "$@"', harness.COMMAND, "-i", "in.wav",
                                   "-o", "out.wav"], cwd=self.folder, env=harness.fixed_environment(), check=False)
            self.assertEqual(done.returncode, 0)
            self.assertEqual(stat.S_IMODE(os.stat(self.path("out.wav")).st_mode), mode)
            os.remove(self.path("out.wav"))


class Pipes(Places):
    def drain(self, name, most=-1):
        """Reads a named pipe in a thread; the list it returns holds what came."""
        got = []

        def read():
            with open(self.path(name), "rb") as pipe:
                got.append(pipe.read(most))
        thread = threading.Thread(target=read)
        thread.start()
        self.addCleanup(thread.join)
        return thread, got

    def test_a_named_pipe(self):
        """Formats whose header is written last come by way of a temporary; the pipe stays one."""
        for ending in SOUND:
            os.mkfifo(self.path("pipe." + ending))
            thread, got = self.drain("pipe." + ending)
            self.succeed("-i", "in.wav", "-o", "pipe." + ending)
            thread.join(harness.PATIENCE)
            self.assertTrue(stat.S_ISFIFO(os.stat(self.path("pipe." + ending)).st_mode))
            self.write("got." + ending, got[0])
            if ending in ("raw", "npy"):
                self.assertEqual(got[0][-80000:], self.read("in.wav")[-80000:])
            else:
                self.succeed("-i", "got." + ending, "-o", "back.wav")
                self.assertEqual(len(harness.read_wav(self.path("back.wav"))[0]), 40000, ending)

    @staticmethod
    def read_slowly(end, got):
        while not got or got[-1]:
            time.sleep(0.002)
            got.append(os.read(end, 30000))

    def test_pipes_that_do_not_block(self):
        """Whoever is at the other end may have made them so, and takes his time: in and out, and into a temporary."""
        samples = self.read("in.wav")[-80000:] * 10
        for kind in ("raw", "caf"):
            (read_in, write_in), (read_out, write_out) = os.pipe(), os.pipe2(os.O_NONBLOCK)
            os.set_blocking(read_in, False)
            run = subprocess.Popen([harness.COMMAND, "-i", "-", "--raw", "dtype=i16,rate=48000,channels=2", "-o", "-", "--format", kind],
                                   cwd=self.folder, env=harness.fixed_environment(), stdin=read_in, stdout=write_out,
                                   stderr=subprocess.PIPE)
            for end in (read_in, write_out):
                os.close(end)
            os.set_blocking(read_out, True)
            got = []
            drain = threading.Thread(target=self.read_slowly, args=(read_out, got))
            drain.start()
            for at in range(0, len(samples), 50000):
                time.sleep(0.005)
                os.write(write_in, samples[at:at + 50000])
            os.close(write_in)
            self.assertEqual((run.communicate(timeout=harness.PATIENCE)[1], run.returncode), (b"", 0))
            drain.join(harness.PATIENCE)
            os.close(read_out)
            self.write("got." + kind, b"".join(got))
            if kind == "caf":
                self.succeed("-i", "got.caf", "-o", "got.raw")
            self.assertEqual(self.read("got.raw"), samples)

    def test_standard_input_from_the_middle(self):
        """Somebody has read the beginning of the file: what is there from here on."""
        for name, ahead in (("in.wav", 7), ("in.png", 4096)):
            self.write("behind", b"x" * ahead + self.read(name))
            self.succeed("-i", name, "-o", "want.npy")
            with open(self.path("behind"), "rb", buffering=0) as file:
                file.seek(ahead)
                self.succeed("-i", "-", "-o", "out.npy", stdin=file)
            self.assertEqual(self.read("out.npy"), self.read("want.npy"))

    def test_a_reader_that_goes_away(self):
        """Whoever closed the pipe knows: 128 + SIGPIPE and no word; said where SIGPIPE is ignored."""
        long = array.array("h", bytes(4000000))
        harness.write_wav(self.path("long.wav"), long, 2)
        for ignored in (False, True):
            read_end, write_end = os.pipe()
            run = subprocess.Popen([harness.COMMAND, "-i", "long.wav", "-o", "-", "--format", "wav"], cwd=self.folder,
                                   env=harness.fixed_environment(), stdout=write_end, stderr=subprocess.PIPE,
                                   restore_signals=not ignored)
            os.close(write_end)
            os.read(read_end, 100)
            os.close(read_end)
            stderr = run.communicate(timeout=harness.PATIENCE)[1].decode()
            if ignored and run.returncode == 1:
                self.assertRegex(stderr, r"\Afilterchain: standard output: [^\n]*: Broken pipe\n\Z")
            else:
                self.assertEqual((run.returncode, stderr), (128 + signal.SIGPIPE, ""))

    def test_closed_standard_output(self):
        done = subprocess.run(["sh", "-c", '"$0" "$@" >&-', harness.COMMAND, "-i", "in.wav", "-o", "-", "--format", "wav"],
                              cwd=self.folder, env=harness.fixed_environment(), stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr.decode(), r"\Afilterchain: standard output: [^\n]*Bad file descriptor\n\Z")
        self.assertEqual(self.files(), ["in.png", "in.wav"])

    def test_standard_output_that_is_the_input(self):
        """A shell that opens the input for writing: what is read would be overwritten meanwhile."""
        before = self.read("in.wav")
        for source, name, redirection in (("in.wav", "in.wav", "1<>in.wav"), ("in.wav", "in.wav", ">>in.wav"),
                                          ("-", "standard input", "<in.wav >>in.wav")):
            for out in ("-", "/dev/stdout", "/dev/fd/1"):
                done = subprocess.run(["sh", "-c", f'"$0" "$@" {redirection}', harness.COMMAND, "-i", source, "-o", out,
                                       "--format", "wav"], cwd=self.folder, env=harness.fixed_environment(),
                                      stderr=subprocess.PIPE, check=False)
                self.assertEqual((done.returncode, self.read("in.wav") == before), (2, True), (redirection, out))
                self.assertEqual(done.stderr.decode(), f"filterchain: {name}: is also what {out} writes into: "
                                 "name it with -o to have it replaced\n")


class Devices(Places):
    def test_a_device_stays_one(self):
        try:
            os.mknod(self.path("null.wav"), 0o666 | stat.S_IFCHR, os.makedev(1, 3))
            os.mknod(self.path("full.wav"), 0o666 | stat.S_IFCHR, os.makedev(1, 7))
            open(self.path("full.wav"), "wb").close()
        except OSError:
            self.skipTest("no devices can be made here")
        before = self.files()
        self.succeed("-i", "in.wav", "-o", "null.wav")
        self.succeed("-i", "in.wav", "-n", "-o", "null.wav")
        for ending in SOUND:
            line = self.fails(1, "-i", "in.wav", "-o", "full.wav", "--format", ending)
            self.assertRegex(line, r"\Afull\.wav: .*No space left on device")
        for name in ("null.wav", "full.wav"):
            self.assertTrue(stat.S_ISCHR(os.stat(self.path(name)).st_mode))
        self.assertEqual(self.files(), before)


if __name__ == "__main__":
    harness.main()
