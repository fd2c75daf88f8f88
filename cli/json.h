/* SPDX-License-Identifier: MIT */
/*
 * json.h - a small writer of JSON. Values are added in order; `key` is the name within an object and NULL
 * within an array and at the top. The output is always valid: text is escaped (invalid UTF-8 becomes U+FFFD),
 * and numbers that JSON cannot represent are written as the strings "nan", "inf", "-inf".
 */
#ifndef FC_CLI_JSON_H
#define FC_CLI_JSON_H

#include <glib.h>

typedef struct json {
  GString *text;
  int depth;
  gboolean compact; /* one line, without blanks */
  gboolean first;   /* the innermost object or array is empty so far */
} json;

json json_begin(gboolean compact);
/* The text with a newline at the end, to be freed with g_free. */
char *json_end(json *j);

/* '{' or '[', and their ends. */
void json_open(json *j, const char *key, char bracket);
void json_close(json *j, char bracket);

void json_string(json *j, const char *key, const char *value); /* NULL gives null */
/* A file's name. JSON holds no other text than UTF-8: of a name that is none KEY_base64 has the bytes. */
void json_path(json *j, const char *key, const char *path);
void json_int(json *j, const char *key, gint64 value);
void json_number(json *j, const char *key, double value);
void json_bool(json *j, const char *key, gboolean value);
void json_null(json *j, const char *key);

#endif
