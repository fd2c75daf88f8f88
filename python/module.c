/* SPDX-License-Identifier: MIT */
/*
 * module.c - errors, the context, and what the module filterchain._filterchain holds.
 */
#include "python/binding.h"

#include <pthread.h>
#include <string.h>

PyObject *fc_py_helpers;
int fc_py_generation;
static fc_context *the_context;

/* ---- errors -------------------------------------------------------------------- */

PyObject *fc_py_errors[FC_FATAL + 1]; /* by fc_status; [0] is Error itself */

PyObject *fc_py_fail(int status, const char *message) {
  PyErr_SetString(fc_py_errors[status >= 0 && status <= FC_FATAL ? status : 0], message);
  return NULL;
}

const char *fc_py_text(PyObject *text) {
  Py_ssize_t size;
  const char *utf8 = PyUnicode_AsUTF8AndSize(text, &size);
  if (!utf8 || strlen(utf8) == (size_t)size) return utf8;
  PyErr_SetString(PyExc_ValueError, "embedded null character");
  return NULL;
}

/* Raises the library's error, unless a Python exception is pending, and frees it. */
PyObject *fc_py_raise(GError *error) {
  if (!PyErr_Occurred())
    fc_py_fail(error && error->domain == FC_ERROR ? error->code : 0, error ? error->message : "?");
  g_clear_error(&error);
  return NULL;
}

static gboolean make_errors(PyObject *module) {
  const struct {
    const char *name;
    PyObject *also;
  } kinds[] = {{"Error", NULL},
               {"UnsupportedError", PyExc_ValueError},
               {"InvalidError", PyExc_ValueError},
               {"OutOfMemoryError", PyExc_MemoryError},
               {"DeviceError", PyExc_RuntimeError},
               {"FileError", PyExc_OSError},
               {"FatalError", PyExc_RuntimeError}};
  for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
    g_autofree char *name = g_strconcat("filterchain.", kinds[i].name, NULL);
    PyObject *bases = i ? Py_BuildValue("(OO)", fc_py_errors[0], kinds[i].also) : NULL;
    fc_py_errors[i] = PyErr_NewException(name, bases, NULL);
    Py_XDECREF(bases);
    if (!fc_py_errors[i] || PyModule_AddObjectRef(module, kinds[i].name, fc_py_errors[i]) < 0) return FALSE;
  }
  return TRUE;
}

/* ---- the context ------------------------------------------------------------------ */

/* Logs to logging.getLogger("filterchain"). The library calls it in any thread, and never while we hold
 * the interpreter's lock: every call that may log is made without it. */
static void log_to_python(fc_log_level level, const char *message, void *data) {
  static const int levels[] = {40, 30};
  if (level > FC_LOG_WARNING) return;
  PyGILState_STATE state = PyGILState_Ensure();
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyObject *done = PyObject_CallMethod(fc_py_helpers, "log", "is", levels[level], message);
  if (!done) PyErr_WriteUnraisable(NULL);
  Py_XDECREF(done);
  PyErr_Restore(type, value, trace);
  PyGILState_Release(state);
}

static void after_fork(void) {
  the_context = NULL; /* a forked child lacks its threads, which may hold its locks */
  fc_py_generation++;
}

fc_context *fc_py_context(void) {
  if (!the_context) {
    the_context = fc_context_new();
    fc_context_set_log(the_context, log_to_python, NULL);
    fc_py_add_own_operators(the_context, NULL); /* it accepted them in the parent */
  }
  return the_context;
}

/* ---- the module -------------------------------------------------------------------- */

/* set_helpers(module) */
static PyObject *set_helpers(PyObject *module, PyObject *them) {
  fc_py_helpers = Py_NewRef(them);
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {{"set_helpers", set_helpers, METH_O, NULL},
                                  {"from_dlpack", fc_py_from_dlpack, METH_O, NULL},
                                  {"from_buffer", fc_py_from_buffer, METH_O, NULL},
                                  {"from_pointer", fc_py_from_pointer, METH_VARARGS, NULL},
                                  {"describe", fc_py_describe, METH_VARARGS, NULL},
                                  {"stack", fc_py_stack, METH_O, NULL},
                                  {"unstack", fc_py_unstack, METH_O, NULL},
                                  {"add_operator", fc_py_add_operator, METH_O, NULL},
                                  {"operators", fc_py_operators, METH_NOARGS, NULL},
                                  {0}};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_filterchain", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__filterchain(void);
PyMODINIT_FUNC PyInit__filterchain(void) {
  PyObject *module = PyModule_Create(&definition);
  if (!module) return NULL;
  pthread_atfork(NULL, NULL, after_fork);
  if (make_errors(module) && fc_py_array_init(module) && fc_py_chain_init(module) &&
      PyModule_AddStringConstant(module, "version", fc_version()) == 0 &&
      PyModule_AddObjectRef(module, "has_cuda", fc_has_cuda() ? Py_True : Py_False) == 0)
    return module;
  Py_DECREF(module);
  return NULL;
}
