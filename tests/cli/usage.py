#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The command line itself: help, versions, options mistyped, forgotten, repeated."""
import os
import re
import subprocess

import harness


class Help(harness.Case):
    def test_help_of_each_command(self):
        for command in ([], ["list"], ["inspect"], ["completion"]):
            for option in ("-h", "--help"):
                text = self.succeed(*command, option)
                self.assertTrue(text.startswith("usage: filterchain " + "".join(command)), text)

    def test_help_wins_over_the_rest_of_the_line(self):
        self.assertIn("usage:", self.succeed("-i", "nowhere.wav", "--help"))

    def test_no_line_of_help_is_too_wide(self):
        for command in ([], ["list"], ["inspect"], ["formats"], ["plot"], ["design"], ["completion"], ["bench"], ["new"], ["check"]):
            for line in self.succeed(*command, "--help").splitlines():
                self.assertLessEqual(len(line), 80, line)

    def test_what_is_joined_on_the_cpu_is_in_the_help(self):
        """Also of a build without CUDA: --fuse no changes what --dry-run shows there, for recursive filters side by side."""
        self.assertIn("--fuse auto|no|wait|algebra", self.succeed("--help"))
        chain = ("-i", os.path.join(harness.SOURCE, "examples", "speech.wav"), "-p", "biquad:highpass:freq=80", "-p", "equalizer:300:gain=3dB", "-o", "o.wav", "--dry-run")
        self.assertNotEqual(self.succeed(*chain), self.succeed(*chain, "--fuse", "no"))

    def test_version(self):
        self.assertRegex(self.succeed("--version"), r"\Afilterchain \d+\.\d+\.\d+ \((CPU only|CPU and CUDA)\), JPEG by \S.*\n\Z")

    def test_the_manual_page_names_every_option(self):
        options = set(re.findall(r"--[a-z-]+", self.succeed("--help") + self.succeed("plot", "--help")))
        with open(os.path.join(harness.SOURCE, "cli", "man", "filterchain.1"), encoding="utf-8") as file:
            manual = file.read().replace("\\-", "-")
        self.assertEqual(options - set(re.findall(r"--[a-z-]+", manual)), set())
        self.assertLessEqual(set(re.findall(r"--[a-z-]+", manual)) - options, {"--device", "--decode", "--lang", "--cuda"})  # not in this help, or not without CUDA

    def test_manual_pages_mark_what_needs_cuda(self):
        """They are the same whatever was built."""
        for page in ("filterchain.1", "filterchain-plugin.7"):
            with open(os.path.join(harness.SOURCE, "cli", "man", page), encoding="utf-8") as file:
                for entry in re.split(r"\n\.(?:TP|SS|SH|PP)", file.read()):
                    if re.search(r"\b(GPUs?|CUDA)\b|\bdevices?\b", entry):
                        self.assertRegex(entry, "(?i)with CUDA", page)

    def test_a_build_without_cuda_does_not_speak_of_a_gpu(self):
        if "CPU only" not in self.succeed("--version"):
            self.skipTest("a build with CUDA")
        sound = os.path.join(harness.SOURCE, "examples", "speech.wav")
        chain = ("-i", sound, "-p", "fir:lowpass=3k:taps=1023", "-o", "out.wav")
        told = [self.succeed(*chain, "--dry-run"), self.run_command(*chain, "-v").stderr, self.succeed("check", "--list")]
        told += [self.succeed(*command, "--help") for command in ([], ["bench"], ["check"], ["new"], ["plot"], ["design"])]
        told += [self.succeed("inspect", op["name"]) for op in harness.operators()] + [self.succeed("completion", shell) for shell in ("bash", "fish", "zsh")]
        for text in told:
            self.assertNotRegex(text, r"(?i)\b(gpus?|cuda|devices?)\b")
        self.assertEqual(self.fails(2, *chain, "--device", "gpu"), 'unknown device "gpu": expected auto or cpu')


class Mistakes(harness.Case):
    def expect(self, line, *arguments):
        self.assertEqual(self.fails(2, *arguments), line, arguments)

    def test_nothing_asked(self):
        self.expect("no input: give one with -i FILE (see filterchain --help)")

    def test_unknown_command(self):
        self.expect('no command "lst": did you mean "list"?', "lst")
        for word in ("in.wav", "gain"):
            self.expect(f'no command "{word}"; files are named with -i and -o, operators with -p (see filterchain --help)', word)

    def test_several_stages_as_one(self):
        for text in ("gain|clip", "gain;clip:0.9", "gain, clip"):
            name = text.split(":")[0]
            self.expect(f'no operator "{name}": did you mean stages of their own, "gain" and "clip"?', "-i", "in.wav", "-p", text, "-o", "out.wav")

    def test_addresses(self):
        url = "http://example.org/in.wav"
        self.expect(f'"{url}" is an address, not a file: download it first, or pipe it in, as in curl -s URL | filterchain -i -',
                    "-i", url, "-o", "out.wav")
        self.expect(f'"{url}" is an address, not a file: pipe the output, -o -, to a program that sends it', "-p", "tone:sine", "-o", url)

    def test_a_side_of_nothing(self):
        for size, said in (("0x5", "0x5 has a 0, which"), ("0x10", "0x10 has a 0, which"), ("5x0", "0")):
            self.expect(f"crop: size: {said} is out of range: expected 1 to 2147483647 pixels", "-i", "in.png", "-p", f"crop:{size}", "-o", "out.png")

    def test_help_of_something(self):
        self.assertEqual(self.succeed("help", "list"), self.succeed("list", "--help"))
        self.assertEqual(self.succeed("help", "gain"), self.succeed("inspect", "gain"))
        self.assertEqual(self.succeed("help", "bench"), self.succeed("bench", "--help"))
        self.assertEqual(self.succeed("help", "--help"), self.succeed("--help"))
        self.expect('no operator "gian": did you mean "gain"?', "help", "gian")

    def test_a_design_without_a_rate(self):
        self.expect("--rate is missing: fir: the sample rate is not known, so frequencies cannot be used", "design", "-p", "fir:lowpass=1k")

    def test_unknown_option(self):
        self.expect('no option "--dryrun": did you mean "--dry-run"?', "--dryrun")
        self.expect('no option "--ouput": did you mean "--output"?', "--ouput=x.wav")
        self.expect('no option "--zzz" (see filterchain --help)', "--zzz")
        self.expect('no option "-z" (see filterchain --help)', "-z")

    def test_an_option_of_another_command(self):
        self.expect('no option "-i" (see filterchain --help)', "list", "-i", "x.wav")

    def test_forgotten_value(self):
        self.expect("--output needs a value: FILE", "-i", "in.wav", "-o")
        self.expect("--output needs a value: FILE", "-i", "in.wav", "-o", "--dry-run")
        self.expect("--report: an empty value", "-i", "in.wav", "--report=")

    def test_value_for_a_flag(self):
        self.expect("--sync takes no value", "--sync=yes")

    def test_repeated(self):
        self.expect("--output is given twice", "-i", "in.wav", "-o", "a.wav", "-o", "b.wav")
        self.expect("--chunk is given twice", "--chunk", "1", "--chunk=2")

    def test_numbers(self):
        self.expect('--threads: expected a number, found "many"', "-j", "many")
        self.expect('--max-memory: expected a number of MB, found "2GB"', "--max-memory", "2GB")
        self.expect("--threads: 0 is not within 1 to 4096", "-j0")
        self.expect("--chunk: 0 is too small", "--chunk", "0")
        self.expect("--chunk: 99999999999999999999 is too large", "--chunk", "99999999999999999999")

    def test_choices(self):
        self.expect('--precision: "f16" is not one of f32|f64', "--precision", "f16")
        self.expect('--progress: "yes" is not one of auto|none|json', "--progress=yes")

    def test_contradictions(self):
        self.expect("--quiet and --verbose contradict each other", "-qv")
        self.expect("--json and -o - would both write to standard output: use --report FILE",
                    "-i", "a.wav", "-o", "-", "--json")
        self.expect("standard input cannot be part of a batch: give -i - alone", "-i", "-", "-i", "a.wav", "-o", ".")

        self.expect("--trace records a single run: give one input", "-i", "a.wav", "-i", "b.wav", "-o", ".", "--trace", "t.json")

    def test_operands(self):
        self.expect('unexpected "b.wav": inputs are named with -i, operators with -p, the output with -o',
                    "-i", "a.wav", "-q", "b.wav")
        self.expect("list takes no operand; one operator is explained by filterchain inspect conv1d", "list", "conv1d")
        self.expect("inspect needs the name of an operator or a plugin's file (see filterchain list)", "inspect")
        self.expect("completion scripts are written for one shell: filterchain completion bash, zsh or fish", "completion", "tcsh")

    def test_outputs(self):
        self.expect("no output: give one with -o FILE (it may be left out only if an operator measures)", "-i", "a.wav")
        self.expect("out: several inputs need -o to name a folder (out/ is made), or a pattern with {stem}; --concat joins sounds",
                    "-i", "a.wav", "b.wav", "-o", "out")
        self.expect("{stem}.npy is a pattern, and standard input has no name to keep: give -o FILE", "-i", "-", "-o", "{stem}.npy")
        self.expect("x/a.wav and y/a.flac would both be written to a.npy", "-i", "x/a.wav", "y/a.flac", "-o", "{stem}.npy")
        os.mkdir(self.path("out"))
        self.expect("x/a.wav and y/a.wav would both be written to out/a.wav",
                    "-i", "x/a.wav", "-i", "y/a.wav", "-o", "out")
        self.expect("out is a folder, and standard input has no name to keep: give -o FILE", "-i", "-", "-o", "out")
        self.expect("--report would overwrite b.wav", "-i", "a.wav", "-o", "b.wav", "--report", "b.wav")
        self.expect("--trace would overwrite a.wav", "-i", "a.wav", "-o", "b.wav", "--trace", "a.wav")
        self.expect("--report would overwrite ./b.wav", "-i", "a.wav", "-o", "b.wav", "--report", "./b.wav")
        self.expect("--report and --trace would both write r.json", "-i", "a.wav", "-o", "b.wav",
                    "--report", "r.json", "--trace", "./r.json")
        self.expect("--trace -: standard output is used already: name a file",
                    "-i", "a.wav", "-o", "-", "--format", "wav", "--trace", "-")
        self.assertEqual(self.files(), [])


class Spelling(harness.Case):
    """The same options in other words."""

    def test_joined_and_attached(self):
        plain = self.fails(1, "-n", "-v", "-j", "2", "-i", "no.wav", "-o", "out.wav")
        self.assertEqual(self.fails(1, "-nvj2", "-ino.wav", "-oout.wav"), plain)
        self.assertEqual(self.fails(1, "--no-clobber", "--verbose", "--threads=2", "--input=no.wav", "--output", "out.wav"),
                         plain)

    def test_double_dash_ends_options(self):
        self.assertIn('unexpected "--sync"', self.fails(2, "-i", "a.wav", "-q", "--", "--sync"))


class Stdout(harness.Case):
    def test_a_full_disk_is_an_error(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full here")
        with open("/dev/full", "wb") as full:
            done = subprocess.run([harness.COMMAND, "--help"], stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, b"filterchain: standard output: No space left on device\n")

    def test_told_once(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full here")
        harness.write_wav(self.path("in.wav"), harness.tone(100))
        for how in (["--json"], ["--report", "-"], []):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([harness.COMMAND, "-i", "in.wav", "-p", "stats", *how], cwd=self.folder, stdout=full,
                                      env=harness.fixed_environment(), stderr=subprocess.PIPE, check=False)
            self.assertEqual((done.returncode, done.stderr), (1, b"filterchain: standard output: No space left on device\n"), how)


class Batch(harness.Case):
    """No result takes the place of another, of another one's input or of what the chain is made of, by any name."""

    def setUp(self):
        super().setUp()
        os.mkdir(self.path("out"))
        for name, value in (("a.png", 200), ("b.png", 60)):
            harness.write_png(self.path(name), [[value] * 4] * 4, 1)

    def refused(self, said):
        before = {name: self.read(name) for name in ("a.png", "b.png")}
        line = self.fails(2, "-i", "a.png", "-i", "b.png", "-p", "gain:0.5", "-o", "out")
        self.assertEqual(line, said)
        self.assertEqual({name: self.read(name) for name in ("a.png", "b.png")}, before)

    def test_links(self):
        os.symlink("../b.png", self.path("out/a.png"))
        self.refused("a.png would be written to out/a.png, which is b.png")
        os.unlink(self.path("out/a.png"))
        os.link(self.path("b.png"), self.path("out/a.png"))
        self.refused("a.png would be written to out/a.png, which is b.png")
        os.unlink(self.path("out/a.png"))
        for there in (False, True):  # a link may lead to nothing yet
            for name in ("a.png", "b.png"):
                os.symlink("same.png" if name == "a.png" else "./same.png", self.path("out/" + name))
            if there:
                self.write("out/same.png", b"old")
            self.refused("a.png and b.png would both be written to one file: out/b.png is out/a.png")
            for name in ("a.png", "b.png"):
                os.unlink(self.path("out/" + name))

    def test_in_place(self):
        self.succeed("-i", "a.png", "-i", "b.png", "-p", "gain:0.5", "-o", ".")
        self.succeed("-i", "a.png", "-i", "b.png", "-o", "out")
        for name, value in (("a.png", 100), ("b.png", 30)):
            self.succeed("-i", "out/" + name, "-o", "x.npy")
            self.assertEqual(self.read("x.npy")[-16:], bytes([value]) * 16)

    def test_tables(self):
        self.write("mask.txt", "1 2 1\n")
        os.symlink("mask.txt", self.path("link.txt"))
        chain = ("-i", "a.png", "-p", "sepconv:mask.txt")
        for flag in ("--report", "--trace"):
            self.assertEqual(self.fails(2, *chain, "-o", "x.png", flag, "./link.txt"), f"{flag} would overwrite mask.txt")
        self.assertEqual(self.fails(2, *chain, "-o", "link.txt", "--format", "png"),
                         "a.png would overwrite link.txt, which the chain reads")
        self.assertEqual(self.read("mask.txt"), b"1 2 1\n")

    def test_a_cut_table(self):
        """Is none: there is nothing to allow."""
        harness.write_wav(self.path("mask.wav"), harness.tone(100))
        self.succeed("-i", "mask.wav", "-o", "mask.npy")
        for name in ("mask.npy", "mask.wav"):
            self.write(name, self.read(name)[:-3])
            line = self.fails(1, "-i", "a.png", "-p", "sepconv:" + name, "-o", "x.png", "--allow-truncated")
            self.assertRegex(line, r"is cut off: [^;]*\Z")

    def test_no_folder_of_plugins(self):
        self.assertEqual(self.fails(2, "list", "--plugin-dir", "nowhere"), "--plugin-dir nowhere: is not a folder")

    def test_raw_layouts_that_contradict_themselves(self):
        for layout, said in (("dtype=u8,width=7,height=1,width=8", "raw layout: width is given twice"),
                             ("dtype=u8,rate=8000,width=7,height=1", "raw layout: rate is of a sound, width and height are of images")):
            self.assertIn(said, self.fails(2, "-i", self.write("in.raw", bytes(70)), "--raw", layout, "-o", "x.npy"))


if __name__ == "__main__":
    harness.main()
