#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What CUDA code may not do, however well it works: managed memory nowhere, and in the operators
nothing that allocates, waits for the device or chooses it, for they only enqueue.

    cuda.py ROOT          checks the tree
    cuda.py --self-test   checks this script on lines that are right and wrong
"""
import re
import sys

import tree

MANAGED = (re.compile(r"\b(cudaMalloc|cuMemAlloc)Managed\b|\b__managed__\b"),
           "managed memory: take cudaMalloc or the stream-ordered pool")
WAITS = (re.compile(r"\bcuda(Malloc|Free|HostAlloc|HostRegister|MemPool|DeviceSynchronize|StreamSynchronize|EventSynchronize|"
                    r"DeviceReset|SetDevice)\w*\s*\("), "an operator enqueues: it neither allocates nor waits")
COMMENT = re.compile(r"//.*|/\*.*?\*/", re.S)


def complaints_of(path, text):
    """What is wrong in a file, a line each."""
    rules = [MANAGED] + [WAITS] * path.startswith(("filters/", "plugins/"))
    code = COMMENT.sub(lambda match: "\n" * match.group().count("\n"), text)
    for number, line in enumerate(code.splitlines(), 1):
        for rule, sentence in rules:
            if rule.search(line):
                yield f"{path}:{number}: {sentence}"


def self_test():
    wrong = (("core/x.cu", "cudaMallocManaged(&p, n);"), ("filters/x.cu", "__managed__ int counter;"),
             ("filters/x.cu", "x = 1;\nif (cudaMalloc(&p, n))"), ("plugins/x.c", "cudaFreeAsync(p, s);"),
             ("filters/x.cu", "cudaDeviceSynchronize ();"), ("filters/x.cuh", "cuMemAllocManaged(&p, n, 0);"))
    right = (("core/x.cu", "cudaMalloc(&p, n);"), ("filters/x.cu", "// cudaMalloc(&p, n)\ncudaMemcpyAsync(a, b, n, k, s);"),
             ("filters/x.cu", "/* cudaFree(p)\n waits */ cudaGetLastError();"))
    missed = [text for path, text in wrong if len([*complaints_of(path, text)]) != 1]
    invented = [text for path, text in right if [*complaints_of(path, text)]]
    return tree.finish([f"not noticed: {text}" for text in missed] + [f"no fault: {text}" for text in invented],
                       len(wrong) + len(right))


def main(root):
    complaints, checked = [], 0
    for path in tree.sources(root, (".c", ".cu", ".cuh", ".h", ".inc")):
        if path.startswith(("core/", "filters/", "plugins/")):
            checked += 1
            complaints += complaints_of(path, tree.read(root, path))
    return tree.finish(complaints, checked)


if __name__ == "__main__":
    sys.exit(self_test() if sys.argv[1] == "--self-test" else main(sys.argv[1]))
