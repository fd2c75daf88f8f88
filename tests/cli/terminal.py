#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Signals, and what is seen on a terminal while work goes on. The work is an input that
arrives slowly through a pipe, so that no test waits for a fast machine."""
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import time

import harness

RATE = 48000


def slow_header(frames):
    """The head of a 16-bit mono WAV file of so many frames."""
    size = frames * 2
    return (b"RIFF" + struct.pack("<I", 36 + size) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, RATE, 2 * RATE, 2, 16)
            + b"data" + struct.pack("<I", size))


class Running(harness.Case):
    """filterchain at work on a file that a pipe delivers as the test sees fit."""

    def start(self, *options, stderr=subprocess.PIPE, frames=100 * RATE, **settings):
        process = subprocess.Popen([harness.COMMAND, "-i", "-", "-p", "conv1d:[1,2,1]/4", "-o", "out.wav",
                                    "--device", "cpu", "--chunk", "4096", *options], cwd=self.folder,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
                                   env=harness.fixed_environment(), **settings)
        self.addCleanup(self.end, process)
        process.stdin.write(slow_header(frames))
        process.stdin.flush()
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                try:
                    stream.close()
                except BrokenPipeError:
                    pass
        process.wait()

    def feed(self, process, frames):
        process.stdin.write(bytes(2 * frames))
        process.stdin.flush()

    def wait_for_output(self, process):
        """Until the temporary file beside the output is there."""
        for _ in range(20000):
            if len(os.listdir(self.folder)) > 0:
                return
            self.assertIsNone(process.poll(), "ended too early")
            time.sleep(0.01)
        self.fail("no temporary file appeared")


class Signals(Running):
    def check_stopped(self, process, number):
        said = process.stderr.read().decode()
        self.assertEqual(process.wait(harness.PATIENCE), 128 + number, said)
        self.assertEqual(os.listdir(self.folder), [], said)
        return said

    def test_each_signal_unwinds(self):
        """And says so, unless a machine that is busy takes two seconds for it."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            said = ""
            for _ in range(10):
                said = said or self.stopped_at_work(number)
            self.assertEqual(said, f"filterchain: stopped by {number.name}; the output is unchanged\n")

    def stopped_at_work(self, number):
        """What a run says that gets this signal, and then more input."""
        process = self.start()
        self.feed(process, 3 * 4096)
        self.wait_for_output(process)
        process.send_signal(number)
        time.sleep(0.1)
        try:
            self.feed(process, 10 * 4096)
        except BrokenPipeError:
            pass  # it has gone already
        return self.check_stopped(process, number)

    def test_waiting_for_input_forever(self):
        """Nothing more comes, so that the run cannot unwind: it is ended after two seconds."""
        process = self.start()
        self.feed(process, 3 * 4096)
        self.wait_for_output(process)
        begun = time.monotonic()
        process.send_signal(signal.SIGTERM)
        self.check_stopped(process, signal.SIGTERM)
        self.assertLess(time.monotonic() - begun, 60)

    def test_a_second_signal_is_obeyed_at_once(self):
        """And not after two seconds, as the first one alone; a machine that is busy may take as long, but not always."""
        taken = []
        while len(taken) < 20 and min(taken, default=9) > 1.5:
            process = self.start()
            self.feed(process, 3 * 4096)
            self.wait_for_output(process)
            begun = time.monotonic()
            process.send_signal(signal.SIGINT)
            time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            self.check_stopped(process, signal.SIGINT)
            taken.append(time.monotonic() - begun)
        self.assertLess(min(taken), 1.5)

    def test_an_old_output_survives(self):
        self.write("out.wav", "old")
        process = self.start()
        self.feed(process, 3 * 4096)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        process.wait(harness.PATIENCE)
        self.assertEqual((self.files(), self.read("out.wav")), (["out.wav"], b"old"))

    def test_an_ignored_hangup_stays_ignored(self):
        process = self.start(frames=8192, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.feed(process, 4096)
        process.send_signal(signal.SIGHUP)
        self.feed(process, 4096)
        process.stdin.close()
        self.assertEqual(process.wait(harness.PATIENCE), 0, process.stderr.read())

    def test_a_closed_pipe(self):
        harness.write_wav(self.path("in.wav"), harness.tone(2000000))
        process = subprocess.Popen([harness.COMMAND, "-i", "in.wav", "-o", "-", "--format", "au"], cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=harness.fixed_environment())
        process.stdout.read(10)
        process.stdout.close()
        said = process.stderr.read().decode()
        process.stderr.close()
        self.assertEqual((process.wait(harness.PATIENCE), said, self.files()), (128 + signal.SIGPIPE, "", ["in.wav"]))


    def test_a_table_nobody_reads(self):
        harness.write_wav(self.path("in.wav"), harness.tone(100))
        read_end, write_end = os.pipe()
        os.close(read_end)
        done = subprocess.run([harness.COMMAND, "-i", "in.wav", "-p", "stats"], cwd=self.folder, stdout=write_end,
                              stderr=subprocess.PIPE, env=harness.fixed_environment(), check=False)
        os.close(write_end)
        self.assertEqual((done.returncode, done.stderr), (128 + signal.SIGPIPE, b""))


class Input(Running):
    def test_a_terminal(self):
        """Nobody types a sound; the prompt would wait without end."""
        try:
            master, slave = pty.openpty()
        except OSError as error:
            self.skipTest(f"no pseudo-terminals here: {error}")
        line = self.fails(2, "-i", "-", "-o", "out.wav", stdin=slave, timeout=harness.SOON)
        os.close(slave)
        os.close(master)
        self.assertEqual(line, "standard input: is a terminal; name a file or pipe one in")


class Progress(Running):
    def test_json(self):
        process = self.start("--progress", "json", frames=20000)
        self.feed(process, 20000)
        process.stdin.close()
        lines = [json.loads(line) for line in process.stderr.read().splitlines()]
        self.assertEqual(process.wait(harness.PATIENCE), 0)
        self.assertTrue(lines)
        self.assertEqual([line["file"] for line in lines], ["-"] * len(lines))
        self.assertEqual((lines[-1]["done"], lines[-1]["complete"]), (20000, True))
        self.assertEqual(sorted(line["done"] for line in lines), [line["done"] for line in lines])

    def test_nothing_where_nobody_looks(self):
        process = self.start(frames=60000)
        for _ in range(15):
            self.feed(process, 4000)
            time.sleep(0.1)
        process.stdin.close()
        self.assertEqual((process.stderr.read(), process.wait(harness.PATIENCE)), (b"", 0))

    def watch(self, *options, pause):
        """What a terminal sees while 24 feeds come with a pause between them."""
        try:
            master, slave = pty.openpty()
        except OSError as error:
            self.skipTest(f"no pseudo-terminals here: {error}")
        process = self.start(*options, stderr=slave, frames=24 * 4096)
        os.close(slave)
        seen = b""
        for _ in range(24):
            self.feed(process, 4096)
            time.sleep(pause)
        process.stdin.close()
        self.assertEqual(process.wait(harness.PATIENCE), 0)
        while select.select([master], [], [], 0.2)[0]:
            try:
                data = os.read(master, 65536)
            except OSError:  # how Linux says that the other side has gone
                break
            if not data:
                break
            seen += data
        os.close(master)
        return seen.decode()

    def test_a_bar_on_a_terminal(self):
        for _ in range(10):  # none is drawn where most of the time passes before the first chunk
            seen = self.watch(pause=0.1)
            if seen:
                break
        self.assertRegex(seen, r"\[#*\.*\] +\d+%  [\d.]+( [kM])?/s  \d+:\d\d left")
        self.assertTrue(seen.endswith("\r\x1b[K"), repr(seen[-40:]))
        for line in re.split(r"\r(?:\x1b\[K)?", seen):
            self.assertLess(len(line), 80)

    def test_no_bar_for_short_work(self):
        for _ in range(5):
            begun = time.monotonic()
            seen = self.watch(pause=0.0)
            if time.monotonic() - begun < 1:
                self.assertEqual(seen, "")
                return
        self.skipTest("what is short takes over a second here")

    def test_no_bar_when_quiet(self):
        self.assertEqual(self.watch("-q", pause=0.1), "")


if __name__ == "__main__":
    harness.main()
