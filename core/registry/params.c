/* SPDX-License-Identifier: MIT */
/*
 * params.c - see params.h. Two passes: first which argument belongs to which parameter, then the value of
 * each parameter, typed or preset, through one parser.
 */
#include "core/registry/params.h"

#include "core/base/suggest.h"
#include "core/registry/table.h"
#include "core/registry/units.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* From here on a number does not fit int64_t. */
#define INT_BEYOND 9223372036854775808.0

typedef struct value {
  fc_arg pub;
  GArray *ints;
  GArray *floats;
  GArray *seconds; /* for each number, NaN if it is not a time; NULL: none is */
  char *text;
  fc_table *table;
  gboolean names_file; /* the text is a path */
} value;

typedef struct resolved {
  fc_args pub;
  /* the arguments from which these were computed for one rate, and whose values they share; NULL: none */
  struct resolved *base;
  value *values;
  const fc_arg **argv, **inputs;
  GPtrArray *warnings; /* of char * */
  gint references;     /* atomic */
} resolved;

/* Context for parsing one value. */
typedef struct parsing {
  const char *op; /* for messages */
  const fc_param *param;
  const fc_operator *of; /* whose other parameters may have been meant; NULL: unknown */
  fc_table_loader load;
  void *load_data;
  gboolean check_only; /* files are not opened */
} parsing;

/* ---- words ------------------------------------------------------------- */

const char *fc_param_type_name(const fc_param *param) {
  static const char *const names[2][8] = {
      {"yes/no", "int", "float", "choice", "string", "table", "input", "path"},
      {"list of yes/no", "list of int", "list of float", "list of choices", "string", "table", "input",
       "path"}};
  if (param->type < 0 || param->type > FC_PATH) return "?";
  return names[(param->flags & FC_PARAM_LIST) != 0][param->type];
}

static gboolean has_limit(const fc_param *param, guint32 flag) {
  return param->limits && (param->limits->flags & flag);
}

/* Integers are written in full, so that users can type and compare them. g_free. */
static char *show_limit(const fc_param *param, gboolean low) {
  const fc_limits *l = param->limits;
  if (param->type == FC_INT) return g_strdup_printf("%" G_GINT64_FORMAT, low ? l->int_min : l->int_max);
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  double number = low ? l->min : l->max;
  gboolean whole = number == floor(number) && fabs(number) < 1e18;
  return g_strdup(g_ascii_formatd(text, sizeof text, whole ? "%.0f" : "%.15g", number));
}

/* "1 to 100", "at least 0", "at most 5"; NULL where there are no limits. g_free. */
static char *show_range(const fc_param *param) {
  gboolean has_low = has_limit(param, FC_LIMIT_MIN), has_high = has_limit(param, FC_LIMIT_MAX);
  if (!has_low && !has_high) return NULL;
  g_autofree char *low = has_low ? show_limit(param, TRUE) : NULL,
                  *high = has_high ? show_limit(param, FALSE) : NULL;
  return low && high ? g_strdup_printf("%s to %s", low, high)
         : low       ? g_strdup_printf("at least %s", low)
                     : g_strdup_printf("at most %s", high);
}

static char *expected_number(const fc_param *param) {
  g_autofree char *range = show_range(param);
  const char *plain = param->type == FC_INT ? "a whole number" : "a number";
  const char *unit = param->unit && *param->unit ? param->unit : NULL, *glue = range ? " " : " of ";
  return g_strconcat(range ? range : plain, unit ? glue : NULL, unit, NULL);
}

/* The accepted names; ends with NULL, g_free the array. */
static const char **choice_names(const fc_param *param) {
  GPtrArray *names = g_ptr_array_new();
  for (const fc_choice *const *c = param->choices; c && *c; c++)
    if ((*c)->value != FC_REFUSED) g_ptr_array_add(names, (gpointer)(*c)->name);
  g_ptr_array_add(names, NULL);
  return (const char **)g_ptr_array_free(names, FALSE);
}

static char *expected_choice(const fc_param *param) {
  g_autofree const char **names = choice_names(param);
  GString *text = g_string_new(NULL);
  for (guint i = 0; names[i]; i++) {
    const char *glue = i == 0 ? "" : names[i + 1] ? ", " : " or ";
    g_string_append_printf(text, "%s%s", glue, names[i]);
  }
  return g_string_free(text, FALSE);
}

char *fc_param_expected(const fc_param *param) {
  switch (param->type) {
  case FC_BOOL: return g_strdup("yes or no");
  case FC_INT:
  case FC_FLOAT: return expected_number(param);
  case FC_ENUM: return expected_choice(param);
  case FC_TABLE: return g_strdup("a file of numbers, or a table such as [1,2,1]/4");
  case FC_INPUT: return g_strdup("a file to be read as a further input");
  case FC_PATH: return g_strdup("the name of a file");
  default: return g_strdup("text");
  }
}

static gboolean has_unit(const fc_param *param, const char *unit) {
  return param->unit && strcmp(param->unit, unit) == 0;
}

/* Is what follows a number its unit, by either name? */
static gboolean is_unit(const char *text, const char *end, const char *unit, const char *other) {
  const gsize length = (gsize)(end - text);
  for (int i = 0; i < 2; i++, unit = other)
    if (unit && length && strlen(unit) == length && g_ascii_strncasecmp(text, unit, length) == 0) return TRUE;
  return FALSE;
}

/* A number with a unit that this parameter takes. */
static gboolean fits_unit(const fc_param *param, const char *word, gsize length) {
  double number;
  const char *end = word + length, *after = fc_number_scan(word, end, &number);
  if (has_unit(param, "samples") && fc_time_scan(word, length, &number)) return TRUE;
  if (!after || after == end) return FALSE;
  return is_unit(after, end, param->unit, param->flags & FC_PARAM_DECIBEL ? "dB" : NULL) ||
         (has_unit(param, "Hz") && fc_frequency_unit(after, (gsize)(end - after)) > 0);
}

/* "before=1s or after=1s": parameters, three at most, that take a value of this unit, but for one; NULL:
 * there are none. g_free. */
static char *other_params(const fc_operator *op, const fc_param *but, const char *word, gsize length) {
  GString *text = g_string_new(NULL);
  guint n = 0;
  for (guint i = 0; op && i < op->n_params && n < 3; i++)
    if (op->params[i] != but && fits_unit(op->params[i], word, length))
      g_string_append_printf(text, "%s%s=%.*s", n++ ? " or " : "", op->params[i]->name, (int)length, word);
  return g_string_free(text, n == 0);
}

/* "conv1d: window: WORD is WRONG: expected 1 to 100 samples". */
static gboolean fail_value(const parsing *p, const char *word, gsize length, const char *wrong,
                           GError **error) {
  const gboolean fits = fits_unit(p->param, word, length);
  g_autofree char *others = fits ? NULL : other_params(p->of, p->param, word, length);
  if (others)
    return fc_fail(error, FC_INVALID, "%s: %s: %.*s %s: did you mean %s?", p->op, p->param->name, (int)length,
                   word, wrong, others);
  const char *star = memchr(word, '*', length);
  if (star && p->param->flags & FC_PARAM_LIST && strspn(word, "0123456789*") >= length)
    return fc_fail(error, FC_INVALID, "%s: %s: %.*s %s: did you mean %.*sx%.*s?", p->op, p->param->name,
                   (int)length, word, wrong, (int)(star - word), word, (int)(word + length - star - 1),
                   star + 1);
  g_autofree char *shown = fc_quote_for_message(word, length), *expected = fc_param_expected(p->param);
  const char *quote = g_ascii_isdigit(*shown) || *shown == '-' ? "" : "\"";
  const gboolean level = p->param->flags & FC_PARAM_DECIBEL && strspn(shown, "+-.0123456789") == length;
  const gboolean time =
      has_unit(p->param, "samples") && strchr(shown, '.') && strspn(shown, ".0123456789") == length;
  const char *other = level ? ", or decibels, " : time ? ", or a time, " : "";
  const char *unit = level ? "dB" : time ? "s" : "";
  return fc_fail(error, FC_INVALID, "%s: %s: %s%s%s %s: expected %s%s%s%s", p->op, p->param->name, quote,
                 shown, quote, wrong, expected, other, *other ? shown : "", unit);
}

/* ---- one word of a value ----------------------------------------------- */

static gboolean check_int(const parsing *p, gint64 number, const char *word, gsize length, GError **error) {
  gboolean low = has_limit(p->param, FC_LIMIT_MIN) && number < p->param->limits->int_min;
  gboolean high = has_limit(p->param, FC_LIMIT_MAX) && number > p->param->limits->int_max;
  return (!low && !high) || fail_value(p, word, length, "is out of range", error);
}

static gboolean check_float(const parsing *p, double number, const char *word, gsize length, GError **error) {
  gboolean low = has_limit(p->param, FC_LIMIT_MIN) && number < p->param->limits->min;
  gboolean high = has_limit(p->param, FC_LIMIT_MAX) && number > p->param->limits->max;
  return (!low && !high) || fail_value(p, word, length, "is out of range", error);
}

/* Whether a number that was read as 0 was written as a different one (underflow). */
static gboolean is_lost(const char *word, const char *end) {
  for (; word < end && *word != 'e' && *word != 'E'; word++)
    if (*word >= '1' && *word <= '9') return TRUE;
  return FALSE;
}

/* A time stands for a number that is told when the rate is known. */
static gboolean parse_time(value *v, double seconds) {
  const gint64 none = 0;
  const double nothing = 0;
  if (!v->seconds) v->seconds = g_array_new(FALSE, FALSE, sizeof(double));
  while (v->seconds->len < v->floats->len) {
    const double plain = NAN;
    g_array_append_val(v->seconds, plain);
  }
  g_array_append_val(v->seconds, seconds);
  g_array_append_val(v->ints, none);
  g_array_append_val(v->floats, nothing);
  return TRUE;
}

/* 0x10 in a list: the 0 is at fault, or it is not told from a hexadecimal number. */
static gboolean fail_zero_by(const parsing *p, const char *word, gsize length, GError **error) {
  const gboolean zero = check_int(p, 0, word, length, NULL);
  return fail_value(p, word, length,
                    zero ? "is not a number (write two with a comma)" : "has a 0, which is out of range",
                    error);
}

/* Integers may be written as 48000 or 48e3. */
static gboolean parse_int(const parsing *p, value *v, const char *word, gsize length, GError **error) {
  double number = 0;
  gint64 whole = 0;
  if (has_unit(p->param, "samples") && fc_time_scan(word, length, &number)) return parse_time(v, number);
  g_autofree char *copy = g_strndup(word, length);
  if (g_ascii_string_to_signed(copy, 10, G_MININT64, G_MAXINT64, &whole, NULL)) {
    number = (double)whole;
  } else {
    const char *after = fc_number_scan(word, word + length, &number);
    if (p->param->flags & FC_PARAM_LIST && length > 2 && strncmp(word, "0x", 2) == 0)
      return fail_zero_by(p, word, length, error);
    if (after != word + length) {
      const gboolean time =
          after && g_ascii_isalpha(*after) && *after != 'x' && has_unit(p->param, "samples");
      return fail_value(p, word, length,
                        time ? "is not a number, nor a time such as 1.5s" : "is not a number", error);
    }
    if (number != floor(number) || (number == 0 && is_lost(word, word + length)))
      return fail_value(p, word, length, "is not a whole number", error);
    if (fabs(number) >= INT_BEYOND) return fail_value(p, word, length, "is out of range", error);
    whole = (gint64)number;
  }
  if (!check_int(p, whole, word, length, error)) return FALSE;
  g_array_append_val(v->ints, whole);
  g_array_append_val(v->floats, number);
  return TRUE;
}

static gboolean parse_float(const parsing *p, value *v, const char *word, gsize length, GError **error) {
  double number;
  const char *end = word + length;
  const char *after = fc_number_scan(word, end, &number);
  if (!after) return fail_value(p, word, length, "is not a finite number", error);
  gboolean lost = number == 0 && is_lost(word, after);
  gboolean decibel = (p->param->flags & FC_PARAM_DECIBEL) && is_unit(after, end, "dB", "dBFS");
  double factor = has_unit(p->param, "Hz") ? fc_frequency_unit(after, (gsize)(end - after)) : 0;
  if (decibel)
    number = pow(10, number / 20);
  else if (factor > 0)
    number *= factor;
  else if (after != end && !is_unit(after, end, p->param->unit, NULL))
    return fail_value(p, word, length, "is not a number", error);
  if (fabs(number) > FLT_MAX && !has_limit(p->param, FC_LIMIT_MAX)) /* or no number at all */
    return fc_fail(error, FC_INVALID, "%s: %s: %.*s is too large: the largest number is 3.4e38", p->op,
                   p->param->name, (int)length, word);
  if (!isfinite(number)) return fail_value(p, word, length, "is out of range", error);
  if (lost || (decibel && number == 0)) return fail_value(p, word, length, "is too small", error);
  if (!check_float(p, number, word, length, error)) return FALSE;
  g_array_append_val(v->floats, number);
  return TRUE;
}

static gboolean parse_bool(const parsing *p, value *v, const char *word, gsize length, GError **error) {
  static const char *const words[] = {"no", "yes", "false", "true", "off", "on", "0", "1"};
  for (guint i = 0; i < G_N_ELEMENTS(words); i++)
    if (strlen(words[i]) == length && g_ascii_strncasecmp(words[i], word, length) == 0) {
      gint64 yes = i & 1;
      g_array_append_val(v->ints, yes);
      return TRUE;
    }
  return fail_value(p, word, length, "is neither", error);
}

static gboolean fail_choice(const parsing *p, const char *word, gsize length, GError **error) {
  g_autofree const char **names = choice_names(p->param);
  g_autofree char *typed = g_strndup(word, length), *hint = fc_did_you_mean(typed, names),
                  *shown = fc_quote_for_message(word, length);
  if (!*hint) return fail_value(p, word, length, "is not one of the choices", error);
  return fc_fail(error, FC_INVALID, "%s: %s: no such choice \"%s\"%s", p->op, p->param->name, shown, hint);
}

static gboolean parse_enum(const parsing *p, value *v, const char *word, gsize length, GError **error) {
  for (const fc_choice *const *c = p->param->choices; c && *c; c++) {
    if (strlen((*c)->name) != length || strncmp((*c)->name, word, length) != 0) continue;
    if ((*c)->value == FC_REFUSED)
      return fc_fail(error, FC_INVALID, "%s: %s: \"%s\" is not accepted: %s", p->op, p->param->name,
                     (*c)->name, (*c)->doc ? (*c)->doc : "it means different things in different programs");
    gint64 chosen = (*c)->value;
    g_array_append_val(v->ints, chosen);
    return TRUE;
  }
  return fail_choice(p, word, length, error);
}

static gboolean parse_word(const parsing *p, value *v, const char *word, gsize length, GError **error) {
  switch (p->param->type) {
  case FC_BOOL: return parse_bool(p, v, word, length, error);
  case FC_INT: return parse_int(p, v, word, length, error);
  case FC_FLOAT: return parse_float(p, v, word, length, error);
  default: return parse_enum(p, v, word, length, error);
  }
}

/* Bytes up to the next of `stops`. 3x5 is two numbers, but 0x10 is one word, which is rejected. */
static gsize word_length(const char *word, const char *stops) {
  gsize length = strcspn(word, stops), sign = *word == '-' || *word == '+';
  gboolean hexadecimal = word[length] == 'x' && length == sign + 1 && word[sign] == '0';
  return hexadecimal ? strcspn(word, ",") : length;
}

/* ---- a whole value ----------------------------------------------------- */

static gboolean parse_words(const parsing *p, value *v, const char *text, GError **error) {
  gboolean list = (p->param->flags & FC_PARAM_LIST) != 0;
  gboolean number = p->param->type == FC_INT || p->param->type == FC_FLOAT;
  const char *stops = !list ? "" : number ? ",x" : ",";
  guint most = list ? p->param->max_count : 1, count = 0;
  for (const char *word = text;;) {
    gsize length = word_length(word, stops);
    if (length == 0 && list)
      return fc_fail(error, FC_INVALID, "%s: %s: a value is missing in \"%s\"", p->op, p->param->name, text);
    if (most && ++count > most)
      return fc_fail(error, FC_INVALID, "%s: %s: at most %u values can be given", p->op, p->param->name,
                     most);
    if (!parse_word(p, v, word, length, error)) return FALSE;
    if (!word[length]) return TRUE;
    word += length + 1;
  }
}

/* The loader's message names the file; the operator is prepended. */
static gboolean parse_table(const parsing *p, value *v, const fc_stage_arg *arg, GError **error) {
  gboolean mask = (p->param->flags & FC_PARAM_MASK) != 0;
  GError *why = NULL;
  if (arg->value[0] == '[' && !arg->quoted)
    v->table = fc_table_parse_inline(arg->value, mask, &why);
  else if (p->check_only)
    return TRUE;
  else if (!*arg->value)
    fc_fail(&why, FC_INVALID, "%s: the file name is empty", p->param->name);
  else if (p->load) {
    v->table = p->load(arg->value, mask, p->load_data, &why);
    v->names_file = TRUE;
    /* Any error in the file is FC_IO: the command itself was valid. */
    if (why && why->code != FC_NO_MEMORY) why->code = FC_IO;
    if (why && !g_file_test(arg->value, G_FILE_TEST_EXISTS) &&
        !arg->value[strspn(arg->value, "0123456789.,;+-eE/")] && strpbrk(arg->value, ",;")) {
      g_clear_error(&why);
      fc_fail(&why, FC_IO, "%s: there is no such file; numbers are written in brackets: [%s]", arg->value,
              arg->value);
    }
  } else
    fc_fail(&why, FC_UNSUPPORTED, "%s: files are not read here: write the table out", arg->value);
  if (v->table) return TRUE;
  fc_fail(error, (fc_status)why->code, "%s: %s", p->op, why->message);
  g_error_free(why);
  return FALSE;
}

/* Only the names are checked here: the operator opens a path, the engine an input. */
static gboolean parse_name(const parsing *p, value *v, const fc_stage_arg *arg, GError **error) {
  if (!*arg->value)
    return fc_fail(error, FC_INVALID, "%s: %s: the file name is empty", p->op, p->param->name);
  v->names_file = TRUE;
  return TRUE;
}

/* Sets the pointers of the public struct, when the numbers no longer move. */
static void publish(value *v, gboolean given) {
  guint count = MAX(v->ints->len, v->floats->len);
  v->pub.size = sizeof v->pub;
  v->pub.given = given;
  v->pub.count = count ? count : 1;
  v->pub.ints = v->ints->len ? (const int64_t *)(gpointer)v->ints->data : NULL;
  v->pub.floats = v->floats->len ? (const double *)(gpointer)v->floats->data : NULL;
  v->pub.text = v->text;
  v->pub.table = v->table;
}

static gboolean parse_value(const parsing *p, value *v, const fc_stage_arg *arg, gboolean given,
                            GError **error) {
  gboolean ok = TRUE;
  v->text = g_strdup(arg->value);
  if (p->param->type == FC_TABLE)
    ok = parse_table(p, v, arg, error);
  else if (p->param->type == FC_INPUT || p->param->type == FC_PATH)
    ok = parse_name(p, v, arg, error);
  else if (p->param->type != FC_STRING)
    ok = parse_words(p, v, arg->value, error);
  if (ok) publish(v, given);
  return ok;
}

static gboolean parse_preset(const parsing *p, value *v, GError **error) {
  fc_stage_arg arg;
  GError *why = NULL;
  if (!fc_stage_value_parse(p->param->preset, &arg, &why)) {
    fc_fail(error, FC_FATAL, "%s: %s: preset: %s", p->op, p->param->name, why->message);
    g_error_free(why);
    return FALSE;
  }
  gboolean ok = parse_value(p, v, &arg, FALSE, error);
  fc_stage_arg_clear(&arg);
  return ok;
}

static void init_value(value *v) {
  v->ints = g_array_new(FALSE, FALSE, sizeof(gint64));
  v->floats = g_array_new(FALSE, FALSE, sizeof(double));
  v->pub.size = sizeof v->pub;
}

static void finish_value(value *v) {
  g_array_free(v->ints, TRUE);
  g_array_free(v->floats, TRUE);
  if (v->seconds) g_array_free(v->seconds, TRUE);
  g_free(v->text);
  fc_table_free(v->table);
}

gboolean fc_param_check_preset(const fc_param *param, GError **error) {
  parsing p = {.op = "preset", .param = param, .check_only = TRUE};
  value v = {0};
  if (!param->preset) return TRUE;
  init_value(&v);
  gboolean ok = parse_preset(&p, &v, error);
  finish_value(&v);
  return ok;
}

/* ---- assigning arguments to parameters --------------------------------- */

static char *show_names(const fc_operator *op) {
  GString *names = g_string_new(NULL);
  for (guint i = 0; i < op->n_params; i++)
    g_string_append_printf(names, "%s%s", i ? ", " : "", op->params[i]->name);
  return g_string_free(names, FALSE);
}

/* "mode=fill" for fit=cover: the choice parameter that has such a value. A refused value is replaced by
 * the one that its message names ("say fill"). NULL: there is none. */
static char *same_choice(const fc_operator *op, const char *given) {
  for (guint i = 0; given && i < op->n_params; i++) {
    const fc_param *param = op->params[i];
    for (const fc_choice *const *c = param->choices; c && *c; c++) {
      if (strcmp((*c)->name, given) != 0) continue;
      const gboolean other = (*c)->value == FC_REFUSED && (*c)->doc && g_str_has_prefix((*c)->doc, "say ");
      const char *said = other ? (*c)->doc + 4 : given;
      return g_strdup_printf("%s=%.*s", param->name, (int)strcspn(said, " ,;"), said);
    }
  }
  return NULL;
}

static gboolean fail_unknown(const fc_operator *op, const char *key, const char *given, GError **error) {
  g_autofree const char **names = g_new0(const char *, op->n_params + 1);
  for (guint i = 0; i < op->n_params; i++) names[i] = op->params[i]->name;
  g_autofree char *hint = fc_did_you_mean(key, names), *all = show_names(op),
                  *choice = same_choice(op, given), *shown = fc_quote_for_message(key, strlen(key));
  if (op->n_params == 0)
    return fc_fail(error, FC_INVALID, "%s: unknown parameter \"%s\": it takes none", op->name, shown);
  if (choice)
    return fc_fail(error, FC_INVALID, "%s: unknown parameter \"%s\": did you mean %s?", op->name, shown,
                   choice);
  if (*hint) return fc_fail(error, FC_INVALID, "%s: unknown parameter \"%s\"%s", op->name, shown, hint);
  return fc_fail(error, FC_INVALID,
                 "%s: unknown parameter \"%s\": it takes %s (quote a value that holds \"=\")", op->name,
                 shown, all);
}

static gboolean is_called(const fc_param *param, const char *key) {
  if (strcmp(param->name, key) == 0) return TRUE;
  return param->aliases && g_strv_contains(param->aliases, key);
}

static int find_param(const fc_operator *op, const char *key) {
  for (guint i = 0; i < op->n_params; i++)
    if (key ? is_called(op->params[i], key) : (op->params[i]->flags & FC_PARAM_MAIN) != 0) return (int)i;
  return -1;
}

/* The rest of 1:30, which ':' has cut: two digits, given to an operator that counts samples. */
static gboolean is_cut_time(const fc_operator *op, const char *before, const char *word) {
  gboolean counts = FALSE;
  if (!before || before[strspn(before, "0123456789")]) return FALSE;
  for (guint i = 0; i < op->n_params; i++) counts |= has_unit(op->params[i], "samples");
  return counts && g_ascii_isdigit(word[0]) && g_ascii_isdigit(word[1]) && (!word[2] || word[2] == '.');
}

static gboolean takes_file(const fc_operator *op) {
  for (guint i = 0; i < op->n_params; i++)
    if (op->params[i]->type == FC_TABLE || op->params[i]->type == FC_INPUT || op->params[i]->type == FC_PATH)
      return TRUE;
  return FALSE;
}

/* `before`: the value ahead of it, or NULL. */
static gboolean fail_bare(const fc_operator *op, const fc_stage_arg *arg, const char *before,
                          GError **error) {
  const int main = find_param(op, NULL);
  g_autofree char *others =
      other_params(op, main < 0 ? NULL : op->params[main], arg->value, strlen(arg->value));
  g_autofree char *shown = fc_quote_for_message(arg->value, strlen(arg->value)), *all = show_names(op);
  if (find_param(op, arg->value) >= 0)
    fc_fail(error, FC_INVALID, "%s: \"%s\" needs a value: %s=...", op->name, shown, shown);
  else if (op->n_params == 0)
    fc_fail(error, FC_INVALID, "%s: \"%s\" is unexpected: it takes no parameters", op->name, shown);
  else if (others)
    fc_fail(error, FC_INVALID, "%s: \"%s\" belongs to no parameter: did you mean %s?", op->name, shown,
            others);
  else if (!arg->quoted && is_cut_time(op, before, arg->value))
    fc_fail(
        error, FC_INVALID,
        "%s: \"%s\" belongs to no parameter: a time is written with its hours, 0:01:30, or in quotes, '1:30'",
        op->name, shown);
  else
    fc_fail(error, FC_INVALID, "%s: \"%s\" belongs to no parameter: write NAME=VALUE, the names are %s%s",
            op->name, shown, all, takes_file(op) ? " (a colon in a file's name is written \\:)" : "");
  return FALSE;
}

/* owners[i]: the argument given for parameter i, or NULL. */
static gboolean assign(const fc_operator *op, const fc_stage_text *stage, const fc_stage_arg **owners,
                       GError **error) {
  for (guint i = 0; i < stage->n_args; i++) {
    const fc_stage_arg *arg = &stage->args[i];
    const char *before = i ? stage->args[i - 1].value : NULL;
    int which = find_param(op, arg->key);
    if (which < 0)
      return arg->key ? fail_unknown(op, arg->key, arg->value, error) : fail_bare(op, arg, before, error);
    if (owners[which] && !arg->key) return fail_bare(op, arg, before, error);
    if (owners[which])
      return fc_fail(error, FC_INVALID, "%s: \"%s\" is given twice", op->name, op->params[which]->name);
    owners[which] = arg;
  }
  return TRUE;
}

static gboolean fail_missing(const fc_operator *op, const fc_param *param, GError **error) {
  g_autofree char *expected = fc_param_expected(param), *upper = g_ascii_strup(param->name, -1);
  const char *key = param->flags & FC_PARAM_MAIN ? "" : param->name;
  return fc_fail(error, FC_INVALID, "%s: \"%s\" is missing: write %s:%s%s%s, %s", op->name, param->name,
                 op->name, key, *key ? "=" : "", upper, expected);
}

static gboolean resolve_one(const fc_operator *op, guint i, const fc_stage_arg *arg, parsing *p, value *v,
                            GError **error) {
  p->param = op->params[i];
  if (arg) return parse_value(p, v, arg, TRUE, error);
  if (p->param->flags & FC_PARAM_REQUIRED) return fail_missing(op, p->param, error);
  return !p->param->preset || parse_preset(p, v, error);
}

static resolved *new_resolved(guint n) {
  resolved *r = g_new0(resolved, 1);
  r->references = 1;
  r->values = g_new0(value, n + 1);
  r->argv = g_new0(const fc_arg *, n + 1);
  r->inputs = g_new0(const fc_arg *, n + 1);
  r->warnings = g_ptr_array_new_with_free_func(g_free);
  r->pub.n = n;
  r->pub.argv = r->argv;
  r->pub.inputs = r->inputs;
  for (guint i = 0; i < n; i++) {
    init_value(&r->values[i]);
    r->argv[i] = &r->values[i].pub;
  }
  return r;
}

/* -6, where -6dB is more likely to be meant. */
static void warn_of_factor(const fc_operator *op, const fc_param *param, const fc_arg *arg, GPtrArray *to) {
  const gboolean plain = arg->given && param->flags & FC_PARAM_DECIBEL && !strpbrk(arg->text, "bB");
  for (guint i = 0; plain && arg->floats && i < arg->count; i++)
    if (arg->floats[i] < -1) {
      g_ptr_array_add(to,
                      g_strdup_printf("%s: %s: %g is a factor, which also inverts the phase; decibels are "
                                      "written %gdB",
                                      op->name, param->name, arg->floats[i], arg->floats[i]));
      return;
    }
}

/* Which inputs are there, in the order of the parameters, and what was given that is hardly meant. */
static void sum_up(const fc_operator *op, resolved *r) {
  for (guint i = 0; i < op->n_params; i++) {
    const fc_param *param = op->params[i];
    fc_arg *arg = &r->values[i].pub;
    if (arg->given && param->deprecated)
      g_ptr_array_add(r->warnings, g_strdup_printf("%s: \"%s\" is deprecated: %s", op->name, param->name,
                                                   param->deprecated));
    warn_of_factor(op, param, arg, r->warnings);
    if (r->values[i].seconds) r->pub.timed = TRUE;
    if (param->type != FC_INPUT || !arg->given) continue;
    r->inputs[r->pub.n_inputs++] = arg;
    arg->input = r->pub.n_inputs; /* input 0 is the chain's own signal */
  }
  g_ptr_array_add(r->warnings, NULL);
  r->pub.warnings = (const char *const *)r->warnings->pdata;
}

fc_args *fc_args_resolve(const fc_operator *op, const fc_stage_text *stage, fc_table_loader load,
                         void *load_data, GError **error) {
  parsing p = {.op = op->name, .of = op, .load = load, .load_data = load_data};
  g_autofree const fc_stage_arg **owners = g_new0(const fc_stage_arg *, op->n_params + 1);
  resolved *r = new_resolved(op->n_params);
  gboolean ok = assign(op, stage, owners, error);
  for (guint i = 0; ok && i < op->n_params; i++) ok = resolve_one(op, i, owners[i], &p, &r->values[i], error);
  sum_up(op, r);
  if (ok) return &r->pub;
  fc_args_free(&r->pub);
  return NULL;
}

/* A value that is not a text: a table, or a view. */
static gboolean take_value(const fc_operator *op, const fc_param *param, const fc_value *given, value *v,
                           GError **error) {
  const int type = given->table ? FC_TABLE : FC_INPUT;
  if (param->type != type)
    return fc_fail(error, FC_INVALID, "%s: %s: a %s was given, the parameter is a %s", op->name, param->name,
                   given->table ? "table" : "view", fc_param_type_name(param));
  v->pub.given = TRUE;
  v->text = g_strdup(given->table && given->table->name ? given->table->name : "memory");
  if (given->table) {
    const fc_table *t = given->table;
    v->table = fc_table_new(v->text, t->rows, t->cols, t->data, FC_HAS(t, rate) ? t->rate : 0, error);
    if (!v->table) return FALSE;
    v->pub.count = t->rows * t->cols;
  }
  v->pub.text = v->text, v->pub.table = v->table;
  return TRUE;
}

fc_args *fc_args_of_values(const fc_operator *op, const fc_value *const *values, fc_table_loader load,
                           void *load_data, GError **error) {
  parsing p = {.op = op->name, .of = op, .load = load, .load_data = load_data};
  g_autofree const fc_value **owners = g_new0(const fc_value *, op->n_params + 1);
  resolved *r = new_resolved(op->n_params);
  gboolean ok = TRUE;
  for (guint i = 0; ok && values && values[i]; i++) {
    int which = find_param(op, values[i]->name);
    if (which < 0)
      ok = fail_unknown(op, values[i]->name ? values[i]->name : "", NULL, error);
    else if (owners[which])
      ok = fc_fail(error, FC_INVALID, "%s: \"%s\" is given twice", op->name, op->params[which]->name);
    else
      owners[which] = values[i];
  }
  for (guint i = 0; ok && i < op->n_params; i++) {
    const fc_value *given = owners[i];
    if (given && (given->table || given->view)) {
      ok = take_value(op, op->params[i], given, &r->values[i], error);
      continue;
    }
    fc_stage_arg arg = {.key = (char *)op->params[i]->name, .value = given ? (char *)given->text : NULL};
    ok = resolve_one(op, i, given && given->text ? &arg : NULL, &p, &r->values[i], error);
  }
  sum_up(op, r);
  if (ok) return &r->pub;
  fc_args_free(&r->pub);
  return NULL;
}

/* ---- times -------------------------------------------------------------- */

/* A parameter's value with times converted to samples. */
static gboolean value_at_rate(const fc_operator *op, const fc_param *param, const value *timed, double rate,
                              value *v, GError **error) {
  for (guint i = 0; i < timed->ints->len; i++) {
    const double seconds = i < timed->seconds->len ? g_array_index(timed->seconds, double, i) : NAN;
    gint64 whole = g_array_index(timed->ints, gint64, i);
    if (!isnan(seconds)) {
      const double samples = floor(seconds * rate + 0.5);
      const fc_limits *l = param->limits;
      whole = fabs(samples) < INT_BEYOND ? (gint64)samples : 0;
      if (fabs(samples) >= INT_BEYOND || (has_limit(param, FC_LIMIT_MIN) && whole < l->int_min) ||
          (has_limit(param, FC_LIMIT_MAX) && whole > l->int_max)) {
        g_autofree char *expected = fc_param_expected(param);
        return fc_fail(error, FC_INVALID, "%s: %s: %s is %.0f samples at %g Hz: expected %s", op->name,
                       param->name, timed->text, samples, rate, expected);
      }
    }
    const double number = (double)whole;
    g_array_append_val(v->ints, whole);
    g_array_append_val(v->floats, number);
  }
  v->text = g_strdup(timed->text);
  publish(v, timed->pub.given);
  return TRUE;
}

fc_args *fc_args_at_rate(const fc_operator *op, fc_args *args, double rate, GError **error) {
  resolved *base = (resolved *)args;
  if (!args->timed) return fc_args_ref(args);
  resolved *r = new_resolved(args->n);
  gboolean ok = TRUE;
  r->base = (resolved *)fc_args_ref(args);
  r->pub.n_inputs = args->n_inputs, r->pub.inputs = args->inputs, r->pub.warnings = args->warnings;
  for (guint i = 0; ok && i < args->n; i++) {
    if (!base->values[i].seconds) {
      r->argv[i] = args->argv[i];
      continue;
    }
    if (!(rate > 0))
      ok = fc_fail(error, FC_INVALID,
                   "%s: %s: %s is a time, but the sample rate is unknown: give a number of samples", op->name,
                   op->params[i]->name, base->values[i].text);
    else
      ok = value_at_rate(op, op->params[i], &base->values[i], rate, &r->values[i], error);
  }
  if (ok) return &r->pub;
  fc_args_free(&r->pub);
  return NULL;
}

fc_args *fc_args_ref(fc_args *args) {
  g_atomic_int_inc(&((resolved *)args)->references);
  return args;
}

void fc_args_add_files(const fc_args *args, GPtrArray *paths) {
  const resolved *r = (const resolved *)args;
  for (guint i = 0; i < r->pub.n; i++)
    if (r->values[i].names_file) g_ptr_array_add(paths, r->values[i].text);
}

void fc_args_free(fc_args *args) {
  resolved *r = (resolved *)args;
  if (!r || !g_atomic_int_dec_and_test(&r->references)) return;
  for (guint i = 0; i < r->pub.n; i++) finish_value(&r->values[i]);
  g_free(r->values);
  g_ptr_array_free(r->warnings, TRUE);
  g_free(r->inputs);
  g_free(r->argv);
  if (r->base) fc_args_free(&r->base->pub);
  g_free(r);
}
