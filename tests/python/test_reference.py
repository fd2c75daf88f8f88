#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is made of the descriptors: the reference's examples run, the stubs name all operators and parameters, and the
pages of docs/ do what they say."""
import ast
import doctest
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from support import SOURCE, fc, main, needs_numpy, np, unittest

TYPED = """
import filterchain as fc

chain: fc.Chain = fc.chain("gain:2", fc.ops.conv1d([1, 2]), device="cpu", threads=1, seed=3, fuse="wait", latency=0.02)
chain(b"", layout="x", rate=8000, seed=4, random_name="x")
shape: tuple[int, ...] = fc.read("x.wav", dtype="float32").shape
did: dict[str, object] = chain.run("a", "b", progress=lambda done, total: True)
failed = [each for each in chain.run_files([("a", "b")]) if isinstance(each, fc.Error)]
chain.each([b""], names=["x"], threads=2)
fc.ray.Chain("gain:2", on_error="drop", key="id")
fc.ray.images(["a"], "gain:2", "out", concurrency=2)

@fc.operator(halo=1)
def mine(x: object, strength: float = 1.0) -> object:
    return x
"""
PACKAGE = pathlib.Path(fc.__file__).parent


class Reference(unittest.TestCase):
    def run_doctest(self, path, least, look=lambda folder: None):
        """In a process of its own and a folder with the examples, which `look` is shown afterwards."""
        self.assertGreater(pathlib.Path(path).read_text(encoding="utf-8").count(">>>"), least)
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(os.path.join(SOURCE, "examples"), os.path.join(folder, "examples"))
            done = subprocess.run([sys.executable, "-m", "doctest", "-o", "ELLIPSIS", path], cwd=folder, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout)
            look(pathlib.Path(folder))

    def test_examples(self):
        self.run_doctest(PACKAGE / "reference.md", 50)

    def test_docstrings(self):
        failed, tried = doctest.testmod(fc, optionflags=doctest.ELLIPSIS)
        self.assertEqual(failed, 0)
        self.assertGreater(tried, 1)

    def test_readme(self):
        self.run_doctest(os.path.join(SOURCE, "README.md"), 2)

    @needs_numpy
    def test_page(self):
        self.run_doctest(os.path.join(SOURCE, "docs", "python.md"), 20)
        self.run_doctest(os.path.join(SOURCE, "docs", "cluster.md"), 5)

    @needs_numpy
    def test_tour(self):
        """The pictures are those that the page makes, but for a value more or less: powers and roots are libm's."""
        pictures = pathlib.Path(SOURCE, "docs", "pictures", "tour")

        def look(folder):
            shutil.copy(folder / "examples" / "picture.png", folder)
            names = {path.name for path in folder.glob("*.png")} - {"small.png"}
            self.assertEqual(names, {path.name for path in pictures.glob("*.png")})
            for name in names:
                made, kept = (np.asarray(fc.read(place / name)).astype("i4") for place in (folder, pictures))
                self.assertLessEqual(abs(made - kept).max(), 1, name)
        self.run_doctest(os.path.join(SOURCE, "docs", "python-tour.md"), 20, look)

    def test_stubs(self):
        functions = {node.name: node for node in ast.parse((PACKAGE / "ops.pyi").read_text(encoding="utf-8")).body
                     if isinstance(node, ast.FunctionDef)}
        self.assertEqual(sorted(functions), dir(fc.ops))
        for described in fc.operators():
            arguments = functions[described["name"]].args
            names = [argument.arg.removesuffix("_") for argument in arguments.args + arguments.kwonlyargs]
            self.assertEqual(sorted(names), sorted(param["name"] for param in described["params"]))
        for stub in PACKAGE.glob("*.pyi"):
            ast.parse(stub.read_text(encoding="utf-8"))

    def test_public_names(self):
        """The hand-written stub names what the package does."""
        tree = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
        names = {alias.asname for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
        names |= {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign)} - {"__version__"}
        self.assertEqual(names, {*fc.__all__, "ray"})  # which wants NumPy, and is imported when it is used

    def test_stubs_by_mypy(self):
        """What the stubs say exists, with these arguments; and a program that uses all of it is well typed."""
        if not importlib.util.find_spec("mypy"):
            self.skipTest("there is no mypy here")
        where = dict(os.environ, MYPYPATH=str(PACKAGE.parent))
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "program.py")
            program.write_text(TYPED, encoding="utf-8")
            done = subprocess.run([sys.executable, "-m", "mypy", "--strict", str(program)], cwd=folder, env=where, stdout=subprocess.PIPE, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout)

    def test_wheel(self):
        """What is installed with a wheel (the tags in pyproject.toml) lies where wheels have folders: meson-python refuses the rest."""
        plan = PACKAGE.parents[1] / "meson-info" / "intro-install_plan.json"
        if not plan.exists():
            self.skipTest("not in a build folder")
        placed = {details["destination"] for targets in json.loads(plan.read_text(encoding="utf-8")).values() for details in targets.values()
                  if details["tag"] in ("runtime", "python-runtime")}
        self.assertIn("{py_platlib}/filterchain/__init__.py", placed)
        self.assertEqual([place for place in placed if place.startswith("{libexecdir}")], [])

    def test_functions(self):
        self.assertEqual(str(fc.ops.conv1d([1, 2, 1], border="wrap", flip=False)), "conv1d:[1.0,2.0,1.0]:border=wrap:flip=no")
        self.assertEqual(fc.chain(fc.ops.gain("-6dB"), fc.ops.clip(min=0)).operators, ("gain", "clip"))
        self.assertEqual(str(fc.ops.mel(20, from_="spectrum")), "mel:20:from=spectrum")
        self.assertEqual(str(fc.ops.mix([1, 0])), "mix:1,0")
        with self.assertRaises(AttributeError):
            fc.ops.conv1


if __name__ == "__main__":
    main()
