# SPDX-License-Identifier: MIT
"""What the lint tests look at: the files of the source tree, whether or not git has
them yet, without build folders and what editors leave behind."""
import os

SKIP = 77  # the exit status that Meson reports as a skipped test
SKIPPED_FOLDERS = ("build", "__pycache__", "venv")


def is_skipped(folder):
    """Whether a folder's name says that it holds no sources."""
    hidden = folder.startswith(".") and folder != ".ci"
    return hidden or folder.startswith(SKIPPED_FOLDERS)


def sources(root, endings=None):
    """Paths relative to root, sorted, '/' between folders; endings as for str.endswith."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not is_skipped(name))
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")
            if endings is None or path.endswith(endings):
                found.append(path)
    return sorted(found)


def read(root, path):
    """The text of a source file."""
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def finish(complaints, checked):
    """Prints the complaints and returns the exit status; having checked nothing fails."""
    for complaint in complaints:
        print(complaint)
    print(f"{checked} checked, {len(complaints)} complaints")
    return 1 if complaints or not checked else 0
