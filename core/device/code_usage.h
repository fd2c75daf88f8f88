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
  const guint64 strings = long_at(elf + sections + names * 64 + 24);
  for (guint s = 0; s < count; s++) {
    const guint8 *head = elf + sections + s * 64;
    if (strcmp((const char *)elf + strings + word_at(head), ".nv.info") != 0) continue;
    const guint8 *at = elf + long_at(head + 24), *end = at + long_at(head + 32);
    while (at + 4 <= end) {
      const guint size = at[0] == TWO_WORDS ? 4u + (at[2] | at[3] << 8) : 4;
      if (at[0] == TWO_WORDS && at[1] == FRAME) *frame = MAX(*frame, (int)word_at(at + 8));
      if (at[0] == TWO_WORDS && at[1] == REGISTERS) *registers = MAX(*registers, (int)word_at(at + 8));
      at += size;
    }
  }
}

#endif
