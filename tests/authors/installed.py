# SPDX-License-Identifier: MIT
"""An installed copy of filterchain in a clean folder, for tests of what authors do. Used through Installed.

The arguments are those of tests/cli/harness.py and Meson's path: BUILD_FOLDER SOURCE_FOLDER MESON.
"""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(sys.argv[2], "tests", "cli"))
import harness  # noqa: E402

MESON = sys.argv[3]


def has_nvcc():
    return bool(shutil.which("nvcc")) or os.path.exists("/usr/local/cuda/bin/nvcc")


class Installed(harness.Case):
    """Tests with a copy in cls.root, and an environment in which it is found first."""

    @classmethod
    def setUpClass(cls):
        cls.root = tempfile.mkdtemp(prefix="filterchain-root-")
        cls.addClassCleanup(shutil.rmtree, cls.root, ignore_errors=True)
        if not shutil.which("pkg-config"):
            cls.skipTest(cls, "no pkg-config here")
        done = subprocess.run([MESON, "install", "-C", harness.BUILD, "--no-rebuild", "--quiet", "--destdir", cls.root],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        assert done.returncode == 0, done.stdout
        cls.places = {name: folder for folder, _, names in os.walk(cls.root) for name in names}
        cls.plugins = cls.places["gain.so"]
        cls.environment = {
            **harness.fixed_environment(), "PKG_CONFIG_LIBDIR": cls.places["filterchain-plugin.pc"], "PKG_CONFIG_SYSROOT_DIR": cls.root,
            "PATH": cls.places["filterchain"] + ":" + os.environ["PATH"], "XDG_CACHE_HOME": os.path.join(cls.root, "cache"),
            "CCACHE_DISABLE": "1"}

    def call(self, *command, cwd=None, status=0, **more):
        """What a command prints, which must end with this status; run in the test's folder."""
        done = subprocess.run(command, cwd=cwd or self.folder, env={**self.environment, **more}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=1500, check=False)
        self.assertEqual(done.returncode, status, f"{command}\n{done.stdout}")
        return done.stdout
