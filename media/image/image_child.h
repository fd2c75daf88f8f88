/* SPDX-License-Identifier: MIT */
/*
 * image_child.h - what is agreed between the process that decodes an image and those that
 * wait for it. Without GLib's library: the helper is linked without it.
 */
#ifndef FC_MEDIA_IMAGE_CHILD_H
#define FC_MEDIA_IMAGE_CHILD_H

#include "media/image/image.h"

G_BEGIN_DECLS

/* A sanitizer's runtime makes system calls and maps memory of its own. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FC_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define FC_SANITIZED 1
#endif
#endif
#ifndef FC_SANITIZED
#define FC_SANITIZED 0
#endif

/* What the child says, at the start of the shared memory. */
typedef struct fc_decode_report {
  gint32 done; /* it has come to the end, well or not */
  gint32 width, height, channels, bits;
  gint64 pixels_at; /* offset from the start of the shared memory; 0: failed */
  char reason[64];
} fc_decode_report;

/* Where the arena begins, aligned for anything. */
#define FC_DECODE_REPORT_SIZE 256

typedef struct fc_decode_task {
  const guint8 *file;
  gsize size;
  gint64 pixels; /* that its header says */
  gboolean cut;
  int seconds;         /* of processor time */
  gsize address_space; /* bytes; 0: not limited */
  void *shared;        /* a report, and behind it the arena */
  gsize shared_size;
  int word;         /* a descriptor that gets one byte at the end, or -1 */
  long descriptors; /* how many there may be */
} fc_decode_task;

/* Confines itself, decodes and ends: for a process just forked, with all signals blocked. */
G_NORETURN void fc_decode_child(const fc_decode_task *task);

/* All but `kept`, which becomes descriptor 0; -1: all. */
void fc_close_descriptors(int kept, long most);

/* What is mapped, with room for the stack to grow. 0 where it cannot be told. `resident` (or NULL)
 * gets what of it lies in memory. */
gsize fc_address_space(gsize *resident);

G_END_DECLS

#endif
