#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tasks of a new user's first ten minutes, with only the README: on the command line, with an operator of one's own, and in
Python. Each ends in a result, or in a line that says what to do instead; where such a line names a command or a stage, that
is tried too. tests/cli/readme.py runs the README's own commands, describe.py those of inspect."""
import json
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys

import harness


class FirstContact(harness.Case):
    def setUp(self):
        super().setUp()
        for name in ("speech.wav", "picture.png", "mask.txt"):
            shutil.copy(os.path.join(harness.SOURCE, "examples", name), self.path(name))

    def warns(self, pattern, *arguments):
        done = self.run_command(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, pattern)

    def refused(self, pattern, *arguments):
        """One line, status 2."""
        self.assertRegex(self.fails(2, *arguments), pattern)

    # ---- finding out what there is

    def test_what_help_names_is_there(self):
        """./bootstrap demo builds all of it."""
        for command in ("list", "inspect gain", "formats", "bench --help", "check --help", "new --help", "plot --help",
                        "design --help", "completion bash"):
            self.assertIn(command.split()[0], self.succeed("--help"))
            self.assertTrue(self.succeed(*command.split()))

    def test_slips(self):
        self.assertEqual(self.fails(2, "-i", "speech.wav", "-p", "lowpas:3k", "-o", "out.wav"),
                         'no operator "lowpas": did you mean "biquad:lowpass" or "fir:lowpass=3k"?')
        for stage, hint in (("rate:48k", '"resample:RATE"'), ("highpass:80", '"biquad:highpass"'), ("normalize:-1dB", "peak=-1dB"),
                            ("pad:1s", "before=1s or after=1s"), ("crop:0.5s", "start=0.5s or length=0.5s"), ("fade:2s", "in=2s or out=2s"), ("equalizer:100:3dB", "gain=3dB"),
                            ("fir:3k", "lowpass=3k or highpass=3k or bandpass=3k")):
            self.refused(f"did you mean .*{re.escape(hint)}", "-i", "speech.wav", "-p", stage, "-o", "out.wav")
        self.refused("resize: size: 48k is not a number: expected", "-i", "picture.png", "-p", "resize:48k", "-o", "out.png")
        self.refused(r'no operator "blur": see conv2d \(.*\) or gauss \(blur images by a Gaussian\)', "-i", "picture.png", "-p", "blur:3", "-o", "out.png")
        for stage in ("gain:1e39", "gain:800dB"):
            self.refused(rf"gain: gain: {stage[5:]} is too large: the largest number is 3\.4e38", "-i", "speech.wav", "-p", stage, "-o", "out.wav")
        self.warns("-6 is a factor, which also inverts the phase; decibels are written -6dB", "-i", "speech.wav", "-p", "gain:-6", "-o", "out.wav")
        self.refused('no operator "spectogram": did you mean "spectrogram"', "-i", "speech.wav", "-p", "spectogram", "-o", "o.png")
        self.refused('did you mean "--device"', "-i", "speech.wav", "--devise", "cpu", "-o", "out.wav")
        self.refused("no output: give one with -o FILE", "-i", "speech.wav", "-p", "gain:2")

    def test_names_of_other_programs(self):
        """A name that another program has for it leads to the operator; a stage that is suggested can be run."""
        for word, names in (("denoise", ["gate", "median"]), ("reverb", ["conv1d"]), ("volume", ["gain"]), ("volum", ["gain"]), ("scale", ["resize"]),
                            ("grayscale", ["gray"]), ("compressor", ["compand"]), ("echo", ["delay"]), ("unsharp", ["sharpen"])):
            line = self.fails(2, "-i", "speech.wav", "-p", word, "-o", "out.wav")
            self.assertEqual(re.findall(r"(?:see|or) (\w+) \(", line), names, line)
        for word, stages in (("invert", ["gain:-1", "levels:out_black=255:out_white=0"]), ("hflip", ["flip:x"]), ("highpas", ["biquad:highpass", "fir:highpass=80"])):
            self.assertEqual(re.findall(r'(?:mean| or) "([^"]+)"', self.fails(2, "-i", "speech.wav", "-p", word, "-o", "out.wav")), stages)
        for word in ("pitch", "tempo", "frobnicate"):  # nothing does that, and nothing is suggested
            self.assertEqual(self.fails(2, "-i", "speech.wav", "-p", word, "-o", "out.wav"), f'no operator "{word}" (filterchain list shows all)')
        names = {line.split()[0] for line in self.succeed("list").splitlines()}
        stages = 0
        self.succeed("-i", "picture.png", "-p", "layout:chw", "-o", "planes.npy")
        for operator in json.loads(self.succeed("inspect", *sorted(names), "--json")):
            for word, _, stage in (keyword.partition("=") for keyword in operator["keywords"]):
                self.assertNotIn(word, names)
                if not stage:
                    continue
                stages += 1
                with self.subTest(word=word, stage=stage):
                    self.assertIn(f'"{stage}"', self.fails(2, "-i", "speech.wav", "-p", word, "-o", "out.wav"))
                    inputs = [[]] if operator["generator"] else [["-i", "speech.wav", "-p", "mix:0,0"], ["-i", "picture.png"], ["-i", "planes.npy"]]
                    done = [self.run_command(*words, "-p", stage, "-o", "out.npy") for words in inputs]
                    self.assertIn((0, ""), [(one.returncode, one.stderr) for one in done])
        self.assertGreater(stages, 20)

    def test_what_a_beginner_types(self):
        """One line for each, which says what to type instead; that is tried where it is a whole stage."""
        sound, image = ("-i", "speech.wav"), ("-i", "picture.png")
        for arguments, line, instead in (
                ([], "no input: give one with -i FILE", None),
                (["speech.wav", "out.wav"], "files are named with -i and -o", None),
                ([*sound, "-p", "gain", "-o", "out.wav"], 'gain: "gain" is missing: write gain:GAIN, a number', "gain:0.5"),
                ([*sound, "-p", "gain=0.5", "-o", "out.wav"], 'did you mean "gain:0.5"?', "gain:0.5"),
                ([*sound, "-p", "gain 0.5", "-o", "out.wav"], 'did you mean "gain:0.5"?', "gain:0.5"),
                ([*sound, "-p", "gain:loud", "-o", "out.wav"], "gain: gain: \"loud\" is not a finite number: expected a number", None),
                ([*sound, "-p", "conv1d:1,2,1", "-o", "out.wav"], "numbers are written in brackets: [1,2,1]", "conv1d:[1,2,1]/4"),
                ([*sound, "-p", "conv1d:[1", "2", "1]", "-o", "out.wav"], "the value is cut at a blank: put the stage in quotes", "conv1d:[1 2 1]/4"),
                ([*sound, "-p", "fir:lowpass=30000", "-o", "out.wav"], "is not below half the sample rate, 8000 Hz", "fir:lowpass=3000"),
                ([*sound, "-p", "resample:44.1", "-o", "out.wav"], "did you mean 44.1k?", "resample:44.1k"),
                ([*sound, "-p", "trim:10s", "-o", "out.wav"], "the sound ends at 48640, 3.040 s", "trim:1s"),
                ([*sound, "-p", "normalize", "-o", "out.wav"], "give peak, as in normalize:peak=-1dBFS", "normalize:peak=-1dBFS"),
                ([*sound, "-p", "gauss:3", "-o", "out.wav"], "gauss: works on images and arrays, not on audio", None),
                ([*sound, "-o", "out.png"], "sound cannot be stored as an image; use .wav or .npy", None),
                ([*sound, "-o", "speech"], "has no extension to tell a format by", None),
                ([*sound, "-p", "gain:0.5"], "no output: give one with -o FILE", None),
                ([*sound, "-o"], "--output needs a value: FILE", None),
                ([*sound, "--gain", "3", "-o", "out.wav"], 'no option "--gain" (see filterchain --help)', None),
                ([*sound, "-p", "gain:0.5", "-o", "out.wav", "-j", "0"], "--threads: 0 is not within 1 to 4096", None),
                ([*image, "-p", "fir:lowpass=3k", "-o", "out.png"], "fir: works on audio, not on images", None),
                ([*image, "-p", "resize:100*100", "-o", "out.png"], "did you mean 100x100?", "resize:100x100"),
                ([*image, "-p", "crop:1000", "-o", "out.png"], "the image is 320 x 200, smaller than the 1000 x 1000", "crop:100"),
                ([*image, "-p", "rotate:45", "-o", "out.png"], "it turns by 90, 180 or 270 degrees only", "rotate:90"),
                ([*image, "-p", "gauss", "-o", "out.png"], 'gauss: "sigma" is missing: write gauss:SIGMA', "gauss:2"),
                ([*image, "-o", "out.jpg:qualty=20"], 'no option "qualty" of JPEG: there are quality,', None),
                ([*image, "-o", "out.jpg:quality=200"], 'quality: expected 1..100, found "200"', None),
                ([*image, "-o", "out.jpg:quality"], "out.jpg: quality needs a number 1..100, as in quality=92", None),
                ([*image, *sound, "-o", "out.wav"], "several inputs need -o to name a folder", None),
                (["-i", "nowhere.wav", "-o", "out.wav"], "nowhere.wav: cannot be opened: No such file or directory", None),
                (["-i", "*.jpg", "-o", "out/"], "*.jpg: no file matches this pattern", None),
                (["inspect", "nosuch"], 'no operator "nosuch" (filterchain list shows all)', None),
                (["new", "1abc"], "small letters, digits and _, the first a letter", None)):
            with self.subTest(arguments=arguments):
                done = self.run_command(*arguments)
                self.assertIn(done.returncode, (1, 2), done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertIn(line, done.stderr)
                self.assertFalse([name for name in os.listdir(self.folder) if name.startswith("out")])
                if instead:
                    self.succeed(*arguments[:2], "-p", instead, "-o", "good" + arguments[-1][3:])
        self.assertEqual(self.succeed("help"), self.succeed("--help"))

    # ---- sound

    def test_too_loud(self):
        """The warning tells how much, and by how much the gain is to be lowered."""
        self.warns(r"gain: 392 of 48640 values \(0\.81 %\) exceeded the range of i16 and were clipped, the peak by 6\.4 dB: lower the gain by 6\.5 dB",
                   "-i", "speech.wav", "-p", "gain:3", "-o", "out.wav")
        self.warns(r"out.flac: 392 of 48640 values .* 24 bits .* the peak by 6\.4 dB: add gain:-6\.5dB to the chain",
                   "-i", "speech.wav", "-p", "gain:3", "-o", "out.flac:dtype=i24")
        done = self.run_command("-i", "speech.wav", "-p", "gain:3", "-p", "gain:-6.5dB", "-o", "out.wav")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.warns(r"biquad: .*: lower the gain of biquad, or add gain:-\d+\.\ddB to the chain", "-i", "speech.wav", "-p", "biquad:peak:freq=300:gain=30dB", "-o", "out.wav")
        shutil.copy(self.path("speech.wav"), self.path("second.wav"))
        batch = self.run_command("-i", "speech.wav", "second.wav", "-p", "gain:3", "-o", "many/")
        self.assertEqual((batch.returncode, batch.stderr.count("392 of 48640 values")), (0, 2))
        # Where there is no gain to be lowered: what is added is enough.
        self.warns(r"mixin: 61 of .* the peak by 2\.9 dB: add gain:-3\.0dB to the chain", "-i", "speech.wav", "-p", "mixin:second.wav", "-o", "out.wav")
        self.succeed("-i", "speech.wav", "-p", "mixin:second.wav", "-p", "gain:-3.0dB", "-o", "out.wav")
        self.warns(r"write floating point \(-o NAME\.wav:dtype=f32\)", "-i", "speech.wav", "-p", "mixin:second.wav", "-o", "out.wav")
        self.succeed("-i", "speech.wav", "-p", "mixin:second.wav", "-o", "NAME.wav:dtype=f32")

    def test_a_mask(self):
        self.succeed("-i", "speech.wav", "-p", "conv1d:mask.txt", "-o", "out.wav")
        shutil.copy(self.path("mask.txt"), self.path("m:1 x.txt"))
        self.refused(r"a colon in a file's name is written \\:", "-i", "speech.wav", "-p", "conv1d:m:1 x.txt", "-o", "out.wav")
        self.succeed("-i", "speech.wav", "-p", r"conv1d:m\:1 x.txt", "-o", "again.wav")
        self.assertEqual(self.read("again.wav"), self.read("out.wav"))
        self.refused(r"conv1d: \[1e39\]: 1e\+39 is too large", "-i", "speech.wav", "-p", "conv1d:[1e39]", "-o", "out.wav")

    def test_a_folder_that_is_not_there(self):
        self.succeed("-i", "speech.wav", "-p", "gain:0.5", "-o", "newfolder/")
        self.assertTrue(os.path.exists(self.path("newfolder/speech.wav")))

    def test_raw_samples_stay_what_they_are(self):
        self.write("in.raw", struct.pack("<1000h", *range(1000)))
        self.succeed("-i", "in.raw", "--raw", "dtype=i16,channels=1,rate=8000", "-p", "gain:2", "-o", "out.raw")
        self.assertEqual(self.read("out.raw"), struct.pack("<1000h", *range(0, 2000, 2)))
        self.succeed("-i", "in.raw", "--raw", "dtype=i16,channels=1,rate=8000", "-p", "gain:2", "-p", "convert:f32", "-o", "out.raw")
        self.assertEqual(len(self.read("out.raw")), 4000)

    # ---- images

    def test_channels_that_do_not_fit(self):
        luma = "matrix:[0.299,0.587,0.114]"
        self.succeed("-i", "picture.png", "-p", "mix:0", "-o", "grey.png")
        self.succeed("-i", "picture.png", "-p", "mix:0,1,2,0", "-o", "rgba.png")
        self.succeed("-i", "picture.png", "-p", "mix:0,0", "-o", "grey-alpha.png")
        for name, mix in (("grey.png", "mix:0,0,0"), ("grey-alpha.png", "mix:0,0,0"), ("rgba.png", "mix:0,1,2")):
            self.refused(f"put {mix} before it", "-i", name, "-p", luma, "-o", "out.png")
            self.succeed("-i", name, "-p", mix, "-p", luma, "-o", "out.png")

    def test_too_bright(self):
        self.warns(r"gain: 103236 of 192000 values \(54 %\) exceeded the range of u8 and were clipped, up to 510: divide the gain by 2, or",
                   "-i", "picture.png", "-p", "gain:2", "-o", "out.png")
        self.warns(r"sharpen: 552 of 192000 values .* up to 314\.59: add clip:min=0:max=255 to the chain if .*\(-o NAME\.npy\)",
                   "-i", "picture.png", "-p", "sharpen", "-o", "out.png")
        self.succeed("-i", "picture.png", "-p", "sharpen", "-p", "clip:min=0:max=255", "-o", "clip.png")
        self.assertEqual(harness.read_png(self.path("clip.png")), harness.read_png(self.path("out.png")))
        self.succeed("-i", "picture.png", "-p", "sharpen", "-o", "NAME.npy")

    def test_words_of_other_programs(self):
        self.refused("resize: unknown parameter \"fit\": did you mean mode=fill?", "-i", "picture.png", "-p", "resize:64x64:fit=cover", "-o", "o.png")
        self.succeed("-i", "picture.png", "-p", "resize:64x64:mode=fill", "-o", "out.png")
        self.refused("is not accepted: say reflect101", "-i", "picture.png", "-p", "gauss:2:border=reflect_101", "-o", "out.png")

    # ---- tensors

    def test_tensors(self):
        stages = ("-p", "resize:256", "-p", "crop:224", "-p", "normalize:imagenet", "-p", "layout:chw")
        plan = self.succeed("-i", "picture.png", *stages, "-o", "out.npy", "--dry-run")
        self.assertIn("output  out.npy: array f32, shape 3 x 224 x 224,", plan)
        self.assertRegex(self.run_command("-i", "picture.png", *stages, "-o", "out.tar").stderr, r"use \.npy \(in an archive: --format npy\)")
        self.succeed("-i", "picture.png", *stages, "-o", "out.tar", "--format", "npy")
        self.succeed("-i", "picture.png", *stages, "-o", "out.npy")
        self.assertEqual(harness.read_npy(self.path("out.npy"))[0], (3, 224, 224))


class FirstOperator(harness.Case):
    """The README's plugin, compiled by its command, against the headers of the source tree."""

    def setUp(self):
        super().setUp()
        if not shutil.which("cc"):
            self.skipTest("no C compiler")
        shutil.copy(os.path.join(harness.SOURCE, "examples", "speech.wav"), self.path("speech.wav"))
        with open(os.path.join(harness.SOURCE, "README.md"), encoding="utf-8") as file:
            readme = file.read()
        self.code = re.search(r"^```c contrast.c\n(.*?)^```", readme, re.M | re.S).group(1)
        self.cc = re.search(r"^    \$ (cc .*)$", readme, re.M).group(1).replace("$(pkg-config --cflags filterchain-plugin)", "-Wall -Werror -I" + shlex.quote(
            os.path.join(harness.SOURCE, "core", "contract")))

    def compile(self, code, folder="."):
        os.makedirs(self.path(folder), exist_ok=True)
        self.write(folder + "/contrast.c", code)
        subprocess.run(["sh", "-c", self.cc], cwd=self.path(folder), check=True)

    def test_the_plugin_of_the_readme(self):
        self.compile(self.code)
        run = ("--plugin-dir", ".", "-i", "speech.wav", "-o", "out.wav", "-p")
        self.succeed(*run, "contrast:0.5")
        self.succeed("-i", "speech.wav", "-p", "gain:0.5", "-o", "half.wav")
        self.assertEqual(self.read("out.wav"), self.read("half.wav"))
        for words in (("inspect", "./contrast.so"), ("inspect", "--plugin-dir", ".", "contrast")):
            self.assertIn("contrast[:AMOUNT]", self.succeed(*words))
        self.assertIn("contrast  ", self.succeed("list", "--plugin-dir", "."))
        self.assertRegex(self.succeed("check", "./contrast.so", "--seconds", "0.1"), r"\b0 failed")
        self.assertRegex(self.fails(2, *run, "contrast:loud"), 'contrast: amount: "loud" is not a finite number')
        self.assertRegex(self.fails(2, *run, "contrast:amont=2"), 'did you mean "amount"')

    def test_slips(self):
        """A folder that is forgotten or mistyped, an example that does not parse, a file without an entry."""
        self.compile(self.code)
        self.assertRegex(self.fails(2, "-i", "speech.wav", "-p", "contrast", "-o", "out.wav"), 'no operator "contrast"')
        self.assertRegex(self.fails(2, "--plugin-dir", "lib", "-i", "speech.wav", "-p", "contrast", "-o", "out.wav"), "lib: is not a folder")
        self.compile(self.code.replace("contrast:1.5", "contrast:fast"), "wrong")
        done = self.run_command("check", "wrong/contrast.so", "--seconds", "0.1")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, 'FAIL contrast: descriptor .*example "contrast:fast": contrast: amount: "fast" is not a finite number')
        self.compile(re.sub(r"(?m)^FC_PLUGIN.*", "extern const fc_operator *const used; const fc_operator *const used = &contrast;", self.code), "empty")
        self.assertRegex(self.fails(2, "--plugin-dir", "empty", "-i", "speech.wav", "-p", "contrast", "-o", "out.wav"),
                         "contrast.so is not a filterchain plugin: it has no symbol fc_plugin_entry_v1")

    def test_a_project(self):
        self.assertRegex(self.fails(2, "new"), "new takes one operator name: filterchain new soften")
        self.assertRegex(self.fails(2, "new", "my-filter"), "not a valid operator name")
        self.assertRegex(self.succeed("new", "soften"), r"cd soften && meson setup build && ninja -C build && meson test -C build")
        self.assertRegex(self.fails(1, "new", "soften"), "exists already; name a new folder")
        self.assertLessEqual({"README.md", "LICENSE", "meson.build", "soften.c"}, set(os.listdir(self.path("soften"))))


class FirstScript(harness.Case):
    """Python without NumPy, in the build tree as the README says."""

    def setUp(self):
        super().setUp()
        package = os.path.join(harness.BUILD, "python", "filterchain")
        if not os.path.exists(os.path.join(package, "__init__.py")) or sys.version_info < (3, 11):
            self.skipTest("the package is not built for this Python")
        if harness.sanitized():
            self.skipTest("Python itself has no sanitizer")
        for name in ("speech.wav", "picture.png"):
            shutil.copy(os.path.join(harness.SOURCE, "examples", name), self.path(name))

    def script(self, text):
        """What it prints; "ERROR ..." for an exception."""
        environment = {**harness.fixed_environment(), "PYTHONPATH": os.path.join(harness.BUILD, "python"), "PYTHONWARNINGS": "error"}
        program = "import filterchain as fc\ntry:\n    print(%s)\nexcept Exception as e:\n    print('ERROR', type(e).__name__, e)\n" % text
        done = subprocess.run([sys.executable, "-c", program], cwd=self.folder, env=environment, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.stdout.strip()

    def test_results(self):
        for text, wanted in (('fc.chain("conv1d:[1,2,1]/4", "gain:-6dB")(fc.read("speech.wav")).shape', "(48640,)"),
                             ('fc.read("picture.png").shape', "(200, 320, 3)"),
                             ('fc.chain("resize:64", "crop:64", "layout:chw")(fc.read("picture.png")).shape', "(3, 64, 64)"),
                             ('memoryview(fc.chain("gain:2")(fc.array([1, 2, 3]))).tolist()', "[2.0, 4.0, 6.0]"),
                             ('fc.chain("fir:lowpass=3k")(fc.array([0.1] * 1000), rate=16000).shape', "(1000,)"),
                             ('round(fc.chain("loudness").measure("speech.wav")["loudness"]["integrated"], 2)', "-18.95"),
                             ('fc.chain(fc.op("gauss", 2)).run("picture.png", "out.png")["device"][:3]', "cpu"),
                             ('fc.write("again.png", fc.read("out.png"))', "None"),
                             ('"gauss" in [operator["name"] for operator in fc.operators()]', "True")):
            with self.subTest(text=text):
                self.assertEqual(self.script(text), wanted)
        self.assertEqual(self.read("again.png")[:8], b"\x89PNG\r\n\x1a\n")

    def test_slips(self):
        """Exceptions have the command's messages, and a class for each kind."""
        for text, wanted in (('fc.chain("spectogram")', 'UnsupportedError no operator "spectogram": did you mean "spectrogram"'),
                             ('fc.chain("gain:loud")', 'InvalidError gain: gain: "loud" is not a finite number'),
                             ('fc.chain(fc.op("gain", factr=2))', 'InvalidError gain: unknown parameter "factr"'),
                             ('fc.read("nosuch.wav")', "FileError nosuch.wav: cannot be opened"),
                             ('fc.write("out.xyz", fc.read("speech.wav"))', 'InvalidError out.xyz: no format "xyz" to write: there are wav'),
                             ('fc.chain("gain:2")([1, 2, 3])', r"TypeError list: not an array: .*fc\.array\("),
                             ('fc.chain("gain:2")("speech.wav")', r"TypeError str: not an array: .*fc\.read\("),
                             ('fc.chain("fir:lowpass=3k")(fc.array([1.0, 2.0]))', "InvalidError fir: the sample rate is not known")):
            with self.subTest(text=text):
                self.assertRegex(self.script(text), r"\AERROR " + wanted)


if __name__ == "__main__":
    harness.main()
