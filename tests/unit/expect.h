/* SPDX-License-Identifier: MIT */
/*
 * expect.h - what the unit tests say of errors: the whole message, so that a change of
 * what users read is a change of a test.
 */
#ifndef FC_TESTS_UNIT_EXPECT_H
#define FC_TESTS_UNIT_EXPECT_H

#include "core/base/error.h"

/* There must be an error with this message; clears it. */
static inline void expect_error(GError **error, const char *message) {
  g_assert_nonnull(*error);
  g_assert_true((*error)->domain == FC_ERROR);
  g_assert_cmpstr((*error)->message, ==, message);
  g_clear_error(error);
}

#endif
