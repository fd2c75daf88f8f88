#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Chains on arrays in host memory: NumPy's, those of the buffer protocol, and what they say when they cannot."""
import array
import concurrent.futures
import gc
import os
import pickle

from support import SPEECH, PICTURE, fc, main, needs_numpy, np, unittest

SMOOTH = "conv1d:[1,2,1]/4"


def smooth(x):
    """SMOOTH by NumPy."""
    return np.convolve(x, [0.25, 0.5, 0.25], "same")


@needs_numpy
class Numpy(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(22)

    def test_types(self):
        for dtype in ("uint8", "int16", "uint16", "int32", "float32", "float64"):
            x = self.random.integers(0, 100, 999).astype(dtype)
            y = fc.chain(SMOOTH)(x)
            self.assertIs(type(y), np.ndarray)
            self.assertEqual(y.dtype, "float64" if dtype in ("float64", "int32") else "float32")
            np.testing.assert_allclose(y, smooth(x.astype("f8")), rtol=1e-6)

    def test_result_type(self):
        x = self.random.integers(0, 256, (20, 30), dtype="uint8")
        self.assertEqual(fc.chain(SMOOTH)(x).dtype, "float32")
        for dtype in ("uint8", np.uint8, np.dtype("u1")):
            y = fc.chain(SMOOTH)(x, dtype=dtype)
            self.assertEqual(y.dtype, "uint8")
        exact = fc.chain("conv1d:[1,2,1]/4:border=reflect101")(x, dtype="float64")
        np.testing.assert_array_equal(y, np.rint(exact))
        self.assertEqual(fc.chain("convert:i16")(x).dtype, "int16")

    def test_empty_and_single(self):
        for n in (0, 1):
            x = np.ones(n, "f4")
            np.testing.assert_array_equal(fc.chain(SMOOTH)(x), x / 2)

    def test_layouts_of_sound(self):
        x = self.random.random((1000, 2)).astype("f4")
        chain = fc.chain(SMOOTH)
        y = chain(x, layout="tc")
        for c in range(2):
            np.testing.assert_allclose(y[:, c], smooth(x[:, c]), atol=1e-6)
        np.testing.assert_array_equal(chain(x.T, layout="ct"), y.T)
        np.testing.assert_array_equal(chain(np.ascontiguousarray(x.T), layout="ct"), y.T)

    def test_batches_of_sound(self):
        """Each by itself, also where state goes from sample to sample."""
        x = self.random.random((3, 2, 1000)).astype("f4")
        for stage in (SMOOTH, "biquad:lowpass:freq=100", "stft:64:hop=16"):
            chain = fc.chain(stage)
            y = chain(x, layout="nct", rate=8000)
            np.testing.assert_array_equal(y, np.stack([chain(one, layout="ct", rate=8000) for one in x]))
        self.assertEqual(chain(x[:0], layout="nct", rate=8000).shape[0], 0)

    def test_layouts_of_images(self):
        x = self.random.integers(0, 256, (3, 17, 31, 3), dtype="uint8")
        chain = fc.chain("sepconv:[1,4,6,4,1]/16")
        each = np.stack([chain(image) for image in x])
        np.testing.assert_array_equal(chain(x), each)
        for layout, order in (("nchw", (0, 3, 1, 2)), ("hwnc", (1, 2, 0, 3)), ("cnwh", (3, 0, 2, 1))):
            y = chain(x.transpose(order), layout=layout)
            np.testing.assert_array_equal(y, each.transpose(order))
        np.testing.assert_array_equal(chain(x[0].transpose(2, 0, 1)), each[0].transpose(2, 0, 1))

    def test_strides(self):
        x = self.random.random(1000).astype("f4")
        chain = fc.chain(SMOOTH)
        for cut in (slice(None, None, 3), slice(None, None, -1), slice(7, 900, 2)):
            np.testing.assert_array_equal(chain(x[cut]), chain(x[cut].copy()))
        wide = self.random.integers(0, 256, (40, 60, 4), dtype="uint8")
        window = wide[3:30, 5:50, 1:4]
        np.testing.assert_array_equal(chain(window), chain(window.copy()))
        np.testing.assert_array_equal(chain(np.broadcast_to(np.float32(3), 50)), chain(np.full(50, 3, "f4")))

    def test_shape_changes(self):
        x = self.random.random((500, 2)).astype("f4")
        self.assertEqual(fc.chain("conv1d:[1,2,3]:mode=full")(x, layout="tc").shape, (502, 2))
        self.assertEqual(fc.chain("mix:0")(x, layout="tc").shape, (500, 1))
        self.assertEqual(fc.chain("mix:0,0,0")(x[:, 0], rate=8000).shape, (500, 3))

    def test_out(self):
        x = self.random.random(100).astype("f4")
        y = np.zeros(200, "f8")
        chain = fc.chain(SMOOTH)
        self.assertIs(chain(x, out=y[::2]).base, y)
        np.testing.assert_allclose(y[::2], smooth(x), rtol=1e-6)
        self.assertFalse(y[1::2].any())
        with self.assertRaisesRegex(ValueError, r"out has shape \(99,\) where the chain makes \(100,\)"):
            chain(x, out=np.zeros(99))
        for other in (x, x[::-1], x[:0:-1]):
            with self.assertRaisesRegex(ValueError, "shares memory"):
                chain(x[:other.size], out=other)
        pixels = self.random.random((9, 11, 3)).astype("f4")
        red, blue = pixels[..., 0], pixels[..., 2]
        np.testing.assert_array_equal(fc.chain("gain:2")(red, layout="hw", out=blue), 2 * red)
        x[50:] = 0
        self.assertIs(fc.chain("gain:2")(x[:50], out=x[50:]).base, x)
        y.flags.writeable = False
        with self.assertRaises((ValueError, BufferError)):
            chain(x, out=y[:100])

    def test_no_copy(self):
        """Nothing of the input's size is allocated but the result."""
        import tracemalloc
        x = np.ones(1 << 20, "f4")
        chain = fc.chain("gain:2")
        chain(x)
        tracemalloc.start()
        chain(x)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        self.assertLess(peak, x.nbytes + 20000)

    def test_no_leak(self):
        chain, x = fc.chain(SMOOTH), np.ones(100000, "f4")

        def held():
            with open("/proc/self/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * 4096
        for _ in range(20):
            chain(x)
        before = held()
        for _ in range(300):
            chain(x)
            try:
                chain(x, layout="hw")
            except ValueError:
                pass
        gc.collect()
        self.assertLess(held() - before, 10 * x.nbytes)

    def test_rate_and_bits(self):
        x = np.ones(1000, "f4")
        low = "biquad:lowpass:freq=100"
        with self.assertRaises(fc.Error):
            fc.chain(low)(x)
        for wrong in ({"rate": -1}, {"rate": float("nan")}, {"bits": -1}, {"bits": 1 << 40}):
            with self.subTest(wrong), self.assertRaises(ValueError):
                fc.chain(SMOOTH)(x, **wrong)
        y = fc.chain(low)(x, rate=8000)
        self.assertNotEqual(y[0], fc.chain(low)(x, rate=16000)[0])
        self.assertEqual(fc.chain(SMOOTH)(np.ones(9, "i4"), bits=16).dtype, "float32")

    def test_precision(self):
        x = self.random.random(1000).astype("f4")
        self.assertEqual(fc.chain(SMOOTH, precision="f64")(x).dtype, "float64")
        with self.assertRaises(ValueError):
            fc.chain(SMOOTH, precision="f16")

    def test_fuse(self):
        """Recursive filters side by side are joined unless that is refused: the plan tells, and the bits are the same."""
        stages, x = ["biquad:lowpass:freq=1000", "biquad:highpass:freq=50"], self.random.random(9000).astype("f4")
        expect = fc.chain(*stages)(x, rate=8000)
        for fuse in ("auto", "no", "wait"):
            chain = fc.chain(*stages, fuse=fuse)
            self.assertEqual("one cascade" in chain.explain(SPEECH, "x.wav"), fuse != "no")
            np.testing.assert_array_equal(chain(x, rate=8000), expect)
        self.assertNotIn("one cascade", fc.chain(*stages).explain(SPEECH, "x.wav", fuse="no"))
        for wrong in ("never", ""):
            with self.assertRaisesRegex(ValueError, "fuse is"):
                fc.chain(*stages, fuse=wrong)
        with self.assertRaises(TypeError):
            fc.chain(*stages, fuse=1)

    def test_algebra(self):
        """Linear stages become one; near the ends too the values are those of the stages one by one."""
        stages, x = ["conv1d:[1,2,3,4,5]/15", "gain:0.5", "conv1d:[3,1,-1]/3:border=reflect"], self.random.random(9000).astype("f4")
        chain = fc.chain(*stages, fuse="algebra")
        self.assertIn("3 stages joined by algebra: conv1d of 7 taps", chain.explain(SPEECH, "x.wav"))
        self.assertNotIn("algebra", chain.explain(SPEECH, "x.wav", fuse="auto"))
        np.testing.assert_allclose(chain(x, rate=8000), fc.chain(*stages, fuse="no")(x, rate=8000), rtol=0, atol=2e-7)

    def test_tables(self):
        x, h = self.random.random(500), self.random.random(31)
        for mask in (h, list(h), tuple(h), memoryview(h), array.array("d", h)):
            np.testing.assert_allclose(fc.chain(fc.op("conv1d", mask=mask))(x), np.convolve(x, h, "same"), rtol=1e-12)
        np.testing.assert_array_equal(fc.chain(fc.op("conv1d", h[::2]))(x), fc.chain(fc.op("conv1d", h[::2].copy()))(x))
        pixels = self.random.integers(0, 256, (9, 11, 3), dtype="uint8")
        gray = fc.chain(fc.op("matrix", np.array([[0.299, 0.587, 0.114]])))(pixels)
        np.testing.assert_allclose(gray[..., 0], pixels @ [0.299, 0.587, 0.114], rtol=1e-6)
        text = str(fc.op("conv1d", h, border="wrap", flip=False))
        np.testing.assert_array_equal(fc.chain(text)(x), fc.chain(fc.op("conv1d", h, border="wrap", flip=False))(x))

    def test_further_input(self):
        x, other = self.random.random(500).astype("f4"), self.random.random(500).astype("f4")
        chain = fc.chain(fc.op("mixin", other))
        np.testing.assert_allclose(chain(x), x + other, rtol=1e-6)
        again = pickle.loads(pickle.dumps(chain))
        stereo = fc.array(np.stack([x, other], 1), layout="tc", rate=8000)
        self.assertEqual((stereo.layout, stereo.rate, stereo.kind), ("tc", 8000, "audio"))
        both = fc.chain(fc.op("mixin", stereo))(stereo)
        np.testing.assert_allclose(both, 2 * np.asarray(stereo), rtol=1e-6)
        np.testing.assert_array_equal(again(x), chain(x))

    def test_threads(self):
        chain = fc.chain(SMOOTH, "gain:2")
        inputs = [self.random.random(5000 + i % 7).astype("f4") for i in range(200)]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for x, y in zip(inputs, pool.map(chain, inputs)):
                np.testing.assert_allclose(y, 2 * smooth(x), atol=1e-5)

    def test_lock_is_free(self):
        """Another thread of Python goes on while a chain runs."""
        x = np.ones(1 << 22, "f4")
        chain = fc.chain("winstat:window=20001:stat=std", threads=1)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            work = pool.submit(chain, x)
            turns = 0
            while not work.done():
                turns += 1
            work.result()
        self.assertGreater(turns, 1000)

    def test_measurements(self):
        x = self.random.integers(0, 256, (10, 20, 3), dtype="uint8")
        told = fc.chain("stats:count,mean", "stats:sum").measure(x)
        self.assertEqual(told["stats"]["count"], x.size)
        self.assertAlmostEqual(told["stats"]["mean"], x.mean())
        self.assertEqual(told["stats.2"]["sum_channels"], [int(n) for n in x.sum((0, 1))])

    def test_refused_types(self):
        for dtype in ("bool", "int8", "uint32", "int64", "float16", "complex64", ">f4", "datetime64[s]"):
            with self.subTest(dtype), self.assertRaises((TypeError, ValueError, BufferError)):
                fc.chain()(np.zeros(3, dtype))
        with self.assertRaisesRegex(TypeError, "int64|type l"):
            fc.chain()(np.zeros(3, "int64"))
        with self.assertRaisesRegex(ValueError, "5 dimensions"):
            fc.chain()(np.zeros((1, 1, 1, 1, 1)))

    def test_layout_is_asked_for(self):
        for shape, dtype in (((3, 5), "f4"), ((9, 9, 9), "u1"), ((3, 9, 3), "u1"), ((2, 2, 2, 2), "f4")):
            with self.subTest(shape), self.assertRaisesRegex(ValueError, "do not tell what the dimensions are"):
                fc.chain()(np.zeros(shape, dtype))
        for layout in ("", "t", "tt", "th", "xz", "tcn", "hx"):
            with self.subTest(layout), self.assertRaisesRegex(ValueError, "does not fit shape"):
                fc.chain()(np.zeros((3, 5)), layout=layout)


class Plain(unittest.TestCase):
    """Without NumPy."""

    def test_buffers(self):
        chain = fc.chain(SMOOTH)
        for x in (array.array("f", [0, 4, 0, 8]), memoryview(array.array("f", [0, 4, 0, 8])), fc.array([0, 4, 0, 8])):
            y = chain(x)
            self.assertIsInstance(y, fc.Array)
            self.assertEqual(memoryview(y).tolist(), [1, 2, 3, 4])
            self.assertEqual((y.shape, y.strides, y.dtype, y.layout, y.device), ((4,), (4,), "float32", "t", "cpu"))
        self.assertEqual(memoryview(fc.chain("conv1d:[2]")(bytes([1, 2, 3]))).tolist(), [2, 4, 6])

    def test_array_holds_its_owner(self):
        x = array.array("f", [1, 2, 3])
        held = fc.chain()(x, out=None)
        lent = fc._filterchain.from_buffer(x)
        with self.assertRaises(BufferError):
            x.append(4)  # it may not move
        del lent
        x.append(4)
        self.assertEqual(memoryview(held).tolist(), [1, 2, 3])

    def test_errors(self):
        cases = {"conv1": (fc.UnsupportedError, ValueError, "did you mean \"conv1d\"?"),
                 "conv1d:[1,2]:flp=no": (fc.InvalidError, ValueError, "did you mean \"flip\"?"),
                 "conv1d:nowhere.txt": (fc.FileError, OSError, "nowhere.txt")}
        for text, (kind, also, sentence) in cases.items():
            with self.subTest(text), self.assertRaises(kind) as caught:
                fc.chain(text)
            self.assertIsInstance(caught.exception, fc.Error)
            self.assertIsInstance(caught.exception, also)
            self.assertIn(sentence, str(caught.exception))
            self.assertNotIn("\n", str(caught.exception))

    def test_arguments(self):
        chain = fc.chain()
        for call in (lambda: chain(1), lambda: chain("text"), lambda: chain(fc.array([1]), fc.array([1])),
                     lambda: chain(fc.array([1]), layot="t"), lambda: fc.chain(1), lambda: fc.op("conv1d", [1], [2])):
            with self.assertRaises(TypeError):
                call()

        for call in (lambda: fc.chain("gain:2\0x"), lambda: fc.op("gain", gain="2\0x") and fc.chain(fc.op("gain", gain="2\0x")),
                     lambda: chain(fc.array([1]), layout="t\0x"), lambda: fc.chain("gain:2", device="cpu\0x")):
            with self.assertRaisesRegex(ValueError, "null character"):
                call()
        with self.assertRaises(OverflowError):
            fc.chain("gain:2", threads=2**32 + 1)
        with self.assertRaisesRegex(ValueError, "threads is a number"):
            fc.chain("gain:2", threads=-1)

    def test_pickle(self):
        chain = fc.chain("gain:2", fc.op("conv1d", [1, 2]), threads=1)
        again = pickle.loads(pickle.dumps(chain))
        self.assertEqual(repr(again), repr(chain))
        self.assertEqual(again.operators, ("gain", "conv1d"))
        x = fc.array([1, 2, 3])
        self.assertEqual(memoryview(again(x)).tolist(), memoryview(chain(x)).tolist())

    def test_fork(self):
        chain, x = fc.chain(SMOOTH), fc.array([0, 4, 0])
        chain(x)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                chain(x)
            except RuntimeError as error:
                ok = "before fork" in str(error)
                ok = ok and memoryview(fc.chain(SMOOTH)(x)).tolist() == [1, 2, 1]
                with open(PICTURE, "rb") as file:
                    status = 0 if ok and fc.decode(file.read()).shape == (200, 320, 3) else 2
            finally:
                os._exit(status)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assertEqual(memoryview(chain(x)).tolist(), [1, 2, 1])

    def test_random_numbers(self):
        """By seed, epoch, name and frame, however the frames are computed; a file in memory has a name if it is given one."""
        x = array.array("B", bytes(range(200)) * 30)
        frames = memoryview(x).cast("B", (30, 10, 20, 1))
        chain = fc.chain("random_crop:7x5", "random_flip")

        def made(**how):
            return memoryview(chain(frames, layout="nhwc", **how)).tobytes()
        one = made(seed=7, epoch=3, random_name="x")
        self.assertEqual(made(seed=7, epoch=3, random_name="x", threads=1, chunk=4), one)
        self.assertGreater(len({one[i * 35:i * 35 + 35] for i in range(30)}), 20)
        for other in ({"seed": 8}, {"epoch": 4}, {"random_name": "y"}):
            self.assertNotEqual(made(**{"seed": 7, "epoch": 3, "random_name": "x", **other}), one, other)
        with open(PICTURE, "rb") as file:
            decoded = chain.decode(file.read(), epoch=5, random_name="a.png")
        self.assertEqual(memoryview(decoded).tobytes(), memoryview(chain.read(PICTURE, epoch=5, random_name="a.png")).tobytes())

    def test_generator(self):
        y = fc.chain("tone:sine:freq=1000:length=800:rate=8000")()
        self.assertEqual((y.shape, y.rate, y.kind), ((800,), 8000, "audio"))
        with self.assertRaisesRegex(ValueError, "there is no input"):
            fc.chain("gain:2")()


if __name__ == "__main__":
    main()
