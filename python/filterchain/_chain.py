# SPDX-License-Identifier: MIT
"""Chains, their stages, and files in and out."""
import array as arrays
import concurrent.futures
import numbers
import os

from . import _filterchain, _helpers


def _flatten(values):
    """(rows, columns, float64 buffer) of an array of one or two dimensions, or of lists of numbers."""
    if not isinstance(values, (list, tuple, range)):
        values = values.tolist() if hasattr(values, "tolist") else memoryview(_helpers.as_array(values)).tolist()
    rows = list(values)
    if rows and isinstance(rows[0], (list, tuple)):
        if any(len(row) != len(rows[0]) for row in rows):
            raise ValueError("the rows of a table are not equally long")
        return len(rows), len(rows[0]), arrays.array("d", [number for row in rows for number in row])
    return 1, len(rows), arrays.array("d", rows)


def _quoted(text):
    """Text as a stage's value, with separators quoted."""
    return text.replace("\\", "\\\\").replace(":", "\\:").replace("'", "\\'")


def _number(value):
    return "yes" if value is True else "no" if value is False else repr(float(value)) if isinstance(value, float) else str(value)


class Op:
    """A stage from values: numbers, texts, lists, and arrays for tables and further inputs. str() is its text."""

    def __init__(self, name, *main, **values):
        if len(main) > 1:
            raise TypeError(f"{name}: one value without a name is taken, and there are {len(main)}")
        self.name = name
        self._given = (main, values)
        params = operators_by_name().get(name, {"params": []})["params"]
        described = {param["name"]: param for param in params}
        pairs = [(None, value) for value in main] + [(key.removesuffix("_"), value) for key, value in values.items()]
        self._values = tuple((key, self._value(key, value, described)) for key, value in pairs if value is not None)

    def _value(self, key, value, described):
        """In the form that the extension module takes."""
        if isinstance(value, str):
            return value
        if isinstance(value, (bool, numbers.Number)) and not hasattr(value, "__len__"):
            return _number(value.item() if hasattr(value, "item") else value)
        if isinstance(value, os.PathLike):
            return os.fspath(value)
        param = described.get(key) or next((p for p in described.values() if key is None and p["main"]), None)
        kind = param["type"] if param else "table"
        if kind == "table":
            return _flatten(value)
        if kind == "input":
            return _helpers.as_array(value)
        return ",".join(item if isinstance(item, str) else _number(item) for item in value)

    def __reduce__(self):
        return _remake, (self.name, *self._given)

    def __str__(self):
        parts = [self.name]
        for key, value in self._values:
            if isinstance(value, tuple):
                rows, cols, data = value
                lines = (",".join(map(repr, data[row * cols:(row + 1) * cols])) for row in range(rows))
                value = "[" + ";".join(lines) + "]"
            elif isinstance(value, _filterchain.Array):
                value = repr(value)
            else:
                value = _quoted(value)
            parts.append(f"{key}={value}" if key else value)
        return ":".join(parts)

    def __repr__(self):
        return f"filterchain.op({str(self)!r})"


def _remake(name, main, values):
    return Op(name, *main, **values)


def op(name, *main, **values):
    """A stage of the operator `name`: `fc.op("conv1d", mask=h, border="wrap")`. A value without a name is that of
    the operator's main parameter. Tables and further inputs may be arrays; further inputs are read when the chain runs,
    and must not change during a run."""
    return Op(name, *main, **values)


class Chain(_filterchain.Chain):
    """Stages in order, ready to be called; made by `chain`. A chain may be called from several threads at once.

    A call takes an array and returns one: `chain(x)`. Arguments by name:

    - `layout`: a letter for each dimension of x, in its order: `t` time or `h` and `w` an image's sides or `y` and
      `x` an array's, `c` channels, `n` images or sounds of a batch. Required where shape and type do not determine it.
    - `rate`: the sample rate of sound in Hz; `bits`: the number of significant bits of an integer.
    - `dtype`: the element type of the result; by default the chain's own, which is float32 for operators that compute.
    - `out`: an array of the right shape for the result.
    - `seed`, `epoch`, `random_name`: the numbers of random operators depend only on these and on the frame of a batch;
      the name of a file is its path.
    - `progress`: called with the amount done and the total, or None, at most ten times a second; an exception, or
      returning False, stops the run.
    """

    def __new__(cls, *stages, **options):
        specs = tuple((stage.name, stage._values) if isinstance(stage, Op) else stage for stage in stages)
        for spec in specs:
            if not isinstance(spec, (str, tuple)):
                raise TypeError(f"a stage is text, or made by filterchain.op: {spec!r}")
        self = super().__new__(cls, specs, **options)
        self.stages, self.options = stages, options
        return self

    def __reduce__(self):
        return _remake_chain, (self.stages, self.options)

    def __repr__(self):
        return f"filterchain.chain({', '.join(repr(str(stage)) for stage in self.stages)})"

    def read(self, path, **options):
        """Reads a file through the chain and returns an `Array`."""
        return self._load(os.fspath(path), **options)

    def decode(self, content, **options):
        """The same for a file whose content is in memory. Images are decoded in a confined child process."""
        return self._load(memoryview(content), **options)

    def run(self, source=None, to=None, **options):
        """Filters a file into a file, as the command does, and returns a dict: `device`, `reason`, `seconds`,
        `chunks`, `measured`. `source` is None for a chain that begins with a generator; `to` is None if only measurements
        are wanted. Options of files follow their names, as in "out.jpg:quality=85"."""
        return _tidy(self._run_file(source, to, 0, **options))

    def run_files(self, pairs, **options):
        """`run` for many pairs of files, several at a time on `threads` threads: a list with the dict that `run` returns, or the
        `fc.Error`, for each. A file that fails does not stop the others. `progress` counts files."""
        return [each if isinstance(each, _filterchain.Error) else _tidy(each) for each in self._run_files(list(pairs), **options)]

    def each(self, inputs, *, names=None, layout=None, rate=None, dtype=None, threads=None):
        """The results of many inputs - files in memory, paths (texts), or arrays with `layout` and `rate` - several at a time on
        `threads` threads: a list with an array, or the exception, for each. `names` are the random_name of each. On a GPU images in
        memory that have the same size are processed by one call."""
        inputs, names = list(inputs), [None] * len(inputs) if names is None else list(names)
        threads = threads or self.options.get("threads") or len(os.sched_getaffinity(0))
        stop = arrays.array("i", [0])
        options = {"dtype": dtype, "threads": max(threads // max(len(inputs), 1), 1), "_stop": stop}
        contents = [_is_content(x) for x in inputs]
        apart = self.options.get("device", "auto") in ("auto", "cpu") or names.count(None) < len(names) or not all(contents)

        def call(x, name, content):
            if not content and not isinstance(x, (str, os.PathLike)):
                return _attempt(self, x, layout=layout, rate=rate, random_name=name, **options)
            return _attempt(self.decode if content else self.read, x, random_name=name, **options)
        with concurrent.futures.ThreadPoolExecutor(max(min(threads, len(inputs)), 1)) as pool:
            try:
                if apart:
                    return list(pool.map(call, inputs, names, contents))
                return self._together(list(pool.map(lambda x: _attempt(decode, x, _stop=stop), inputs)), dtype)
            except BaseException:  # Ctrl-C
                stop[0] = 1
                raise

    def _together(self, found, dtype):
        """Results of decoded images; those of one size are one call."""
        sizes = {}
        for i, x in enumerate(found):
            sizes.setdefault(getattr(x, "shape", None), []).append(i)
        for rows in (rows for size, rows in sizes.items() if size is not None):
            together = _filterchain.stack([found[i] for i in rows])
            made = _attempt(self, together, dtype=dtype) if together else None
            made = _filterchain.unstack(made) if isinstance(made, _filterchain.Array) else None
            for i, result in zip(rows, made or [_attempt(self, found[i], dtype=dtype) for i in rows]):
                found[i] = result
        return found

    def explain(self, source=None, to=None, json=False, **options):
        """Describes what `run` would do, as text or as JSON; nothing is written."""
        return self._run_file(source, to, 2 if json else 1, **options)

    def check(self):
        """To be called when the stream has completed calls on a GPU: raises an exception if a NaN was to be converted to an
        integer. Calls on the CPU raise it themselves."""
        self._check()

    def measure(self, x, **options):
        """The measurements of the chain's operators for an array, or for a file: {operator: {name: value}}. Values per
        channel are a list under the name with the suffix `_channels`."""
        if isinstance(x, (str, os.PathLike)):
            return self.run(x, None, **options)["measured"]
        return _tidy(self._save(_helpers.lend(x), None, **options))["measured"]


def _is_content(x):
    """Whether it holds an encoded file, rather than being a path or an array."""
    return isinstance(x, (bytes, bytearray, memoryview)) or not (
        isinstance(x, (str, os.PathLike)) or hasattr(x, "__dlpack__") or hasattr(x, "__array_interface__"))


def _attempt(call, *arguments, **options):
    """The result, or the exception that an input caused."""
    try:
        return call(*arguments, **options)
    except (_filterchain.Error, TypeError) as error:
        return error


def _remake_chain(stages, options):
    return Chain(*stages, **options)


def _tidy(result):
    """Measurements as a dict. The second stage of an operator is called "stats.2"."""
    names, stages = {}, {}
    for stage, operator, name, _unit, channel, value in result["measured"]:
        if stage not in stages:
            count = sum(other.split(".")[0] == operator for other in names) + 1
            stages[stage] = operator if count == 1 else f"{operator}.{count}"
            names[stages[stage]] = {}
        values = names[stages[stage]]
        if channel < 0:
            values[name] = value
        else:
            values.setdefault(f"{name}_channels", []).append(value)
    result["measured"] = names
    return result


def chain(*stages, **options):
    """A chain of stages: texts as for the command's -p, or results of `op`. Options for all runs:
    `device` ("auto", "cpu", "cuda", "cuda:1"), `threads`, `precision` ("f32", "f64"), `chunk`; `fuse`: "auto", "no" to run stages one
    by one, "wait" to wait for the compiler of joined kernels, all to the same bits, "algebra" to multiply out linear stages; `latency`: for files of live sound, the seconds that a
    sample may be held."""
    return Chain(*stages, **options)


def read(path, **options):
    """The samples of a file, as an `Array` with its layout, rate and bits. `dtype` and `progress` as in a call."""
    return _copier().read(path, **options)


def decode(content, **options):
    """The samples of a file whose content is in memory."""
    return _copier().decode(content, **options)


def write(path, x, *, layout=None, rate=None, bits=None, **options):
    """Writes an array to a file, in the format given by its name."""
    _copier()._save(_helpers.lend(x), path, layout=layout, rate=rate, bits=bits, **options)


kept = {}


def _copier():
    """The empty chain, which copies; one per process."""
    return kept.setdefault(os.getpid(), Chain())


def array(values, dtype="float32", *, layout=None, rate=None, bits=None):
    """An `Array` on the memory of any array, with `layout`, `rate` and `bits`, which shape and type do not tell; or a
    one-dimensional array made from numbers, for programs without NumPy."""
    if isinstance(values, (list, tuple, range)):
        codes = {"uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "float32": "f", "float64": "d"}
        values = arrays.array(codes[dtype], values)
    return _filterchain.describe(_helpers.as_array(values), layout, rate or 0, bits or 0)


def operators():
    """The available operators, each a dict: name, summary, doc, params, examples, kinds."""
    return _filterchain.operators()


def operators_by_name():
    """Their descriptions, which are read once."""
    if "operators" not in kept:
        kept["operators"] = {each["name"]: each for each in _filterchain.operators()}
    return kept["operators"]
