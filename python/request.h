/* SPDX-License-Identifier: MIT */
/*
 * request.h - the arguments of a call of a Chain.
 */
#ifndef FC_PYTHON_REQUEST_H
#define FC_PYTHON_REQUEST_H

#include "python/binding.h"

typedef struct request {
  fc_options options;
  fc_format meaning;
  const char *layout;
  int dtype; /* of the result; -1: the chain's own */
  PyObject *out, *progress;
  int cancel;
  const int *stop; /* argument `_stop`, a writable buffer of one int that outlives the call; or NULL */
} request;

/* Reads keyword arguments (NULL: none); FALSE with an exception. */
gboolean fc_py_read_request(request *r, PyObject *kwargs);
/* Applies what the call says about its input array; the array may have information of its own. */
gboolean fc_py_apply_request(request *r, samples *s);

/* Before a call of the library, with the number of its samples; whether Ctrl-C stops it. */
gboolean fc_py_begin_call(request *r, gint64 work);
/* Whether Ctrl-C has stopped a call for which fc_py_begin_call returned `guarded`. */
gboolean fc_py_interrupted(gboolean guarded);
/* Whether to repeat the call: it was stopped by a signal whose Python handler raised no exception. */
gboolean fc_py_end_call(gboolean guarded, gboolean ok, GError **error);

/* progress(done, total or None): an exception, or a false value other than None, stops the run. */
gboolean fc_py_on_progress(gint64 done, gint64 total, void *data);
void fc_py_set_progress(request *r);

#endif
