/* SPDX-License-Identifier: MIT */
/*
 * probes.h - cases that look at one thing each, as harness_options.run takes them; case_run (case.h) looks at
 * the results.
 */
#ifndef FC_CHECK_PROBES_H
#define FC_CHECK_PROBES_H

#include "check/case.h"

/* On guarded devices (device_guarded): what process must not touch is no memory, or holds other values. */
case_end case_halo(const test_case *c, char **sentence, verdict *v);
/* Does process allocate or print? Printing shows in `watch_output`. */
case_end case_calls(const test_case *c, char **sentence, verdict *v);
/* Instances made, run and destroyed again and again: does memory stay behind? */
case_end case_memory(const test_case *c, char **sentence, verdict *v);
/* Two instances with different arguments, one after the other and in two threads. */
case_end case_instances(const test_case *c, char **sentence, verdict *v);
/* On a device: only on the stream, and without waiting for it. */
case_end case_stream(const test_case *c, char **sentence, verdict *v);
/* The device function's text, compiled for the CPU, against process. */
case_end case_function(const test_case *c, char **sentence, verdict *v);
/* A C++ compiler, as a command; NULL: none. */
const char *function_compiler(void);

/* The file that standard output and error go to, or -1. */
extern int probes_output;

#endif
