#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tensors of other libraries: DLPack of version 1 and before, __array_interface__ and __cuda_array_interface__, in
and out; by small libraries made here, whose memory is the CPU's."""
import array
import gc
import sys
import types
import weakref

from support import fc, main, needs_numpy, np, unittest

SMOOTH = "conv1d:[1,2,1]/4"


class Tensor:
    """Memory that is lent by DLPack alone."""

    def __init__(self, values, version=1, dtype="float32", layout=None):
        self.held = fc.array(values, dtype, layout=layout) if isinstance(values, (list, tuple)) else values
        self.version, self.asked = version, []

    def __dlpack__(self, **arguments):
        self.asked.append(arguments)
        if self.version == 0:
            if "max_version" in arguments:
                raise TypeError("unexpected argument max_version")
            return self.held.__dlpack__()
        return self.held.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self.held.__dlpack_device__()

    def tolist(self):
        return memoryview(self.held).tolist()


class OnDevice(Tensor):
    """One that says that it is on a GPU."""
    device_type = 2

    def __dlpack_device__(self):
        return self.device_type, 0

    def __dlpack__(self, **arguments):
        self.asked.append(arguments)
        raise BufferError("only asked")


def library(name, cls=Tensor):
    """A library of tensors by that name, whose class is cls."""
    module = types.ModuleType(name)
    module.Tensor = type("Tensor", (cls,), {"__module__": name, "device": "cpu", "requires_grad": False})
    module.float32, module.uint8 = f"{name}.float32", f"{name}.uint8"
    module.made = []

    def empty(shape, dtype, **arguments):
        count = 1
        for n in shape:
            count *= n
        tensor = module.Tensor([0] * count, dtype=dtype.partition(".")[2])
        if len(shape) != 1:
            raise ValueError("tensors of this library have one dimension")
        module.made.append((tuple(shape), dtype, arguments))
        return tensor

    module.empty = empty
    return module


class Lent(unittest.TestCase):
    def test_both_versions(self):
        for version in (0, 1):
            x = Tensor([0, 4, 0, 8], version)
            y = fc.chain(SMOOTH)(x)
            self.assertIsInstance(y, fc.Array)
            self.assertEqual(memoryview(y).tolist(), [1, 2, 3, 4])
            self.assertEqual(x.asked[0], {"max_version": (1, 0)})
            self.assertEqual(len(x.asked), 2 - version)

    def test_arguments(self):
        x = Tensor([0, 4, 0, 8])
        self.assertEqual(fc.chain(SMOOTH)(x, layout="t", rate=8000, dtype="float64").dtype, "float64")
        out = fc.array([0, 0, 0, 0])
        self.assertIs(fc.chain(SMOOTH)(x, out=out), out)
        self.assertEqual(memoryview(out).tolist(), [1, 2, 3, 4])
        told = fc.chain("stats:sum").measure(x)
        self.assertEqual(told["stats"]["sum"], 12)

    def test_memory_is_given_back(self):
        for version in (0, 1):
            held = fc.array([1, 2, 3])
            capsule = held.__dlpack__(max_version=(1, 0)) if version else held.__dlpack__()
            before = sys.getrefcount(held)
            taken = fc._filterchain.from_dlpack(capsule)
            with self.assertRaises(ValueError):
                fc._filterchain.from_dlpack(capsule)  # it is used up
            del capsule
            self.assertEqual(sys.getrefcount(held), before)
            del taken
            self.assertEqual(sys.getrefcount(held), before - 1)
            capsule = held.__dlpack__(max_version=(1, 0)) if version else held.__dlpack__()
            del capsule  # nobody has taken it
            self.assertEqual(sys.getrefcount(held), before - 1)

    def test_result_outlives_input(self):
        x = Tensor([1, 2, 3])
        gone = weakref.ref(x)
        y = fc.chain()(x)
        del x
        gc.collect()
        self.assertIsNone(gone())
        self.assertEqual(memoryview(y).tolist(), [1, 2, 3])

    def test_refusals(self):
        x = Tensor([1, 2])
        x.requires_grad = True
        with self.assertRaisesRegex(TypeError, r"x\.detach\(\)"):
            fc.chain()(x)
        with self.assertRaises(BufferError):
            fc.array([1]).__dlpack__(copy=True)
        with self.assertRaises(TypeError):
            fc.chain()(object())
        read_only = fc.array(memoryview(bytes(4)))
        with self.assertRaises(BufferError):
            read_only.__dlpack__()
        again = fc._filterchain.from_dlpack(read_only.__dlpack__(max_version=(1, 1)))
        with self.assertRaises((BufferError, ValueError)):
            fc.chain()(fc.array(memoryview(bytes(4))), out=again)

    def test_streams_are_asked_for(self):
        """A producer on a GPU is given the stream that the work goes to, and nothing for one on the CPU."""
        x = OnDevice([1, 2])
        with self.assertRaises(BufferError):
            fc.chain()(x)
        self.assertEqual(x.asked[0].get("stream"), 1)  # nobody's: the default stream
        torch = library("torch", OnDevice)
        stream = types.SimpleNamespace(cuda_stream=4711)
        torch.cuda = types.SimpleNamespace(current_stream=lambda ordinal: stream)
        cupy = library("cupy", OnDevice)
        cupy.cuda = types.SimpleNamespace(get_current_stream=lambda: types.SimpleNamespace(ptr=0))
        for module, expected in ((torch, 4711), (cupy, 1)):
            sys.modules[module.__name__], before = module, sys.modules.get(module.__name__)
            try:
                y = module.Tensor([1, 2])
                with self.assertRaises(BufferError):
                    fc.chain()(y)
                self.assertEqual(y.asked[0].get("stream"), expected)
            finally:
                del sys.modules[module.__name__]
                if before:
                    sys.modules[module.__name__] = before
        z = Tensor([1])
        fc.chain()(z)
        self.assertNotIn("stream", z.asked[0])


class Libraries(unittest.TestCase):
    def setUp(self):
        self.saved = {name: sys.modules.get(name) for name in ("torch", "jax")}

    def tearDown(self):
        for name, module in self.saved.items():
            if module:
                sys.modules[name] = module
            else:
                sys.modules.pop(name, None)

    def test_result_is_allocated_by_it(self):
        torch = sys.modules["torch"] = library("torch")
        y = fc.chain(SMOOTH)(torch.Tensor([0, 4, 0, 8]))
        self.assertIs(type(y), torch.Tensor)
        self.assertEqual(y.tolist(), [1, 2, 3, 4])
        self.assertEqual(torch.made, [((4,), "torch.float32", {"device": "cpu"})])
        x = torch.Tensor([0] * 4)
        x.requires_grad = True
        with self.assertRaises(TypeError):
            fc.chain(SMOOTH)(x)

    def test_result_goes_back_by_dlpack(self):
        jax = sys.modules["jax"] = library("jax")
        jax.from_dlpack = lambda given: jax.Tensor(fc._filterchain.from_dlpack(given.__dlpack__()))
        y = fc.chain(SMOOTH)(jax.Tensor([0, 4, 0, 8]))
        self.assertIs(type(y), jax.Tensor)
        self.assertEqual(y.tolist(), [1, 2, 3, 4])
        self.assertEqual(jax.made, [])

    def test_library_with_buffers(self):
        """One that offers the buffer protocol too, as JAX does, gets its own arrays nevertheless."""
        jax = sys.modules["jax"] = library("jax")

        class Buffer(array.array):
            __module__ = "jax.core"

            def __dlpack__(self, **arguments):
                return fc.array(memoryview(self)).__dlpack__(**arguments)

            def __dlpack_device__(self):
                return 1, 0
        jax.from_dlpack = lambda given: Buffer("f", memoryview(given).tolist())
        y = fc.chain(SMOOTH)(Buffer("f", [0, 4, 0, 8]))
        self.assertEqual((type(y), y.tolist()), (Buffer, [1, 2, 3, 4]))

    def test_tables(self):
        for mask in (Tensor([1, 2, 1]), fc.array([1, 2, 1]), array.array("h", [1, 2, 1]), bytearray([1, 2, 1])):
            self.assertEqual(str(fc.op("conv1d", mask)), "conv1d:[1.0,2.0,1.0]")


class Interfaces(unittest.TestCase):
    def test_array_interface(self):
        held = fc.array([0, 4, 0, 8])
        x = types.SimpleNamespace(__array_interface__=held.__array_interface__)
        self.assertEqual(memoryview(fc.chain(SMOOTH)(x)).tolist(), [1, 2, 3, 4])
        backwards = dict(held.__array_interface__, strides=(-4,), data=(held.__array_interface__["data"][0] + 12, False))
        x = types.SimpleNamespace(__array_interface__=backwards)
        self.assertEqual(memoryview(fc.chain(SMOOTH)(x)).tolist(), [4, 3, 2, 1])
        for wrong in ({"typestr": ">f4"}, {"typestr": "<c8"}, {"mask": held}):
            x = types.SimpleNamespace(__array_interface__=dict(held.__array_interface__, **wrong))
            with self.assertRaises(TypeError):
                fc.chain()(x)

    def test_cuda_array_interface(self):
        """It is believed, and the library asked to run there: where there is no GPU, it says so."""
        held = fc.array([0, 4, 0, 8])
        with self.assertRaises(AttributeError):
            held.__cuda_array_interface__
        lent = fc._filterchain.from_pointer(4096, (4,), None, "float32", 1, False, held)
        interface = lent.__cuda_array_interface__
        self.assertEqual((interface["shape"], interface["typestr"], interface["data"], interface["stream"]),
                         ((4,), "<f4", (4096, False), 1))
        self.assertEqual((lent.device, lent.__dlpack_device__()), ("cuda:1", (2, 1)))
        with self.assertRaises((AttributeError, BufferError)):
            memoryview(lent)
        if not fc.has_cuda:
            x = types.SimpleNamespace(__cuda_array_interface__=interface)
            with self.assertRaisesRegex(fc.DeviceError, "no CUDA backend"):
                fc.chain()(x)


@needs_numpy
class Numpy(unittest.TestCase):
    def test_looks_at_arrays(self):
        x = fc.array(np.arange(12, dtype="f4").reshape(3, 4), layout="yx")
        for look in (np.asarray, np.from_dlpack, lambda y: np.array(y, copy=False)):
            y = look(x)
            np.testing.assert_array_equal(y, np.arange(12).reshape(3, 4))
            self.assertEqual(y.__array_interface__["data"][0], x.__array_interface__["data"][0])

    def test_strided(self):
        wide = np.arange(24, dtype="f4").reshape(4, 6)
        x = Tensor(fc.array(wide[:, ::2].T, layout="ct", rate=8000))
        self.assertEqual(fc.chain("gain:2")(x, layout="ct").shape, (3, 4))
        y = np.asarray(fc.chain("gain:2")(x, layout="ct"))
        np.testing.assert_array_equal(y, 2 * wide[:, ::2].T)
        z = np.from_dlpack(fc.array(wide[:, ::2].T, layout="ct"))
        np.testing.assert_array_equal(z, wide[:, ::2].T)


if __name__ == "__main__":
    main()
