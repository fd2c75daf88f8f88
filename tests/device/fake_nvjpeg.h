/* SPDX-License-Identifier: MIT */
/* fake_nvjpeg.h - what a test sets and reads of fake_nvjpeg.c, which stands in for NVIDIA's library. */
#ifndef FC_TESTS_DEVICE_FAKE_NVJPEG_H
#define FC_TESTS_DEVICE_FAKE_NVJPEG_H

typedef struct fake_nvjpeg {
  int engines; /* there are engines of the hardware */
  int lies;    /* it sees images one column wider */
  int decoded; /* images, since it was set to 0 */
  int batches;
  int handles; /* that are not destroyed */
  int most;    /* of them that there can be; 0: any number */
  int slow;    /* microseconds that it takes to make one */
  int busy;    /* of them that are being made */
} fake_nvjpeg;

/* Of the library; by dlsym. */
extern fake_nvjpeg fake_nvjpeg_state;

#endif
