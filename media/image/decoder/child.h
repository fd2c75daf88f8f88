/* SPDX-License-Identifier: MIT */
/*
 * child.h - the process that decodes images. It has no files, no network, and no system calls except reading
 * and writing (on the helper's socket, if it is kept for the next image) and exiting; allocations beyond its
 * memory fail. Without GLib's library: the helper is linked without it.
 */
#ifndef FC_MEDIA_CHILD_H
#define FC_MEDIA_CHILD_H

#include "media/image/decoder/codec.h"

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

/* The shared memory: the report, the pixels from here on, and the file after them. */
#define FC_DECODE_REPORT_SIZE 256

typedef struct fc_child_limits {
  gsize heap;       /* bytes that malloc can allocate */
  int seconds;      /* of processor time */
  int kept;         /* a descriptor that stays open, as number 0; -1: none */
  long descriptors; /* upper bound of open descriptors */
} fc_child_limits;

/* Confines a newly forked process, with one thread and all signals blocked. FALSE: the report says why. */
gboolean fc_child_confine(const fc_child_limits *limits, fc_decode_report *report);
/* The end of a confined process. */
G_NORETURN void fc_child_end(void);

/* Closes all except `kept`, which becomes descriptor 0; -1: all. */
void fc_close_descriptors(int kept, long most);

G_END_DECLS

#endif
