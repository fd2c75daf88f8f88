#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What CUDA code may not do, however well it works: managed memory nowhere, and in the operators
nothing that allocates, waits for the device or chooses it, for they only enqueue. And the names of kernels, which
are all that a profile shows of them: no two have the same.

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
KERNEL = re.compile(r"__global__\s+(?:void\s+)?(?:__launch_bounds__\s*\((?:[^()]|\([^()]*(?:\([^()]*\)[^()]*)*\))*\)\s*)?(?:void\s+)?(\w+)\s*\(")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)


def complaints_of(path, text):
    """What is wrong in a file, a line each."""
    rules = [MANAGED] + [WAITS] * path.startswith(("filters/", "plugins/"))
    code = COMMENT.sub(lambda match: "\n" * match.group().count("\n"), text)
    for number, line in enumerate(code.splitlines(), 1):
        for rule, sentence in rules:
            if rule.search(line):
                yield f"{path}:{number}: {sentence}"


def same_names(files):
    """Complaints about kernels of one name, of (path, text)."""
    places = {}
    for path, text in files:
        for match in KERNEL.finditer(COMMENT.sub(" ", text)):
            if path not in places.setdefault(match.group(1), []):
                places[match.group(1)].append(path)
    return [f"{paths[1]}: a kernel {name} is in {paths[0]} too" for name, paths in sorted(places.items()) if len(paths) > 1]


def self_test():
    kernels = [("filters/a.cu", "template <typename T>\n__global__ void __launch_bounds__(32 * W, (blocks_of<T>(1)))\n    add(int x)"),
               ("filters/b.cu", "// adds\n__global__ void add(int x)"), ("filters/c.cu", "__global__ void sub(int x)")]
    wrong = (("core/x.cu", "cudaMallocManaged(&p, n);"), ("filters/x.cu", "__managed__ int counter;"),
             ("filters/x.cu", "x = 1;\nif (cudaMalloc(&p, n))"), ("plugins/x.c", "cudaFreeAsync(p, s);"),
             ("filters/x.cu", "cudaDeviceSynchronize ();"), ("filters/x.cuh", "cuMemAllocManaged(&p, n, 0);"), ("filters/x.cu", "// a comment\ncudaFree(p);"))
    right = (("core/x.cu", "cudaMalloc(&p, n);"), ("filters/x.cu", "// cudaMalloc(&p, n)\ncudaMemcpyAsync(a, b, n, k, s);"),
             ("filters/x.cu", "/* cudaFree(p)\n waits */ cudaGetLastError();"))
    missed = [text for path, text in wrong if len([*complaints_of(path, text)]) != 1]
    invented = [text for path, text in right if [*complaints_of(path, text)]]
    if len(same_names(kernels)) != 1:
        missed.append("two kernels of one name")
    return tree.finish([f"not noticed: {text}" for text in missed] + [f"no fault: {text}" for text in invented],
                       len(wrong) + len(right))


def main(root):
    complaints, checked, kernels = [], 0, []
    for path in tree.sources(root, (".c", ".cu", ".cuh", ".h", ".inc")):
        if path.startswith(("core/", "filters/", "plugins/")):
            checked += 1
            complaints += complaints_of(path, tree.read(root, path))
            if path.endswith((".cu", ".cuh")):
                kernels.append((path, tree.read(root, path)))
    return tree.finish(complaints + same_names(kernels), checked)


if __name__ == "__main__":
    sys.exit(self_test() if sys.argv[1] == "--self-test" else main(sys.argv[1]))
