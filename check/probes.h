/* SPDX-License-Identifier: MIT */
/*
 * probes.h - cases that each test one property, in the form of harness_options.run; case_run (case.h) tests
 * the results.
 */
#ifndef FC_CHECK_PROBES_H
#define FC_CHECK_PROBES_H

#include "check/case.h"

/* On guarded devices (device_guarded): memory that process must not touch is inaccessible, or has other
 * values. */
case_end case_halo(const test_case *c, char **sentence, verdict *v);
/* Whether process allocates or prints. Output is found through `probes_output`. */
case_end case_calls(const test_case *c, char **sentence, verdict *v);
/* Whether creating, running and destroying instances repeatedly leaks memory. */
case_end case_memory(const test_case *c, char **sentence, verdict *v);
/* Two instances with different arguments, one after the other and in two threads. */
case_end case_instances(const test_case *c, char **sentence, verdict *v);
/* On a device: whether process works only on its stream, and without waiting for it. */
case_end case_stream(const test_case *c, char **sentence, verdict *v);
/* Compares the device function's text, compiled for the CPU, with process. */
case_end case_function(const test_case *c, char **sentence, verdict *v);
/* Compares sums of the numbers of FC_LINEAR with process. */
case_end case_linear(const test_case *c, char **sentence, verdict *v);
/* A C++ compiler, as a command; NULL: none. */
const char *function_compiler(void);

/* The file that standard output and error are redirected to, or -1. */
extern int probes_output;

#endif
