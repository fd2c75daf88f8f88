#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Arrays on a GPU, by the driver's own library (ctypes): __cuda_array_interface__ and DLPack in and out, on a stream."""
import array
import ctypes
import os
import sys

from support import SOURCE, fc, main, unittest

SMOOTH = "conv1d:[1,2,1]/4"


class Driver:
    """The few calls of libcuda that are needed; the device's primary context, as the runtime's."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        status = getattr(self.cuda, name)(*arguments)
        if status:
            raise OSError(f"{name}: error {status}")

    def upload(self, values):
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(len(values) * values.itemsize))
        self.call("cuMemcpyHtoD_v2", address, ctypes.c_void_p(values.buffer_info()[0]), ctypes.c_size_t(len(values) * values.itemsize))
        return address.value

    def download(self, address, code, count):
        values = array.array(code, [0] * count)
        self.call("cuCtxSynchronize")
        self.call("cuMemcpyDtoH_v2", ctypes.c_void_p(values.buffer_info()[0]), ctypes.c_uint64(address), ctypes.c_size_t(count * values.itemsize))
        return values.tolist()


class OnDevice:
    """Samples that lie on the first GPU."""

    def __init__(self, driver, values):
        self.values = array.array("f", values)
        self.address = driver.upload(self.values)

    @property
    def __cuda_array_interface__(self):
        return {"shape": (len(self.values),), "typestr": "<f4", "data": (self.address, False), "version": 3, "stream": 1}


class ByDlpack:
    """The same by DLPack, which notes the stream that it is given."""

    def __init__(self, x):
        self.held = fc._filterchain.from_pointer(x.address, (len(x.values),), None, "float32", 0, False, x)
        self.streams = []

    def __dlpack__(self, *, stream=None, max_version=None):
        self.streams.append(stream)
        return self.held.__dlpack__(stream=stream, max_version=max_version)

    def __dlpack_device__(self):
        return self.held.__dlpack_device__()


class Gpu(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.driver = DRIVER

    def address(self, y):
        return y.__cuda_array_interface__["data"][0]

    def test_interface(self):
        chain = fc.chain(SMOOTH, "gain:2")
        for _ in range(3):  # prepared, then only enqueued
            y = chain(OnDevice(self.driver, [0, 4, 0, 8]))
            self.assertEqual((y.device, y.shape, y.dtype, y.__dlpack_device__()), ("cuda:0", (4,), "float32", (2, 0)))
            self.assertEqual(self.driver.download(self.address(y), "f", 4), [2, 4, 6, 8])
        z = chain(y)  # an Array of ours on the GPU
        self.assertEqual(self.driver.download(self.address(z), "f", 4), [4, 8, 12, 11])
        chain.check()

    def test_dlpack(self):
        x = ByDlpack(OnDevice(self.driver, [0, 4, 0, 8]))
        y = fc.chain(SMOOTH)(x)
        self.assertEqual(x.streams[0], 1)
        again = fc._filterchain.from_dlpack(y.__dlpack__(max_version=(1, 0)))
        self.assertEqual((again.device, self.address(again)), ("cuda:0", self.address(y)))
        self.assertEqual(self.driver.download(self.address(again), "f", 4), [1, 2, 3, 4])

    def test_out(self):
        out = OnDevice(self.driver, [0] * 4)
        self.assertIs(fc.chain(SMOOTH)(OnDevice(self.driver, [0, 4, 0, 8]), out=out), out)
        self.assertEqual(self.driver.download(out.address, "f", 4), [1, 2, 3, 4])

    def test_host_arrays(self):
        y = fc.chain(SMOOTH, device="cuda")(array.array("f", [0, 4, 0, 8]))
        self.assertEqual(memoryview(y).tolist(), [1, 2, 3, 4])

    def test_refused(self):
        with self.assertRaisesRegex(fc.UnsupportedError, "host memory"):
            fc.chain("stats")(OnDevice(self.driver, [1, 2]))


class Libraries(unittest.TestCase):
    """Tensors of PyTorch and CuPy, of those that are here."""

    def setUp(self):
        sys.path.insert(0, os.path.join(SOURCE, "tests", "bench"))
        try:
            import python_call
        except ImportError as why:
            self.skipTest(f"{why}")
        self.bench, self.libraries = python_call, list(python_call.gpu_libraries())
        if not self.libraries:
            self.skipTest("there is neither PyTorch nor CuPy here")

    def test_current_stream(self):
        """A call is enqueued behind a kernel that runs, and returns at once; python_call.py exits where it is not so."""
        for tensors in self.libraries:
            self.assertTrue(self.bench.on_current_stream(tensors)["result_right"])

    def test_result(self):
        for tensors in self.libraries:
            x, chain = tensors.zeros((20, 30, 3), "uint8"), fc.chain("sepconv:[1,2,1]/4")
            tensors.fill(x, 8)
            y, strided = chain(x), chain(x[::2, ::3])
            self.assertIs(type(y), type(x))
            self.assertEqual((str(y.device), tuple(y.shape), tuple(strided.shape)), (str(x.device), (20, 30, 3), (10, 10, 3)))
            self.assertTrue((tensors.host(y) == 8).all() and (tensors.host(strided) == 8).all())
            out = tensors.zeros((20, 30, 3), "uint8")
            self.assertIs(chain(x, out=out), out)
            self.assertTrue((tensors.host(out) == 8).all())
            with self.assertRaises((fc.Error, TypeError)):
                chain(x, out=fc.array([0] * 1800, "uint8"))
            if tensors.name == "torch":
                with self.assertRaisesRegex(TypeError, "gradient"):
                    fc.chain()(tensors.zeros(4, "float32").requires_grad_())
            chain.check()


if __name__ == "__main__":
    if not fc.has_cuda:
        print("this build has no CUDA backend")
        sys.exit(77)
    try:
        DRIVER = Driver()
    except OSError as reason:
        print(f"there is no GPU: {reason}")
        sys.exit(77)
    main()
