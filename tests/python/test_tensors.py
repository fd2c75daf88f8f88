#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tensors of other libraries: DLPack of version 1 and before, __array_interface__ and __cuda_array_interface__, in
and out; by small libraries made here, whose memory is the CPU's."""
import array
import ctypes
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


class DlTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]


class DlManaged(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("free", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", DlTensor)]


class DlExchange(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("previous", ctypes.c_void_p),
                *((name, ctypes.c_void_p) for name in ("allocate", "from_object", "to_object", "look", "current_stream"))]


class Lender:
    """A library that has DLPack's C exchange API, and nothing else. Its tensors are float32 of one dimension."""

    def __init__(self, major=1, device_type=1):
        self.streams, self.made, self.kept, self.failing = [], [], [], False
        lender = self

        class Own:
            """A tensor."""
            requires_grad, step = False, 1

            def __init__(self, values):
                self.values = array.array("f", values)

            def __dlpack_device__(self):
                return device_type, 0

            def __dlpack__(self, **arguments):
                raise BufferError("the slow way")

        def look(x, out):
            if lender.failing:
                return -1
            x.shape, x.strides = (ctypes.c_int64 * 1)(len(x.values) // x.step), (ctypes.c_int64 * 1)(x.step)
            out[0] = DlTensor(x.values.buffer_info()[0], device_type, 3, 1, 2, 32, 1, x.shape, x.strides, 0)
            return 0

        def allocate(like, out, _context, _fail):
            shape = (ctypes.c_int64 * 1)(like[0].shape[0])
            memory = (ctypes.c_float * max(shape[0], 1))()
            managed = DlManaged(1, 3, None, None, 0, DlTensor(ctypes.addressof(memory), device_type, 3, 1, like[0].code, like[0].bits, 1, shape, None, 0))
            lender.kept.append((shape, memory, managed))
            out[0] = ctypes.pointer(managed)
            return 0

        def to_object(managed, out):
            tensor = managed[0].tensor
            x = Own((ctypes.c_float * tensor.shape[0]).from_address(tensor.data))
            x.managed = lender.kept[-1]  # samples come later
            lender.made.append(x)
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(x))
            out[0] = id(x)
            return 0

        def current_stream(kind, device, out):
            lender.streams.append((kind, device))
            out[0] = 4711
            return 0
        types_of = {look: (ctypes.py_object, ctypes.POINTER(DlTensor)),
                    allocate: (ctypes.POINTER(DlTensor), ctypes.POINTER(ctypes.POINTER(DlManaged)), ctypes.c_void_p, ctypes.c_void_p),
                    to_object: (ctypes.POINTER(DlManaged), ctypes.POINTER(ctypes.c_void_p)),
                    current_stream: (ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))}
        functions = {function.__name__: ctypes.PYFUNCTYPE(ctypes.c_int, *arguments)(function) for function, arguments in types_of.items()}
        table = DlExchange(major, 3, None, **{name: ctypes.cast(function, ctypes.c_void_p) for name, function in functions.items()})
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        Own.__dlpack_c_exchange_api__ = new(ctypes.addressof(table), b"dlpack_exchange_api", None)
        self.Tensor, self.held = Own, (functions, table)


class Exchange(unittest.TestCase):
    """DLPack's C exchange API."""

    def values(self, y):
        return list(y.managed[1])

    def test_call(self):
        lender = Lender()
        y = fc.chain(SMOOTH)(lender.Tensor([0, 4, 0, 8]))
        self.assertIs(type(y), lender.Tensor)
        self.assertEqual((lender.made, self.values(y), lender.streams), ([y], [1, 2, 3, 4], []))
        x = lender.Tensor([0, 9, 4, 9, 0, 9, 8, 9])
        x.step = 2
        self.assertEqual(self.values(fc.chain(SMOOTH)(x, layout="t", rate=8000)), [1, 2, 3, 4])
        out = lender.Tensor([0] * 4)
        self.assertIs(fc.chain(SMOOTH)(x, out=out), out)
        self.assertEqual(out.values.tolist(), [1, 2, 3, 4])
        with self.assertRaisesRegex(ValueError, "out has shape"):
            fc.chain(SMOOTH)(x, out=lender.Tensor([0]))
        self.assertEqual(len(lender.made), 2)

    def test_otherwise(self):
        """What cannot be done so is done by __dlpack__, or refused as it would be there."""
        for lender in (Lender(major=2), Lender()):
            lender.failing = True
            with self.assertRaisesRegex(BufferError, "the slow way"):
                fc.chain(SMOOTH)(lender.Tensor([0]))
        lender = Lender()
        x = lender.Tensor([0, 4])
        x.requires_grad = True
        with self.assertRaisesRegex(TypeError, "gradient"):
            fc.chain(SMOOTH)(x)
        x.requires_grad, x.is_neg = False, lambda: True
        with self.assertRaisesRegex(TypeError, "resolve_neg"):
            fc.chain(SMOOTH)(x)
        with self.assertRaisesRegex(ValueError, "does not fit"):
            fc.chain(SMOOTH)(lender.Tensor([0, 4]), layout="hw")

    def test_stream(self):
        """On a GPU the library's current stream is asked for, once for each call."""
        lender = Lender(device_type=2)
        with self.assertRaises(fc.Error):
            fc.chain(SMOOTH)(lender.Tensor([0, 4]))  # there is no fourth GPU, or no CUDA
        self.assertEqual(lender.streams, [(2, 3)])


try:
    import torch as the_torch
except ImportError:
    the_torch = None
if the_torch and int(the_torch.__version__.split(".")[0]) < 2:  # its DLPack has neither bool nor versions
    the_torch = None


@unittest.skipUnless(the_torch, "there is no PyTorch 2 here")
class PyTorch(unittest.TestCase):
    """The real one, on the CPU."""

    def test_tensors(self):
        torch, chain = the_torch, fc.chain(SMOOTH)
        x = torch.tensor([0, 4, 0, 8.])
        self.assertEqual(chain(x).tolist(), [1, 2, 3, 4])
        self.assertEqual(chain(torch.tensor([0, 9, 4, 9, 0, 9, 8, 9.])[::2]).tolist(), [1, 2, 3, 4])
        self.assertIs(chain(x, out=(out := torch.zeros(4))), out)
        self.assertEqual(out.tolist(), [1, 2, 3, 4])
        images = torch.randint(0, 256, (2, 3, 20, 30), dtype=torch.uint8)
        sep = fc.chain("sepconv:[1,2,1]/4")
        for layout, order in (("nchw", (0, 1, 2, 3)), ("nhwc", (0, 2, 3, 1)), ("cnwh", (1, 0, 3, 2))):
            y = sep(images.permute(order), layout=layout, dtype=torch.uint8)
            self.assertEqual((y.dtype, y.shape), (torch.uint8, images.permute(order).shape))
            self.assertTrue(torch.equal(y, sep(images, layout="nchw", dtype="uint8").permute(order)))
        self.assertTrue(torch.equal(sep(images.to(memory_format=torch.channels_last), layout="nchw"), sep(images, layout="nchw")))
        self.assertEqual(chain(torch.zeros(0)).shape, (0,))
        self.assertEqual(chain(torch.nn.Parameter(x, requires_grad=False)).tolist(), [1, 2, 3, 4])
        with torch.inference_mode():
            self.assertEqual(chain(x + 0).tolist(), [1, 2, 3, 4])
        self.assertEqual(str(fc.op("conv1d", torch.tensor([1., 2]))), "conv1d:[1.0,2.0]")
        self.assertEqual(fc.chain("stats:sum").measure(x)["stats"]["sum"], 12)

    def test_refused(self):
        torch, chain = the_torch, fc.chain(SMOOTH)
        x = torch.zeros(4)
        for wrong in (torch.nn.Parameter(x), x.half(), x.bool(), x.long(), x.bfloat16(), torch.zeros(4, dtype=torch.complex64)):
            with self.subTest(str(wrong.dtype)), self.assertRaises(TypeError):
                chain(wrong)
        for wrong in (x.to("meta"), x.to_sparse(), torch.zeros((1,) * 5)):
            with self.assertRaises((ValueError, BufferError)) as caught:
                chain(wrong)
            self.assertNotIn("\n", str(caught.exception))
        with self.assertRaisesRegex(TypeError, "resolve_neg"):
            chain(torch.conj(torch.tensor([1 + 2j, 3 - 4j])).imag)
        with self.assertRaises(TypeError):
            chain(x, out=torch.nn.Parameter(torch.zeros(4)))
        with self.assertRaisesRegex(ValueError, "in one place"):
            chain(x, out=torch.zeros(1).expand(4))

    @needs_numpy
    def test_out_of_another_library(self):
        x, chain = np.array([0, 4, 0, 8], "f4"), fc.chain(SMOOTH)
        self.assertEqual(chain(x, out=the_torch.zeros(4)).tolist(), [1, 2, 3, 4])
        self.assertEqual(chain(the_torch.from_numpy(x), out=np.zeros(4)).tolist(), [1, 2, 3, 4])


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
