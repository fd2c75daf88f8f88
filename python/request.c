/* SPDX-License-Identifier: MIT */
/*
 * request.c - the arguments of a call, and how Ctrl-C and progress reach the library meanwhile.
 */
#include "python/request.h"

#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Runs on fewer samples are too short to be interrupted by Ctrl-C. */
#define LONG_RUN 65536

typedef enum option_type { TEXT, NUMBER, LONG_NUMBER, FLAG, SECONDS, PRECISION, FUSE } option_type;
static const struct {
  const char *name;
  option_type type;
  size_t at;
} options[] = {{"device", TEXT, offsetof(fc_options, device)},
               {"threads", NUMBER, offsetof(fc_options, threads)},
               {"precision", PRECISION, offsetof(fc_options, precision)},
               {"fuse", FUSE, offsetof(fc_options, fuse)},
               {"chunk", LONG_NUMBER, offsetof(fc_options, chunk)},
               {"latency", SECONDS, offsetof(fc_options, latency)},
               {"no_clobber", FLAG, offsetof(fc_options, no_clobber)},
               {"allow_truncated", FLAG, offsetof(fc_options, allow_truncated)},
               {"sync", FLAG, offsetof(fc_options, sync)},
               {"trace", TEXT, offsetof(fc_options, trace)},
               {"in_format", TEXT, offsetof(fc_options, in_format)},
               {"out_format", TEXT, offsetof(fc_options, out_format)},
               {"in_raw", TEXT, offsetof(fc_options, in_raw)},
               {"max_pixels", LONG_NUMBER, offsetof(fc_options, max_pixels)},
               {"seed", LONG_NUMBER, offsetof(fc_options, seed)},
               {"epoch", LONG_NUMBER, offsetof(fc_options, epoch)},
               {"random_name", TEXT, offsetof(fc_options, random_name)}};

/* FALSE with an exception, unless there is one already. */
static gboolean refuse(const char *why) {
  if (!PyErr_Occurred()) fc_py_fail(FC_INVALID, why);
  return FALSE;
}

/* The number that a word of the command's option stands for. */
static gboolean set_choice(int *field, PyObject *value, const char *const *words, const int *numbers,
                           const char *expected) {
  const char *text = fc_py_text(value);
  for (size_t i = 0; text && words[i]; i++)
    if (strcmp(text, words[i]) == 0) return *field = numbers[i], TRUE;
  return refuse(expected);
}

/* Texts belong to the Python strings, which the caller holds. FALSE with an exception. */
static gboolean set_option(fc_options *o, size_t i, PyObject *value) {
  void *field = (char *)o + options[i].at;
  switch (options[i].type) {
  case TEXT: *(const char **)field = fc_py_text(value); break;
  case NUMBER: {
    const long number = PyLong_AsLong(value);
    *(int *)field = (int)number;
    if (number != *(int *)field) PyErr_Format(PyExc_OverflowError, "%s: too large", options[i].name);
    if (number < 0) return refuse("threads is a number from 1 on, or 0 for one per core");
    break;
  }
  case LONG_NUMBER: *(gint64 *)field = PyLong_AsLongLong(value); break;
  case FLAG: *(gboolean *)field = PyObject_IsTrue(value); break;
  case SECONDS:
    *(double *)field = PyFloat_AsDouble(value);
    if (!(*(double *)field > 0 && *(double *)field <= 3600))
      return refuse("latency is a time of up to an hour, in seconds");
    break;
  case PRECISION:
    return set_choice(field, value, (const char *[]){"f32", "f64", NULL}, (int[]){FC_F32, FC_F64},
                      "precision is \"f32\" or \"f64\"");
  case FUSE:
    return set_choice(field, value, (const char *[]){"auto", "no", "wait", "algebra", NULL},
                      (int[]){FC_FUSE_AUTO, FC_FUSE_NO, FC_FUSE_WAIT, FC_FUSE_ALGEBRA},
                      "fuse is \"auto\", \"no\", \"wait\" or \"algebra\"");
  }
  return !PyErr_Occurred();
}

/* For calls in other threads, which Ctrl-C does not reach. */
static gboolean set_stop(request *r, PyObject *flag) {
  Py_buffer buffer;
  if (PyObject_GetBuffer(flag, &buffer, PyBUF_WRITABLE) < 0) return FALSE;
  const gboolean fits = buffer.len == sizeof(int);
  if (fits)
    r->stop = buffer.buf;
  else
    PyErr_SetString(PyExc_TypeError, "_stop is one int");
  PyBuffer_Release(&buffer);
  return fits;
}

static gboolean set_request(request *r, const char *name, PyObject *value) {
  if (value == Py_None) return TRUE;
  if (strcmp(name, "layout") == 0) return (r->layout = fc_py_text(value)) != NULL;
  if (strcmp(name, "rate") == 0) {
    r->meaning.rate = PyFloat_AsDouble(value);
    return (r->meaning.rate >= 0 && isfinite(r->meaning.rate)) || refuse("a rate is a positive number of Hz");
  }
  if (strcmp(name, "bits") == 0) {
    const long bits = PyLong_AsLong(value);
    r->meaning.bits = (gint32)bits;
    return (bits >= 0 && bits <= 64) || refuse("bits are 1 to 64");
  }
  if (strcmp(name, "dtype") == 0) return (r->dtype = fc_py_dtype_of(value)) >= 0;
  if (strcmp(name, "out") == 0) return r->out = value, TRUE;
  if (strcmp(name, "progress") == 0) return r->progress = value, TRUE;
  if (strcmp(name, "_stop") == 0) return set_stop(r, value);
  for (size_t i = 0; i < G_N_ELEMENTS(options); i++)
    if (strcmp(name, options[i].name) == 0) return set_option(&r->options, i, value);
  PyErr_Format(PyExc_TypeError, "there is no argument \"%s\"", name);
  return FALSE;
}

gboolean fc_py_read_request(request *r, PyObject *kwargs) {
  PyObject *name, *value;
  Py_ssize_t at = 0;
  while (kwargs && PyDict_Next(kwargs, &at, &name, &value)) {
    const char *text = fc_py_text(name);
    if (!text || !set_request(r, text, value)) return FALSE;
  }
  return TRUE;
}

gboolean fc_py_apply_request(request *r, samples *s) {
  const fc_format told = r->meaning;
  r->meaning = s->meaning;
  r->meaning.size = sizeof r->meaning;
  if (told.rate > 0) r->meaning.rate = told.rate;
  if (told.bits > 0) r->meaning.bits = told.bits;
  s->meaning = r->meaning;
  r->options.meaning = &r->meaning;
  return fc_py_lay_out(s, r->layout);
}

/* ---- interrupts and progress --------------------------------------------------------------- */

/* Python's own handler only records a signal for the interpreter, which is not running: during a long call
 * in the main thread our handler tells the library too. */
static int interrupted;
static struct sigaction handler_before;

static void on_interrupt(int number, siginfo_t *info, void *machine) {
  g_atomic_int_set(&interrupted, 1);
  if (handler_before.sa_flags & SA_SIGINFO)
    handler_before.sa_sigaction(number, info, machine);
  else
    handler_before.sa_handler(number);
}

gboolean fc_py_begin_call(request *r, gint64 work) {
  r->options.cancel = r->stop ? r->stop : &r->cancel;
  if (work < LONG_RUN || syscall(SYS_gettid) != getpid()) return FALSE;
  if (sigaction(SIGINT, NULL, &handler_before) != 0) return FALSE;
  if (handler_before.sa_handler == SIG_DFL || handler_before.sa_handler == SIG_IGN) return FALSE;
  struct sigaction ours = {.sa_sigaction = on_interrupt,
                           .sa_flags = SA_SIGINFO | (handler_before.sa_flags & SA_ONSTACK)};
  g_atomic_int_set(&interrupted, 0);
  r->options.cancel = &interrupted;
  return sigaction(SIGINT, &ours, NULL) == 0;
}

gboolean fc_py_interrupted(gboolean guarded) {
  return guarded && g_atomic_int_get(&interrupted);
}

gboolean fc_py_end_call(gboolean guarded, gboolean ok, GError **error) {
  if (!guarded) return FALSE;
  sigaction(SIGINT, &handler_before, NULL);
  if (ok || !g_atomic_int_get(&interrupted) || PyErr_Occurred()) return FALSE;
  if (PyErr_CheckSignals() < 0) return FALSE;
  g_clear_error(error);
  return TRUE;
}

gboolean fc_py_on_progress(gint64 done, gint64 total, void *data) {
  PyGILState_STATE state = PyGILState_Ensure();
  PyObject *end = total < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong(total);
  PyObject *answer = end ? PyObject_CallFunction(data, "LO", (long long)done, end) : NULL;
  const gboolean on = answer && (answer == Py_None || PyObject_IsTrue(answer) > 0);
  Py_XDECREF(end);
  Py_XDECREF(answer);
  PyGILState_Release(state);
  return on;
}

void fc_py_set_progress(request *r) {
  if (r->progress) r->options.progress = fc_py_on_progress, r->options.progress_data = r->progress;
}
