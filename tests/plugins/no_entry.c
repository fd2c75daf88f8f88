/* SPDX-License-Identifier: MIT */
/* A shared object that is no plugin at all. */
__attribute__((visibility("default"))) int answer(void);

int answer(void) {
  return 42;
}
