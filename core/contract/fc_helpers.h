/* SPDX-License-Identifier: MIT */
/*
 * fc_helpers.h - shortens the usual operator: descriptors, and loops over samples of any type.
 *
 * C11 and C++17; includes nothing but plugin.h, needs nothing to link, and nobody need use it. What the
 * macros make is constant data at file scope (in C++ set up when the plugin is loaded).
 */
#ifndef FC_HELPERS_H
#define FC_HELPERS_H

#include "plugin.h"

/* ---- descriptors ------------------------------------------------------- */

/* The address of a constant of static storage, and of a list of pointers. For use at file scope. */
#ifdef __cplusplus
#define FC_STATIC(type, ...)                                                                                 \
  ([]() -> const type * {                                                                                    \
    static const type constant = {__VA_ARGS__};                                                              \
    return &constant;                                                                                        \
  }())
#define FC_STATIC_LIST(type, ...)                                                                            \
  ([]() -> const type *const * {                                                                             \
    static const type *const list[] = {__VA_ARGS__};                                                         \
    return list;                                                                                             \
  }())
#else
#define FC_STATIC(type, ...)      (&(const type){__VA_ARGS__})
#define FC_STATIC_LIST(type, ...) ((const type *const[]){__VA_ARGS__})
#endif

/* How many arguments there are, 1 to 32. */
#define FC_COUNT(...)                                                                                        \
  FC_COUNT_(__VA_ARGS__, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, \
            11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define FC_COUNT_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, \
                  a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, n, ...)                        \
  n

/* Limits of an int or a float, inclusive. */
#define FC_INT_LIMITS(flags, low, high) FC_STATIC(fc_limits, sizeof(fc_limits), (flags), (low), (high), 0, 0)
#define FC_INT_BETWEEN(low, high)       FC_INT_LIMITS(FC_LIMIT_MIN | FC_LIMIT_MAX, low, high)
#define FC_INT_AT_LEAST(low)            FC_INT_LIMITS(FC_LIMIT_MIN, low, 0)
#define FC_INT_AT_MOST(high)            FC_INT_LIMITS(FC_LIMIT_MAX, 0, high)
#define FC_FLOAT_LIMITS(flags, low, high)                                                                    \
  FC_STATIC(fc_limits, sizeof(fc_limits), (flags), 0, 0, (low), (high))
#define FC_FLOAT_BETWEEN(low, high) FC_FLOAT_LIMITS(FC_LIMIT_MIN | FC_LIMIT_MAX, low, high)
#define FC_FLOAT_AT_LEAST(low)      FC_FLOAT_LIMITS(FC_LIMIT_MIN, low, 0)
#define FC_FLOAT_AT_MOST(high)      FC_FLOAT_LIMITS(FC_LIMIT_MAX, 0, high)

/* Choices of an enum: FC_CHOICES(FC_CHOICE(LOW, "low", "..."), FC_CHOICE(FC_REFUSED, "lo", "say low")). */
#define FC_CHOICE(value, name, doc) FC_STATIC(fc_choice, sizeof(fc_choice), (value), name, doc)
#define FC_CHOICES(...)             FC_STATIC_LIST(fc_choice, __VA_ARGS__, NULL)

/* Texts, such as examples and aliases. */
#define FC_TEXTS(...) FC_STATIC_LIST(char, __VA_ARGS__, NULL)

#endif
