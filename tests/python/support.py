# SPDX-License-Identifier: MIT
"""What the tests of the Python package share: the package, NumPy where there is one, where examples lie."""
import os
import sys
import unittest

import filterchain as fc

try:
    import numpy as np
except ImportError:
    np = None

SOURCE = os.environ["FILTERCHAIN_SOURCE"]
SPEECH = os.path.join(SOURCE, "examples", "speech.wav")
PICTURE = os.path.join(SOURCE, "examples", "picture.png")
needs_numpy = unittest.skipUnless(np, "there is no NumPy here (python3-numpy)")


def main():
    """Runs the tests of the script; a script of which all are skipped is skipped."""
    program = unittest.main(exit=False, verbosity=2)
    result = program.result
    if result.wasSuccessful() and result.skipped and len(result.skipped) >= result.testsRun:
        sys.exit(77)
    sys.exit(not result.wasSuccessful())


__all__ = ["PICTURE", "SOURCE", "SPEECH", "fc", "main", "needs_numpy", "np", "unittest"]
