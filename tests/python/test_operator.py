#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Operators that are functions of Python."""
import os
import threading

from support import fc, main, needs_numpy, np, unittest


@needs_numpy
class Operators(unittest.TestCase):
    def setUp(self):
        self.x = np.random.default_rng(4).random((40, 30, 3)).astype("f4")

    def test_pointwise(self):
        calls = []

        @fc.operator
        def brighter(x, by=2.0, floor=0, invert=False, how="plain"):
            """Multiplies."""
            calls.append((x.shape, by, floor, invert, how))
            return by * x + floor
        np.testing.assert_array_equal(fc.chain("brighter:3:floor=1:invert=yes:how=text")(self.x), 3 * self.x + 1)
        self.assertEqual(calls[0][1:], (3.0, 1, True, "text"))
        np.testing.assert_array_equal(fc.chain("brighter")(self.x), 2 * self.x)
        self.assertEqual(brighter(np.ones(1), 5)[0], 5)  # it is what it was
        self.assertIn("brighter", [each["name"] for each in fc.operators()])
        sound = np.ones((1000, 2), "f8")
        np.testing.assert_array_equal(fc.chain("gain:2", "brighter")(sound, layout="tc"), 4 * sound)

    def test_halo(self):
        """As sepconv and conv1d do it, with each border, however it is cut."""
        @fc.operator(halo={"y": 1}, border="wrap")
        def down(x):
            return x[:-2] / 4 + x[1:-1] / 2 + x[2:] / 4

        @fc.operator(halo={"t": (2, 0)})
        def older(x):
            return x[:-2]
        expect = fc.chain("conv1d:[1,2,1]/4:axis=y:border=wrap")(self.x)
        for chunk in (0, 1, 7):
            np.testing.assert_allclose(fc.chain("down", chunk=chunk)(self.x), expect, rtol=1e-5)
        t = np.arange(20, dtype="f4")
        np.testing.assert_array_equal(fc.chain("older")(t), np.r_[0, 0, t[:-2]])
        batch = np.stack([self.x, self.x + 1])
        np.testing.assert_allclose(fc.chain("down")(batch)[1], expect + 1, rtol=1e-5)

    def test_errors(self):
        @fc.operator
        def fails(x):
            raise LookupError("of its own\nin two lines")

        @fc.operator(halo=1)
        def wrong_shape(x):
            return x
        with self.assertRaisesRegex(fc.Error, "fails.*LookupError: of its own in two lines"):
            fc.chain("fails")(self.x)
        with self.assertRaisesRegex(fc.Error, r"has the halo around it"):
            fc.chain("wrong_shape")(self.x)
        for wrong in ({"halo": -1}, {"halo": {"z": 1}}, {"border": "mirror"}, {"name": "conv1d"}, {"name": "Not a name"}):
            with self.subTest(wrong), self.assertRaises(ValueError):
                fc.operator(lambda x: x, **{"name": "other", **wrong})
        with self.assertRaises(TypeError):
            @fc.operator
            def no_default(x, y):
                return x

    def test_again(self):
        """A cell of a notebook that is run once more."""
        fc.operator(lambda x: x + 1, name="again")
        first = fc.chain("again")
        fc.operator(lambda x: x + 2, name="again")
        second = fc.chain("again")
        self.assertEqual(second(self.x[0, 0])[0] - first(self.x[0, 0])[0], 1)
        with self.assertRaisesRegex(ValueError, "take another name"):
            fc.operator(lambda x, y=1: x, name="again")

    def test_threads(self):
        fc.operator(lambda x: 2 * x, name="twice")
        chain, wrong = fc.chain("twice", "gain:0.5"), []

        def work():
            for _ in range(20):
                if not np.array_equal(chain(self.x), self.x):
                    wrong.append(1)
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_kept_input_is_a_copy(self):
        kept = []
        fc.operator(lambda x: kept.append(x) or x, name="keeps")
        fc.chain("keeps")(np.ones(10, "f4"))
        self.assertTrue(all(x.base is None and (x == 1).all() for x in kept))

    def test_after_fork(self):
        fc.operator(lambda x: -x, name="minus")
        fc.chain("minus")(self.x)
        child = os.fork()
        if child == 0:
            os._exit(0 if fc.chain("minus")(np.ones(1, "f4"))[0] == -1 else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)


if __name__ == "__main__":
    main()
