/* SPDX-License-Identifier: MIT */
/*
 * operators.c - the operators' descriptors as dicts.
 */
#include "python/binding.h"

#include <string.h>

/* Puts a value into a dict and gives its reference away; FALSE with an exception. */
static gboolean put(PyObject *dict, const char *name, PyObject *value) {
  gboolean ok = dict && value && PyDict_SetItemString(dict, name, value) == 0;
  Py_XDECREF(value);
  return ok;
}

static PyObject *text(const char *value) {
  if (!value) Py_RETURN_NONE;
  return PyUnicode_FromString(value);
}

/* Appends and gives the reference away; clears the list on failure. */
static void append(PyObject **list, PyObject *item) {
  if (*list && (!item || PyList_Append(*list, item) < 0)) Py_CLEAR(*list);
  Py_XDECREF(item);
}

static PyObject *choices_of(const fc_param *param) {
  PyObject *list = PyList_New(0);
  for (const fc_choice *const *c = param->choices; c && *c; c++)
    if ((*c)->value != FC_REFUSED) append(&list, Py_BuildValue("(sN)", (*c)->name, text((*c)->doc)));
  return list;
}

static PyObject *limit(const fc_param *param, unsigned which) {
  const fc_limits *l = param->limits;
  const gboolean least = which == FC_LIMIT_MIN;
  if (!l || !(l->flags & which)) Py_RETURN_NONE;
  if (param->type == FC_INT) return PyLong_FromLongLong(least ? l->int_min : l->int_max);
  return PyFloat_FromDouble(least ? l->min : l->max);
}

static PyObject *describe_param(const fc_param *param) {
  static const char *const types[] = {"bool", "int", "float", "enum", "str", "table", "input", "path"};
  PyObject *dict = PyDict_New();
  if (put(dict, "name", text(param->name)) && put(dict, "type", text(types[param->type])) &&
      put(dict, "doc", text(param->doc)) && put(dict, "unit", text(param->unit)) &&
      put(dict, "default", text(param->preset)) && put(dict, "min", limit(param, FC_LIMIT_MIN)) &&
      put(dict, "max", limit(param, FC_LIMIT_MAX)) && put(dict, "choices", choices_of(param)) &&
      put(dict, "main", PyBool_FromLong(param->flags & FC_PARAM_MAIN)) &&
      put(dict, "required", PyBool_FromLong((param->flags & FC_PARAM_REQUIRED) != 0)) &&
      put(dict, "list", PyBool_FromLong((param->flags & FC_PARAM_LIST) != 0)))
    return dict;
  Py_XDECREF(dict);
  return NULL;
}

static PyObject *describe(const fc_operator *op) {
  PyObject *dict = PyDict_New(), *params = PyList_New(0), *examples = PyList_New(0), *kinds = PyList_New(0);
  static const char *const names[] = {"audio", "image", "array"};
  for (guint i = 0; i < op->n_params; i++) append(&params, describe_param(op->params[i]));
  for (const char *const *e = op->examples; e && *e; e++) append(&examples, text(*e));
  for (int k = 0; k < FC_KIND_COUNT; k++)
    if (op->kinds & FC_KIND_BIT(k)) append(&kinds, text(names[k]));
  gboolean ok = put(dict, "name", text(op->name));
  ok = put(dict, "summary", text(op->summary)) && ok;
  ok = put(dict, "doc", text(op->doc)) && ok;
  ok = put(dict, "params", params) && ok;
  ok = put(dict, "examples", examples) && ok;
  ok = put(dict, "kinds", kinds) && ok;
  ok = put(dict, "cuda", PyBool_FromLong(fc_backend_for(op, FC_KIND_CUDA) != NULL)) && ok;
  ok = put(dict, "generator", PyBool_FromLong((op->flags & FC_OP_GENERATOR) != 0)) && ok;
  ok = put(dict, "measures", PyBool_FromLong(op->report != NULL)) && ok;
  if (!ok) Py_CLEAR(dict);
  return dict;
}

PyObject *fc_py_operators(PyObject *module, PyObject *none) {
  gsize count;
  const fc_operator **all;
  Py_BEGIN_ALLOW_THREADS;
  all = fc_context_operators(fc_py_context(), &count);
  Py_END_ALLOW_THREADS;
  PyObject *list = PyList_New(0);
  for (gsize i = 0; i < count; i++) append(&list, describe(all[i]));
  g_free(all);
  return list;
}
