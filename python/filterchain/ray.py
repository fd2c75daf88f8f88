# SPDX-License-Identifier: MIT
"""Chains over batches of rows: for Ray Data's map_batches, and for Dask, Spark and Beam, which call the same callables.

    ds.map_batches(filterchain.ray.Chain, fn_constructor_args=["sepconv:[1,2,1]/4"], compute=ray.data.ActorPoolStrategy(size=4))

A chain is parsed once per actor. The device must be given: `num_gpus=0` does not hide GPUs from a worker."""
import os
from pathlib import Path

import numpy
import filterchain as fc


class _Rows:
    """What to do with rows that fail: "raise" an error for the batch, "drop" the row, "column": a message in the column `error`."""

    def __init__(self, stages, on_error, device, options, **asked):
        if on_error not in ("raise", "drop", "column"):
            raise ValueError(f"on_error={on_error}: expected raise, drop or column")
        self.chain, self.on_error, self.asked = fc.chain(*stages, device=device, **options), on_error, asked

    def sort(self, found, convert=lambda result: result):
        """(results, errors, which rows stay) of a list of results and exceptions"""
        errors = [str(each) if isinstance(each, Exception) else None for each in found]
        if self.on_error == "raise" and any(errors):
            raise next(each for each in found if isinstance(each, Exception))
        results = [None if error else convert(each) for each, error in zip(found, errors)]
        return results, errors, [i for i, e in enumerate(errors) if e is None or self.on_error == "column"]


class Chain(_Rows):
    """For batches of batch_format "numpy" (a dict of arrays) or "pyarrow" (a table). In each row `column` holds the content of
    a file, a path (a string), or samples; the result is stored in the column `to`, in a table as a list of numbers with its
    shape in TO_shape. Rows are decoded on `threads` threads; images of one size are one call if they come in an array or go to a
    GPU. Random operators depend on `seed`, `epoch` and the column `key` (an id), not on which rows share a batch. Without `key` a
    path is its own id, but all rows that hold content or samples in a list draw the same numbers, and those in an array by their place in it."""

    def __init__(self, *stages, column="bytes", to="data", key=None, on_error="raise", device="cpu", layout=None, rate=None,
                 dtype=None, **options):
        super().__init__(stages, on_error, device, options, rate=rate, dtype=dtype)
        self.column, self.to, self.key, self.layout = column, to, key, layout

    def _rows(self, rows, names):
        rows = [row.as_buffer() if hasattr(row, "as_buffer") else row.as_py() if hasattr(row, "as_py") else row for row in rows]
        return self.chain.each(rows, names=map(str, names) if self.key else None, layout=self.layout, **self.asked)

    def __call__(self, batch):
        values, names = batch[self.column], batch[self.key or self.column]
        if isinstance(batch, dict) and values.ndim >= 3 and values.dtype != object and not self.key:
            results, errors, keep = self.chain(values, layout="n" + (self.layout or "hwc"[:values.ndim - 1]), **self.asked), [None] * len(values), slice(None)
        else:
            results, errors, keep = self.sort(self._rows(values, names), numpy.asarray)
        return (self._numpy if isinstance(batch, dict) else self._arrow)(batch, results, errors, keep)

    def _numpy(self, batch, results, errors, keep):
        if isinstance(results, list):
            rows = [results[i] for i in keep]
            alike = len({getattr(row, "shape", None) for row in rows}) == 1 and rows[0] is not None
            results = numpy.stack(rows) if alike else numpy.array([*rows, None], object)[:-1]
        made = {name: values[keep] for name, values in batch.items() if name != self.column} | {self.to: results}
        return made | {"error": numpy.array(errors, object)} if self.on_error == "column" else made

    def _arrow(self, table, results, errors, keep):
        import pyarrow
        flat = pyarrow.array([results[i] if errors[i] else results[i].ravel() for i in keep])
        shapes = pyarrow.array([None if errors[i] else results[i].shape for i in keep], pyarrow.list_(pyarrow.int64()))
        made = table.drop_columns([self.column]).take(keep).append_column(self.to, flat).append_column(f"{self.to}_shape", shapes)
        return made.append_column("error", pyarrow.array(errors, pyarrow.string())) if self.on_error == "column" else made


class Files(_Rows):
    """Filters the files in the column `path` into those in the column `out`, several at a time. Existing outputs are not made again:
    outputs are complete or missing, so that an interrupted job continues where it stopped."""

    def __init__(self, *stages, resume=True, on_error="column", device="cpu", **options):
        super().__init__(stages, on_error, device, options, resume=resume)

    def __call__(self, batch):
        pairs = list(zip(map(str, batch["path"]), map(str, batch["out"])))
        missing = [i for i, pair in enumerate(pairs) if not (self.asked["resume"] and os.path.exists(pair[1]))]
        made = dict(zip(missing, self.chain.run_files([pairs[i] for i in missing])))
        _, errors, keep = self.sort([made.get(i) for i in range(len(pairs))])
        return {"path": batch["path"][keep], "out": batch["out"][keep], "error": numpy.array(errors, object)[keep]}


def images(paths, stages, out, *, concurrency=1, num_gpus=0, **options):
    """Filters files into the folder `out`, which all workers must see ("out/{stem}.jpg" changes names): a dataset to be read."""
    import ray.data
    out = str(out) if "{stem}" in str(out) else os.path.join(out, "{stem}{suffix}")
    names = [out.replace("{stem}", Path(path).stem).replace("{suffix}", Path(path).suffix) for path in paths]
    if len(set(names)) < len(names):
        raise ValueError("two of the files would become one: their names differ in nothing but folders")
    rows = ray.data.from_items([{"path": str(path), "out": name} for path, name in zip(paths, names)])
    return rows.map_batches(Files, fn_constructor_args=[stages] if isinstance(stages, (str, fc.Op)) else list(stages), num_gpus=num_gpus,
                            fn_constructor_kwargs=options, batch_size=32, compute=ray.data.ActorPoolStrategy(size=concurrency))
