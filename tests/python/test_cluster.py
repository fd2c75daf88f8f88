#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The callables for clusters: bare, on a local Ray, and in Dask. What is not installed is skipped."""
import os
import pathlib
import pickle
import shutil
import signal
import subprocess
import tempfile
import time

from support import PICTURE, SPEECH, fc, main, needs_numpy, np, unittest


def module(name):
    """The module, or None."""
    try:
        return __import__(name)
    except ImportError:
        return None


pyarrow, ray, dask = module("pyarrow"), module("ray"), module("dask")
COMMAND = os.path.join(os.path.dirname(os.environ["PYTHONPATH"]), "cli", "filterchain")
STAGE = "sepconv:[1,2,1]/4"


def content(path):
    return pathlib.Path(path).read_bytes()


class Folder(unittest.TestCase):
    """A folder, images in it, and what is expected of them."""

    def setUp(self):
        held = tempfile.TemporaryDirectory(prefix="filterchain-cluster-")
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name)
        self.image = np.asarray(fc.read(PICTURE))
        self.blurred = fc.chain(STAGE)(self.image)
        self.batch = {"id": np.arange(3), "bytes": np.array([content(PICTURE), b"broken", content(PICTURE)], object)}

    def files(self, count):
        paths = []
        for i in range(count):
            paths.append(self.folder / f"in{i}.png")
            shutil.copy(PICTURE, paths[-1])
        (self.folder / "bad.png").write_bytes(b"broken")
        return [*paths, self.folder / "bad.png"]

    def expected(self, suffix="png"):
        """What the command makes of it."""
        subprocess.run([COMMAND, "-q", "-i", PICTURE, "-p", STAGE, "-o", self.folder / f"expected.{suffix}"], check=True)
        return content(self.folder / f"expected.{suffix}")


@needs_numpy
class Bare(Folder):
    def test_encoded_rows(self):
        made = fc.ray.Chain(STAGE, on_error="column")(self.batch)
        self.assertEqual(sorted(made), ["data", "error", "id"])
        np.testing.assert_array_equal(made["data"][2], self.blurred)
        self.assertIsNone(made["data"][1])
        self.assertEqual([bool(error) for error in made["error"]], [False, True, False])
        made = fc.ray.Chain(STAGE, on_error="drop", dtype="uint8")(self.batch)
        self.assertEqual((made["id"].tolist(), made["data"].shape, made["data"].dtype), ([0, 2], (2, 200, 320, 3), "uint8"))
        with self.assertRaises(fc.Error):
            fc.ray.Chain(STAGE)(self.batch)
        with self.assertRaises(ValueError):
            fc.ray.Chain(STAGE, on_error="ignore")
        made = fc.ray.Chain(STAGE, on_error="drop")({"id": np.arange(1), "bytes": np.array([b"broken"], object)})
        self.assertEqual(len(made["data"]), 0)

    def test_samples(self):
        images = np.stack([self.image] * 4)
        made = fc.ray.Chain(STAGE, column="x", to="y")({"x": images})
        np.testing.assert_array_equal(made["y"], np.stack([self.blurred] * 4))
        sounds = np.random.default_rng(3).random((5, 1000)).astype("f4")
        made = fc.ray.Chain("gain:2", column="x", to="x", layout="t", rate=8000)({"x": sounds})
        np.testing.assert_array_equal(made["x"], 2 * sounds)
        made = fc.ray.Chain("gain:2", column="path")({"path": np.array([SPEECH])})
        self.assertEqual(made["data"].shape, (1, 48640))

    @unittest.skipUnless(pyarrow, "there is no pyarrow here")
    def test_arrow(self):
        table = pyarrow.table({"id": [1, 2, 3], "bytes": self.batch["bytes"].tolist()})
        made = fc.ray.Chain(STAGE, on_error="column")(table)
        self.assertEqual(made.column_names, ["id", "data", "data_shape", "error"])
        self.assertEqual(made["data_shape"].to_pylist(), [[200, 320, 3], None, [200, 320, 3]])
        np.testing.assert_array_equal(made["data"][0].values.to_numpy().reshape(200, 320, 3), self.blurred)
        self.assertEqual(fc.ray.Chain(STAGE, on_error="drop")(table)["id"].to_pylist(), [1, 3])

    def test_pickle(self):
        again = pickle.loads(pickle.dumps(fc.ray.Chain(STAGE, on_error="drop")))
        self.assertEqual(again(self.batch)["id"].tolist(), [0, 2])

    def test_files(self):
        paths = self.files(2)
        batch = {"path": np.array([str(path) for path in paths]),
                 "out": np.array([str(self.folder / f"out{i}.png") for i in range(3)])}
        job = fc.ray.Files(STAGE)
        made = job(batch)
        self.assertEqual([bool(error) for error in made["error"]], [False, False, True])
        self.assertEqual(content(made["out"][0]), self.expected())
        self.assertFalse((self.folder / "out2.png").exists())
        before = os.stat(made["out"][0]).st_mtime_ns
        job(batch)
        self.assertEqual(os.stat(made["out"][0]).st_mtime_ns, before)  # it was there
        self.assertEqual(len(fc.ray.Files(STAGE, on_error="drop", resume=False)(batch)["out"]), 2)
        self.assertNotEqual(os.stat(made["out"][0]).st_mtime_ns, before)

    @unittest.skipUnless(dask, "there is no Dask here")
    def test_dask(self):
        """The same callable, by blocks of a Dask array and by delayed rows."""
        import dask.array
        images = np.stack([self.image] * 6)
        call = fc.ray.Chain(STAGE, column="x", to="y")
        blocks = dask.array.from_array(images, chunks=(2, -1, -1, -1))
        made = blocks.map_blocks(lambda block: call({"x": block})["y"], dtype="f4", meta=np.empty((0, 0, 0, 0), "f4"))
        np.testing.assert_array_equal(made.compute(scheduler="threads"), np.stack([self.blurred] * 6))
        rows = [dask.delayed(call)({"x": images[i:i + 1]}) for i in range(3)]
        for row in dask.compute(*rows, scheduler="processes", num_workers=2):
            np.testing.assert_array_equal(row["y"][0], self.blurred)


@needs_numpy
@unittest.skipUnless(ray and pyarrow, "there is no Ray here: pip install \"ray[data]\"")
class LocalRay(Folder):
    """All on one small Ray."""

    @classmethod
    def setUpClass(cls):
        import logging
        import ray.data
        ray.init(num_cpus=4, object_store_memory=150 << 20, include_dashboard=False, log_to_driver=False,
                 logging_level=logging.ERROR)
        ray.data.DataContext.get_current().enable_progress_bars = False

    @classmethod
    def tearDownClass(cls):
        ray.shutdown()

    def test_map_batches(self):
        rows = ray.data.from_items([{"id": i, "bytes": b"broken" if i == 5 else content(PICTURE)} for i in range(12)])
        for batch_format in ("numpy", "pyarrow"):
            made = rows.map_batches(fc.ray.Chain, fn_constructor_args=[STAGE], batch_size=4, batch_format=batch_format,
                                    fn_constructor_kwargs={"on_error": "column", "dtype": "uint8"}, compute=ray.data.ActorPoolStrategy(size=1)).take_all()
            self.assertEqual(sorted(row["id"] for row in made if row["error"]), [5])
            expect = fc.chain(STAGE)(self.image, dtype="uint8").ravel()
            for row in made:
                if row["id"] != 5:
                    np.testing.assert_array_equal(np.ravel(row["data"]), expect)

    def test_images(self):
        """Byte for byte the command's; one bad file costs itself."""
        paths = self.files(10)
        (self.folder / "out").mkdir()
        made = fc.ray.images(paths, STAGE, self.folder / "out", concurrency=2).take_all()
        with self.assertRaises(ValueError):
            fc.ray.images(["a/x.png", "b/x.png"], STAGE, self.folder)
        self.assertEqual([os.path.basename(row["path"]) for row in made if row["error"]], ["bad.png"])
        expect = self.expected()
        for row in made:
            if not row["error"]:
                self.assertEqual(content(row["out"]), expect)

    def test_worker_killed(self):
        """A worker that is killed in mid-job is started again; every output is whole."""
        paths = self.files(40)
        (self.folder / "out").mkdir()

        class Slow(fc.ray.Files):
            def __call__(self, batch):
                path = os.path.join(os.path.dirname(batch["path"][0]), "killed")
                if not os.path.exists(path):
                    pathlib.Path(path).touch()
                    time.sleep(0.05)
                    os.kill(os.getpid(), signal.SIGKILL)
                return super().__call__(batch)
        rows = ray.data.from_items([{"path": str(path), "out": str(self.folder / "out" / path.name)} for path in paths])
        made = rows.map_batches(Slow, fn_constructor_args=[STAGE], batch_size=8, max_restarts=3, max_task_retries=3,
                                compute=ray.data.ActorPoolStrategy(size=1)).take_all()
        self.assertTrue((self.folder / "killed").exists())
        expect = self.expected()
        self.assertEqual(len([row for row in made if not row["error"]]), 40)
        for row in made:
            if not row["error"]:
                self.assertEqual(content(row["out"]), expect)


if __name__ == "__main__":
    main()
