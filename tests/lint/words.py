#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Words that need decoding. Two lists: words of ours for which the field has its own, nowhere in comments, messages and
pages; and turns of phrase that users should not meet, in messages, help and pages only. Identifiers are left alone.

    words.py ROOT
    words.py --self-test
"""
import io
import re
import sys
import tokenize

import tree

# The word, and what to write instead.
EVERYWHERE = (
    (r"mend(s|ed|ing)?", "repair, fix, correct"),
    (r"seats?", "channel position, slot"),
    (r"adrift", "unaligned, unrelated"),
    (r"for ever", "permanently, static, without end"),
    (r"rims?", "border, margin"),
    (r"askew", "unaligned"),
    (r"amiss", "wrong"),
    (r"crests?", "maxima"),
    (r"whence", "from which"),
    (r"nought", "zero"),
    (r"thereof", "of it"),
    (r"heeds?|heeded", "is applied, is used"),
    (r"(what|that|which) (is|are) no numbers?", "what is not a number"),
    (r"passed over", "skipped"),
    (r"to be had|(can|could|cannot|was|were|been) had(?! to)", "obtained, available"),
    (r"for want of", "without, too little"),
    (r"in vain", "without effect"),
    (r"as (one|you) likes?", "any"),
    (r"gone on with", "continued"),
    (r"apart by(?! a\b)", "separated by"),
    (r"\bbe had\b(?! a\b)", "be read, made, available"),
    (r"-v tells", "-v reports"),
    (r"(is|are|was|were|be) told of|tells? of", "is warned of; reports"),
    (r"in hand", "current"),
    (r"stands? behind", "follows"),
    (r"as ever", "as before, or nothing"),
)
# Of these a user must guess what is meant.
SHOWN = (
    (r"(?<!there )is no (?!longer\b|more\b|larger\b|smaller\b)[a-z]+", "is not a ..."),
    (r"is none(?! of)", "is not a ..., there is no ..."),
    (r"what there is", "the available ..."),
    (r"what is there", "the existing ..., the readable part"),
    (r"few-bitted", "of few bits"),
    (r"has been at", "was processed by"),
    (r"means nothing", "cannot be used"),
    (r"is told by", "is given by"),
    (r"as good as 0", "close to 0"),
    (r"must be as many", "must have the same number"),
    (r"(is|are) the most", "at most ..."),
    (r"has no place for", "cannot hold"),
    (r"out of its own", "by itself"),
    (r"ahead of the samples", "before the samples"),
)
CODE = (".c", ".h", ".cu", ".cuh", ".hpp", ".cpp", ".inc", ".rs", ".c.in", ".cpp.in", ".cu.in", ".h.in")
PAGES = (".md", ".1", ".7", ".md.in", ".txt.in")
PYTHON = (".py", ".pyi")
# Comments from # to the end of the line, and messages: whole files are read.
SCRIPTS = ("bootstrap", ".ci/run", ".sh", "meson.build", "meson.options", ".build.in", ".toml", ".yml.in", ".conf.in")
EXEMPT = ("tests/lint/words.py", "LICENSE")


def pattern(table):
    return [(re.compile(r"\b(?:" + words + r")\b", re.I), instead) for words, instead in table]


EVERYWHERE, SHOWN = pattern(EVERYWHERE), pattern(SHOWN)


def parts_of_c(text):
    """(offset, text, is a message) of comments and of strings; those of one statement are joined."""
    token = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*', re.S)
    for match in token.finditer(text):
        part = match.group(0)
        if part[0] == '"':
            line = text[text.rfind("\n", 0, match.start()) + 1:match.start()]
            if "#include" not in line:
                yield match.start(), re.sub(r'"\s*"', "", part), len(part.split()) > 2
        else:
            yield match.start(), re.sub(r"\n\s*(\*|//)? ?", " ", part), False


def parts_of_python(text):
    """Comments and strings, which are messages of scripts and tests, or texts about them."""
    starts = [0]
    for line in text.splitlines(True):
        starts.append(starts[-1] + len(line))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            yield starts[token.start[0] - 1] + token.start[1], token.string, False


def parts_of(path, text):
    if path.endswith(CODE):
        return parts_of_c(text)
    if path.endswith(PYTHON):
        return parts_of_python(text)
    if path.endswith(SCRIPTS):
        return [(0, text, True)]
    if path.endswith(PAGES):
        return [(0, re.sub(r"(?m)^\.\\\".*$", lambda m: " " * len(m.group(0)), text), True)]
    return []


def findings(path, text):
    """(line, word, instead) of every word of the lists."""
    for offset, part, shown in parts_of(path, text):
        for expression, instead in EVERYWHERE + (SHOWN if shown else []):
            for match in expression.finditer(part):
                before = part[:match.start()] if path.endswith(PAGES + SCRIPTS) else ""
                yield text.count("\n", 0, offset) + before.count("\n") + 1, match.group(0), instead


def self_test():
    c = '/* It mends the\n * seam for\n * ever. */ int mend;\nf("10s is no number " "apart by commas");\nlog("is no longer");'
    assert [word for _, word, _ in findings("x.c", c)] == ["mends", "for ever", "apart by", "is no number"], list(findings("x.c", c))
    assert [line for line, _, _ in findings("x.md", "one\ntwo adrift\n")] == [2]
    assert [line for line, _, _ in findings("bootstrap", "say ok\n# a rim\ndie 'it has no place for it'\n")] == [2, 3]
    assert [word for _, word, _ in findings("x.rs", "/// A rim.\nlet rim = 1;\n")] == ["rim"]
    assert [word for _, word, _ in findings("x.pyi", "def f() -> None:\n    'A rim.'\n")] == ["rim"]
    assert [word for _, word, _ in findings("x.py", "rim = 1  # a rim\n")] == ["rim"]
    print("words: self-test passed")
    return 0


def main(root):
    complaints, checked = [], 0
    for path in tree.sources(root, CODE + PAGES + PYTHON + SCRIPTS):
        if path in EXEMPT:
            continue
        checked += 1
        complaints += [f'{path}:{line}: "{word}": write {instead}' for line, word, instead in findings(path, tree.read(root, path))]
    return tree.finish(complaints, checked)


if __name__ == "__main__":
    sys.exit(self_test() if sys.argv[1] == "--self-test" else main(sys.argv[1]))
