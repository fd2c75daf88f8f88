#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Makes the pictures of README.md from the files in examples/, by the commands that it shows:
#
#   docs/pictures/make.sh [COMMAND [FOLDER]]     build/cli/filterchain, docs/pictures
#
# tests/cli/readme.py makes them again and compares. chain.svg is drawn by hand.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
examples=$here/../../examples
run=${1:-$here/../../build/cli/filterchain}
to=${2:-$here}
low=fir:lowpass=3k:taps=255

"$run" plot -p "$low" --rate 16000 -o "$to/response.svg"
"$run" -i "$examples/speech.wav" -p spectrogram:width=420:height=200 -o "$to/speech.png"
"$run" -i "$examples/speech.wav" -p "$low" -p spectrogram:width=420:height=200 -o "$to/low.png"
# The picture by sox depends on its version and is not made here:
#   sox examples/speech.wav -n spectrogram -r -m -x 320 -y 257 -z 120 -w Hann -o docs/pictures/grey_sox.png
"$run" -i "$examples/speech.wav" -p spectrogram:axes=no:colors=gray:width=320:height=257:fft=512:range=120 -o "$to/grey.png"
"$run" -i "$examples/picture.png" -p gauss:4 --preview 1 "$to/blur.png"
"$run" -i "$examples/picture.png" -p resize:256 -p crop:224 --preview 1 "$to/crop.png"
