/* SPDX-License-Identifier: MIT */
/*
 * patience.h - waiting for a condition with a timeout of a second, after which the caller tests the condition
 * again. The C library's condition variables can lose a wake-up when several threads wait (glibc 2.27 to
 * 2.40, bug 25847).
 */
#ifndef FC_CORE_PATIENCE_H
#define FC_CORE_PATIENCE_H

#include <pthread.h>
#include <time.h>

/* For fc_cond_wait: uses the monotonic clock. */
static inline void fc_cond_init(pthread_cond_t *condition) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(condition, &attributes);
  pthread_condattr_destroy(&attributes);
}

/* As pthread_cond_wait, for a second at most. Returns 0, or ETIMEDOUT. */
static inline int fc_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec++;
  return pthread_cond_timedwait(condition, mutex, &until);
}

#endif
