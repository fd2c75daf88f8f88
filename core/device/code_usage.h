/* SPDX-License-Identifier: MIT */
/* code_usage.h - what a kernel's machine code takes of a thread. */
#ifndef FC_CORE_CODE_USAGE_H
#define FC_CORE_CODE_USAGE_H

#include <glib.h>
#include <string.h>

static inline guint32 word_at(const guint8 *at) {
  guint32 w;
  memcpy(&w, at, sizeof w);
  return w;
}
static inline guint64 long_at(const guint8 *at) {
  guint64 w;
  memcpy(&w, at, sizeof w);
  return w;
}

/* Bytes of a thread's stack and registers, out of the section .nv.info of a compiler's cubin, an ELF file of
 * 64 bits; -1: not said. */
static inline void code_usage(const void *code, gsize n, int *frame, int *registers) {
  enum { REGISTERS = 0x2f, FRAME = 0x11, TWO_WORDS = 0x04 };
  const guint8 *elf = code;
  *frame = *registers = -1;
  if (n <= 64 || memcmp(elf, "\177ELF\2", 5) != 0) return;
  const guint64 sections = long_at(elf + 40);
  const guint count = elf[60] | elf[61] << 8, names = elf[62] | elf[63] << 8;
  if (names >= count || sections > n || (n - sections) / 64 < count) return;
  const guint8 *table = elf + sections + (gsize)names * 64;
  const guint64 strings = long_at(table + 24), length = long_at(table + 32);
  if (strings > n || length > n - strings) return;
  for (guint s = 0; s < count; s++) {
    const guint8 *head = elf + sections + (gsize)s * 64;
    const guint64 name = word_at(head), from = long_at(head + 24), bytes = long_at(head + 32);
    if (name > length || length - name < sizeof ".nv.info" || from > n || bytes > n - from ||
        memcmp(elf + strings + name, ".nv.info", sizeof ".nv.info") != 0)
      continue;
    const guint8 *at = elf + from, *end = at + bytes;
    while (end - at >= 4) {
      const guint size = at[0] == TWO_WORDS ? 4u + (at[2] | at[3] << 8) : 4;
      if (size > (gsize)(end - at)) break;
      if (size >= 12 && at[1] == FRAME) *frame = MAX(*frame, (int)word_at(at + 8));
      if (size >= 12 && at[1] == REGISTERS) *registers = MAX(*registers, (int)word_at(at + 8));
      at += size;
    }
  }
}

#endif
