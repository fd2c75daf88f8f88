#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What ./bootstrap builds, by the commands that it would run: meson, ninja and the tools of CUDA are scripts that write
down their arguments."""
import os
import shutil
import subprocess
import sys

import harness

STUBS = {
    "meson": 'if [ "$1" = setup ]; then for last; do previous=$folder; folder=$last; done; mkdir -p "$previous"; : >"$previous/build.ninja"; fi',
    "ninja": 'mkdir -p "$2/cli"; printf "#!/bin/sh\\ncase \\$* in *cuda*) echo gpu ;; *) echo filter ;; esac >>\\"$LOG\\"\\n" >"$2/cli/filterchain"; chmod +x "$2/cli/filterchain"',
    "nvcc": "",
    "pkg-config": "",
    "apt-get": "exit 1",
}
CPU = "-Dcuda=disabled"
H200 = "-Dcuda=enabled -Dgpu_arch=90 -Dgpu_kernels=composed"
ALL = "-Dcuda=enabled -Dgpu_arch=90 -Dgpu_kernels=built"


class Bootstrap(harness.Case):
    def setUp(self):
        super().setUp()
        shutil.copy(os.path.join(harness.SOURCE, "bootstrap"), self.path("bootstrap"))
        os.mkdir(self.path("bin"))
        for name, body in STUBS.items():
            self.stub(name, body if name == "pkg-config" else f'echo "{name} $*" >>"$LOG"\n{body}')

    def stub(self, name, body):
        with open(self.path("bin/" + name), "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{body}\n")
        os.chmod(self.path("bin/" + name), 0o755)

    def run_bootstrap(self, command, gpu=None, **environment):
        """The commands that it ran: options of meson, "build", "filter"."""
        self.stub("nvidia-smi", f"echo {gpu}" if gpu else "exit 9")
        log = self.path("log")
        open(log, "w", encoding="utf-8").close()
        variables = {**os.environ, "PATH": self.path("bin") + ":" + os.environ["PATH"], "LOG": log, "FILTERCHAIN_CUDA_ARCH": "", **environment}
        done = subprocess.run([self.path("bootstrap"), *command.split()], cwd=self.folder, env=variables, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)
        steps = []
        with open(log, encoding="utf-8") as file:
            for line in file:
                words = [word for word in line.split() if word.startswith("-D") and "prefix" not in word]
                if line.startswith("meson") and words:
                    steps.append(" ".join(words))
                elif not line.startswith("meson"):
                    steps.append({"ninja": "build"}.get(line.split()[0], line.split()[0]))
        return steps

    def test_no_gpu(self):
        """No CUDA code is compiled for a demo, whether or not there is nvcc; a second time nothing is set up again."""
        self.assertEqual(self.run_bootstrap("demo"), [CPU, "build", "filter"])
        self.assertEqual(self.run_bootstrap("demo"), ["build", "filter"])
        self.assertEqual(self.run_bootstrap("install prefix"), ["-Dcuda=enabled -Dgpu_arch=portable -Dgpu_kernels=built", "build"])
        self.assertEqual(self.run_bootstrap("demo"), ["build", "filter"])  # stays what it is

    def test_a_gpu(self):
        """The first result comes from the CPU; then what runs on this GPU is built in the same folder, without the kernels that
        take many minutes; an installation has them, and a demo after it keeps them."""
        self.assertEqual(self.run_bootstrap("demo", "9.0"), [CPU, "build", "filter", H200, "build", "gpu"])
        self.assertEqual(self.run_bootstrap("demo", "9.0"), ["build", "gpu"])
        self.assertEqual(self.run_bootstrap("install prefix", "9.0"), [ALL, "build"])
        self.assertEqual(self.run_bootstrap("demo", "9.0"), ["build", "gpu"])
        self.assertEqual(self.run_bootstrap("install prefix", "9.0"), ["build"])

    def test_the_variable(self):
        self.assertEqual(self.run_bootstrap("demo", "9.0", FILTERCHAIN_CUDA_ARCH="none"), [CPU, "build", "filter"])
        self.assertEqual(self.run_bootstrap("demo", None, FILTERCHAIN_CUDA_ARCH="90"), [H200, "build", "filter"])
        self.assertEqual(self.run_bootstrap("demo", None, FILTERCHAIN_CUDA_ARCH="none"), [CPU, "build", "filter"])

    def test_a_folder_set_up_by_hand(self):
        os.makedirs(self.path("build"))
        self.write("build/build.ninja", "")
        self.assertEqual(self.run_bootstrap("demo", "9.0"), ["build", "filter"])


    def test_python(self):
        """A demo builds the Python package that the README uses: its headers are installed ahead of the first setup, and only of
        a Python that can load it. Without them it goes on."""
        version = self.path("version")
        self.stub("python3", f'case "$*" in *version_info*) exit "$(cat {version})" ;; *Python.h*) exit 1 ;; esac\nexec {sys.executable} "$@"')
        self.stub("sudo", 'exec "$@"')
        for status, asked in (("0", True), ("1", False)):
            self.write("version", status)
            shutil.rmtree(self.path("build"), ignore_errors=True)
            steps = self.run_bootstrap("demo")
            self.assertEqual("apt-get" in steps, asked, steps)
            self.assertEqual(steps[-3:], [CPU, "build", "filter"])


if __name__ == "__main__":
    harness.main()
