# SPDX-License-Identifier: MIT
"""Chains over batches of rows: for Ray Data's map_batches, and for Dask, Spark and Beam, which call the same callable.

    ds.map_batches(filterchain.ray.Chain, fn_constructor_args=["sepconv:[1,2,1]/4"], concurrency=4)

The chain is parsed once an actor. The device is said, not guessed: of `num_gpus` a worker on the CPU hides nothing.
Nothing of Ray is imported but by `images`.
"""
import os
import pathlib

import filterchain as fc


def _rows(values):
    """The rows of a column of Arrow, where they lie, or of a batch of NumPy's."""
    return [row.as_buffer() if hasattr(row, "as_buffer") else row.as_py() if hasattr(row, "as_py") else row for row in values]


def _list_column(rows):
    """Arrow's lists of numbers, a row each, None where there is none."""
    import numpy
    import pyarrow
    flat = [None if row is None else numpy.asarray(row).ravel() for row in rows]
    there = [row for row in flat if row is not None] or [numpy.zeros(0, "f4")]
    ends = numpy.cumsum([0] + [0 if row is None else row.size for row in flat])
    missing = pyarrow.array([row is None for row in flat])
    return pyarrow.LargeListArray.from_arrays(pyarrow.array(ends, pyarrow.int64()), pyarrow.array(numpy.concatenate(there)), mask=missing)


class Chain:
    """A chain for batches, of batch_format "numpy" (a dict of arrays) or "pyarrow" (a table). Of each row `column` holds the
    content of a file, the path of one (a string), or samples; the result comes into the column `to`. In a table that is a list
    of numbers, with its shape beside it in TO_shape. A row that fails makes `on_error`: "raise" fail the batch, "drop" leave the
    row out, "column" leave `to` empty and say why in the column `error`."""

    def __init__(self, *stages, column="bytes", to="data", on_error="raise", device="cpu", layout=None, rate=None, dtype=None, **options):
        if on_error not in ("raise", "drop", "column"):
            raise ValueError(f"on_error={on_error}: expected raise, drop or column")
        self.chain, self.layout = fc.chain(*stages, device=device, **options), layout
        self.column, self.to, self.on_error, self.asked = column, to, on_error, {"rate": rate, "dtype": dtype}

    def _row(self, row):
        if isinstance(row, str):
            return self.chain.read(row, dtype=self.asked["dtype"])
        if isinstance(row, (bytes, bytearray, memoryview)) or type(row).__name__ == "Buffer":
            return self.chain.decode(row, dtype=self.asked["dtype"])
        return self.chain(row, layout=self.layout, **self.asked)

    def _all(self, values):
        """(results, sentences of what failed or None), a row each; images of one size by one call."""
        import numpy
        if isinstance(values, numpy.ndarray) and values.ndim >= 3 and values.dtype != object:
            try:
                return self.chain(values, layout="n" + (self.layout or "hwc"[:values.ndim - 1]), **self.asked), [None] * len(values)
            except fc.Error:
                pass  # row by row it is told whose fault it is
        results, errors = [], []
        for row in _rows(values):
            try:
                results.append(numpy.asarray(self._row(row)))
                errors.append(None)
            except (fc.Error, TypeError) as error:
                if self.on_error == "raise":
                    raise
                results.append(None)
                errors.append(str(error))
        return results, errors

    def __call__(self, batch):
        import numpy
        results, errors = self._all(batch[self.column])
        keep = [i for i, error in enumerate(errors) if error is None or self.on_error == "column"]
        if isinstance(batch, dict):
            made = {name: values if len(keep) == len(errors) else values[keep] for name, values in batch.items() if name != self.column}
            made[self.to] = results if isinstance(results, numpy.ndarray) else _stack([results[i] for i in keep])
            return {**made, "error": numpy.array(errors, object)} if self.on_error == "column" else made
        table, rows = batch.drop_columns([self.column]).take(keep), [results[i] for i in keep]
        table = table.append_column(self.to, _list_column(rows))
        table = table.append_column(f"{self.to}_shape", _list_column([None if row is None else numpy.array(row.shape, "i8") for row in rows]))
        return table.append_column("error", [errors]) if self.on_error == "column" else table


def _stack(rows):
    """One array of rows of one shape, else an array of arrays."""
    import numpy
    if rows and all(row is not None and row.shape == rows[0].shape for row in rows):
        return numpy.stack(rows)
    made = numpy.empty(len(rows), object)
    made[:] = rows
    return made


class Files:
    """From files to files: the column `path` of a batch names them, `out` is a folder, or a pattern as "out/{stem}.png". What is
    there already is not made again: outputs are complete or not there, so a job that was cut off goes on where it was."""

    def __init__(self, *stages, out, resume=True, on_error="column", device="cpu", **options):
        self.chain, self.resume, self.on_error = fc.chain(*stages, device=device, **options), resume, on_error
        self.out = str(out) if "{stem}" in str(out) else os.path.join(out, "{stem}{suffix}")

    def __call__(self, batch):
        import numpy
        outputs, errors = [], []
        for path in map(str, batch["path"]):
            to = self.out.replace("{stem}", pathlib.Path(path).stem).replace("{suffix}", pathlib.Path(path).suffix)
            try:
                if not (self.resume and os.path.exists(to)):
                    self.chain.run(path, to)
                errors.append(None)
            except fc.Error as error:
                if self.on_error == "raise":
                    raise
                errors.append(str(error))
            outputs.append(to)
        kept = [i for i, error in enumerate(errors) if error is None or self.on_error == "column"]
        return {"path": batch["path"][kept], "out": numpy.array(outputs, object)[kept], "error": numpy.array(errors, object)[kept]}


def images(paths, stages, out, *, concurrency=None, num_gpus=0, **options):
    """The usual job: files through a chain into files, on the workers of a cluster that see the same folders. A dataset of path,
    out and error, which is worked on when it is read. `options` are those of `Files` and of chains."""
    import ray
    stages = [stages] if isinstance(stages, (str, fc.Op)) else list(stages)
    return ray.data.from_items([{"path": str(path)} for path in paths]).map_batches(
        Files, fn_constructor_args=stages, fn_constructor_kwargs={"out": str(out), **options}, batch_size=32,
        concurrency=concurrency or 1, num_gpus=num_gpus)
