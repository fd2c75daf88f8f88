#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the warning of clipped values counts is what lies beyond the range in floating point, however the work is cut up and
wherever it comes from and goes to; and what it says to do helps."""
import math
import re
import shutil

import harness


def chain(*stages):
    return [word for stage in stages for word in ("-p", stage)]


SOUND = (chain("gain:5"), chain("conv1d:[1,2,1]"), chain("biquad:peak:freq=300:gain=14dB"), chain("resample:44100", "gain:6"),
         chain("mixin:in.wav:gain=4"), chain("gain:5", "mix:1,0"), chain("winstat:9:stat=sum"), chain("compand:-60dB,-60dB,-20dB,6dB,0dB,9dB"))
IMAGES = (chain("gain:1.7"), chain("sharpen:1.5:amount=2"), chain("conv2d:[0,-1,0;-1,5,-1;0,-1,0]"), chain("sepconv:[1,2,1]/3"),
          chain("resize:60x40", "gain:2"), chain("matrix:[1,1,0;0,1,1;1,0,1]"), chain("normalize", "gain:400", "gain:0.9"), chain("flip", "gain:1.5", "rotate:90"))


class Clipped(harness.Case):
    def setUp(self):
        super().setUp()
        samples = [int(9000 * math.sin(i * i / 9e4) + 3000 * math.sin(i / 7)) for i in range(2 * 9000)]
        harness.write_wav(self.path("in.wav"), samples, channels=2)
        harness.write_png(self.path("in.png"), [[(7 * x * y + 11 * x) % 256 for x in range(3 * 50)] for y in range(70)], 3)

    def expected(self, name, stages, low, high, scale):
        """(how many are clipped, how many there are, the largest magnitude or value)."""
        self.succeed("-i", name, *stages, "-p", "convert:f32", "-o", "float.npy")
        values = harness.read_npy(self.path("float.npy"))[1]
        codes = [round(value * scale) for value in values]  # half to even
        return sum(not low <= code <= high for code in codes), len(codes), max(map(abs, values))

    def counted(self, *arguments, **options):
        """Of each warning how many, of how many, and what follows."""
        done = self.run_command(*arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = done.stderr if isinstance(done.stderr, str) else done.stderr.decode()
        found = re.findall(r"warning: [^:\n]+: \w+: (\d+) of (\d+) values \(\S+ %\) exceeded the range of \w+ and were clipped(.*)", text)
        self.assertEqual(len(found), text.count("clipped"), text)
        return [(int(count), int(every), rest) for count, every, rest in found]

    def check(self, name, out, chains, low, high, scale, told):
        for stages in chains:
            count, every, most = self.expected(name, stages, low, high, scale)
            self.assertGreater(count, 100, stages)
            for how in ([], ["-j", "1"], ["-j", "3", "--chunk", "20"], ["--chunk", "7"]):
                with self.subTest(stages=stages, how=how):
                    (got,) = self.counted("-i", name, *stages, *how, "-o", out)
                    self.assertEqual(got[:2], (count, every))
                    self.assertIn(told(most), got[2])

    def test_sound(self):
        self.check("in.wav", "out.wav", SOUND, -32768, 32767, 32768, lambda most: f"the peak by {20 * math.log10(most):.2g} dB")

    def test_images(self):
        self.check("in.png", "out.png", IMAGES, 0, 255, 1, lambda most: f"up to {most:.5g}")

    def test_everywhere(self):
        """The same figures for files, pipes, inputs one after another, two passes and batches."""
        count, every, _ = self.expected("in.wav", chain("gain:5"), -32768, 32767, 32768)
        shutil.copy(self.path("in.wav"), self.path("more.wav"))
        sound = self.read("in.wav")
        for arguments, options, times in (
                (["-i", "in.wav", "-o", "out.wav"], {}, 1),
                (["-i", "-", "-o", "-", "--format", "wav"], {"input": sound, "text": False}, 1),
                (["-i", "-", "-o", "-", "--format", "wav", "--latency", "50ms"], {"input": sound, "text": False}, 1),
                (["--concat", "-i", "in.wav", "more.wav", "-o", "out.wav"], {}, 2)):
            (got,) = self.counted(*arguments, *chain("gain:5"), **options)
            self.assertEqual(got[:2], (times * count, times * every), arguments)
        both = self.counted("-i", "in.wav", "more.wav", *chain("gain:5"), "-o", "out/")
        self.assertEqual([got[:2] for got in both], [(count, every)] * 2)
        self.assertEqual(self.counted("-i", "in.wav", *chain("normalize:peak=6dB"), "-o", "two.wav")[0][1], every)

    def test_made_twice(self):
        """Stages behind it look further than a chunk, so that values are made for both: they are counted once."""
        count, every, most = self.expected("in.png", chain("gain:1.7"), 0, 255, 1)
        self.assertGreater(count, 100)
        for after in (["gauss:3"], ["winstat:window=15", "flip:y"], ["gauss:2", "rotate:180", "gauss:1"], ["rotate:90", "gauss:2"], ["resize:25x35"]):
            for how in ([], ["-j", "1"], ["-j", "3", "--chunk", "20"], ["--chunk", "9"], ["--chunk", "1"]):
                with self.subTest(after=after, how=how):
                    (got,) = self.counted("-i", "in.png", *chain("gain:1.7", "convert:u8", *after), *how, "-o", "out.png")
                    self.assertEqual(got[:2], (count, every))
                    self.assertRegex(got[2], f"up to {most:.5g}: divide the gain by 1\\.7")
        count, every, most = self.expected("in.wav", chain("gain:5"), -32768, 32767, 32768)
        for how in ([], ["-j", "1"], ["-j", "3", "--chunk", "200"], ["--chunk", "77"]):
            with self.subTest(how=how):
                (got,) = self.counted("-i", "in.wav", *chain("gain:5", "convert:i16", "conv1d:[1,2,3,2,1]/9", "reverse", "winstat:301"), *how, "-o", "out.wav")
                self.assertEqual(got[:2], (count, every))

    def test_what_is_not_made_is_not_counted(self):
        """Of a crop only what it shows, and what the stages before it need for that."""
        count, every, _ = self.expected("in.png", chain("gain:1.7", "crop:width=50:height=30:y=20"), 0, 255, 1)
        (got,) = self.counted("-i", "in.png", *chain("gain:1.7", "convert:u8", "crop:width=50:height=30:y=20"), "--chunk", "7", "-o", "out.png")
        self.assertEqual(got[:2], (count, every))

    def test_infinite_values(self):
        harness.write_npy(self.path("in.npy"), (2, 3), [0, math.inf, 300, -5, 7, 8])
        self.assertIn("3 of 6 values (50 %) exceeded the range of u8 and were clipped, infinite ones among them",
                      self.run_command("-i", "in.npy", "-o", "out.png").stderr)


if __name__ == "__main__":
    harness.main()
