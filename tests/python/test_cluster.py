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
COMMAND = os.path.join(os.path.dirname(os.environ["PYTHONPATH"].split(":")[0]), "cli", "filterchain")
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
    def test_random_without_key(self):
        """A path is an id; contents have none and draw the same; rows in an array draw by their place; `key` tells all apart."""
        paths = list(map(str, self.files(2)[:2]))

        def drawn(column, **options):
            batch = {"id": np.arange(2), "x": column}
            y = fc.ray.Chain("noise:8", column="x", to="y", seed=3, dtype="uint8", **options)(batch)["y"]
            return np.array_equal(y[0], y[1])
        contents = np.array([content(path) for path in paths], object)
        self.assertTrue(drawn(contents))
        for column in (np.array(paths, object), np.stack([self.image] * 2)):
            self.assertFalse(drawn(column))
        for column in (contents, np.array(paths, object), np.stack([self.image] * 2)):
            self.assertFalse(drawn(column, key="id"))

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
        try:
            import dask.array
        except Exception as why:  # of a NumPy and a SciPy that do not go together, whatever it is
            self.skipTest(f"Dask cannot be loaded here: {why}")
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
        for last in (False, False, True):  # it gives up after some time, which a busy machine may need
            try:
                ray.init(num_cpus=4, object_store_memory=150 << 20, include_dashboard=False, log_to_driver=False,
                         logging_level=logging.ERROR)
                break
            except Exception as why:  # of no class of its own where a node timed out; any other is an error
                ray.shutdown()
                if not isinstance(why, TimeoutError) and "timed out" not in str(why):
                    raise
                if last:
                    raise unittest.SkipTest(f"Ray does not start here: {why}")
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

    @staticmethod
    def spilled():
        """How often Ray says that it has written objects to disk."""
        logs = pathlib.Path(ray._private.worker._global_node.get_logs_dir_path())
        return sum(file.read_text(errors="replace").count("Spilled ") for file in logs.glob("raylet.*"))

    def test_resumed(self):
        """A job that was cut off after a third: what is there stays as it is, the rest is made; a part of a file is none."""
        paths = self.files(13)[:12]
        out = self.folder / "out"
        out.mkdir()
        fc.ray.images(paths[:4], STAGE, out).take_all()
        before = {path: os.stat(path).st_mtime_ns for path in out.iterdir()}
        self.assertEqual(len(before), 4)
        (out / ".x.png.tmp").write_bytes(b"what a worker left that was killed")
        made = fc.ray.images(paths, STAGE, out, concurrency=2).take_all()
        self.assertEqual([row["error"] for row in made], [None] * 12)
        self.assertEqual({path: os.stat(path).st_mtime_ns for path in before}, before)
        self.assertEqual({content(row["out"]) for row in made}, {self.expected()})

    def test_nothing_is_spilled(self):
        """Ten times the object store streams through it: 500 images of 3 MB. In one of three trials: on a busy machine Ray may
        make more than is taken."""
        for _ in range(3):
            before = self.spilled()
            self.stream()
            if self.spilled() == before:
                break
        self.assertEqual(self.spilled(), before)
        held = [ray.put(np.zeros(40 << 20, "u1")) for _ in range(8)]  # twice the store: this is, so that it would have been seen
        end = time.monotonic() + 60
        while self.spilled() == before and time.monotonic() < end:
            time.sleep(0.1)
        self.assertGreater(self.spilled(), before)
        del held

    def stream(self):
        rows = ray.data.range(500, override_num_blocks=125).map_batches(
            lambda batch: {"id": batch["id"], "x": np.stack([np.full((1000, 1000, 3), i % 251, "u1") for i in batch["id"]])}, batch_size=4)
        made = rows.map_batches(fc.ray.Chain, fn_constructor_args=["gain:0.5"], batch_size=4, compute=ray.data.ActorPoolStrategy(size=1),
                                fn_constructor_kwargs={"column": "x", "to": "y", "dtype": "uint8", "threads": 1})
        seen, size = set(), 0
        for batch in made.iter_batches(batch_size=4, prefetch_batches=0):
            for i, y in zip(batch["id"], batch["y"]):
                self.assertEqual((int(y.min()), int(y.max())), (round(i % 251 / 2), round(i % 251 / 2)))
                seen.add(int(i))
                size += y.nbytes
        self.assertEqual((seen, size), (set(range(500)), 1500000000))

    def test_random_by_row(self):
        """What is drawn is the row's, whatever it shares a batch with."""
        rows = ray.data.from_items([{"id": i, "x": self.image[:32, :32]} for i in range(8)])
        chain = fc.chain("noise:8", seed=3, epoch=1)
        expect = {i: chain(self.image[:32, :32], layout="hwc", dtype="uint8", random_name=str(i)) for i in range(8)}
        self.assertFalse(np.array_equal(expect[0], expect[1]))
        for size in (2, 8):
            made = rows.map_batches(fc.ray.Chain, fn_constructor_args=["noise:8"], batch_size=size, compute=ray.data.ActorPoolStrategy(size=1),
                                    fn_constructor_kwargs={"column": "x", "to": "y", "key": "id", "seed": 3, "epoch": 1, "dtype": "uint8"}).take_all()
            for row in made:
                np.testing.assert_array_equal(row["y"], expect[row["id"]])

    def test_checkpoint(self):
        """Ray's own checkpoints: of a job from shards to shards, through pyarrow.fs, only the rows that were not written are filtered."""
        try:
            from ray.data.checkpoint import CheckpointConfig
        except ImportError:
            self.skipTest(f"Ray {ray.__version__} has no checkpoints")
        import pyarrow.fs
        import pyarrow.parquet
        os.makedirs(self.folder / "in")
        storage = pyarrow.fs.SubTreeFileSystem(str(self.folder), pyarrow.fs.LocalFileSystem())
        context = ray.data.DataContext.get_current()
        context.checkpoint_config = CheckpointConfig("id", str(self.folder / "checkpoint"), delete_checkpoint_on_success=False)
        try:
            before = []
            for shards in (range(2), range(2, 6)):
                for i in shards:
                    rows = {"id": list(range(4 * i, 4 * i + 4)), "bytes": [content(PICTURE)] * 4}
                    pyarrow.parquet.write_table(pyarrow.table(rows), self.folder / "in" / f"{i}.parquet")
                ray.data.read_parquet(str(self.folder / "in")).map_batches(
                    fc.ray.Chain, fn_constructor_args=["resize:16x10"], fn_constructor_kwargs={"dtype": "uint8"}, batch_format="pyarrow", batch_size=4,
                    compute=ray.data.ActorPoolStrategy(size=1)).write_parquet("out", filesystem=storage)
                before = before or [os.stat(path).st_mtime_ns for path in (self.folder / "out").iterdir()]
        finally:
            context.checkpoint_config = None
        self.assertTrue(set(before) < {os.stat(path).st_mtime_ns for path in (self.folder / "out").iterdir()})
        made = pyarrow.parquet.read_table(str(self.folder / "out")).sort_by("id")
        self.assertEqual(made["id"].to_pylist(), list(range(24)))
        expect = fc.chain("resize:16x10")(self.image, dtype="uint8").ravel().tolist()
        self.assertTrue(all(row == expect for row in made["data"].to_pylist()))

    def test_worker_killed(self):
        """A worker that is killed in mid-job is started again; every output is whole."""
        paths = self.files(40)
        (self.folder / "out").mkdir()

        class Slow(fc.ray.Files):
            def __call__(self, batch):
                path = os.path.join(os.path.dirname(batch["path"][0]), "killed")
                if not os.path.exists(path):
                    pathlib.Path(path).touch()
                    super().__call__({name: values[:3] for name, values in batch.items()})
                    os.kill(os.getpid(), signal.SIGKILL)  # with part of the batch done
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
