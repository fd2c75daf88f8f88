/* SPDX-License-Identifier: MIT */
/* `filterchain formats`: the files that can be read and written, by which library, and the options that
 * may follow their names. */
#include "cli/command.h"
#include "cli/json.h"

#include <stdio.h>
#include <string.h>

char *formats_reader(const char *name) {
  gsize count;
  g_autofree fc_file_format_info *formats = fc_file_formats(&count);
  for (gsize i = 0; i < count; i++)
    if (strcmp(formats[i].name, name) == 0 && formats[i].reader) return g_strdup(formats[i].reader);
  return g_strdup("none");
}

static void print_options(const char *flag, const fc_file_option *o) {
  for (; o && o->key; o++)
    printf("        %s :%s=%s (%s)  %s\n", flag, o->key, o->values, o->standard, o->summary);
}

static void print_text(const fc_file_format_info *formats, gsize count) {
  for (gsize i = 0; i < count; i++) {
    const fc_file_format_info *f = &formats[i];
    printf("%-5s %s (.%s)\n", f->name, f->title, f->extensions);
    if (f->reader && f->writer && strcmp(f->reader, f->writer) == 0)
      printf("        read and written by %s\n", f->reader);
    else {
      if (f->reader) printf("        read by %s\n", f->reader);
      if (f->writer) printf("        written by %s\n", f->writer);
    }
    print_options("-i", f->reading);
    print_options("-o", f->writing);
  }
}

static void write_options(json *j, const char *key, const fc_file_option *o) {
  json_open(j, key, '[');
  for (; o && o->key; o++) {
    json_open(j, NULL, '{');
    json_string(j, "key", o->key);
    json_string(j, "values", o->values);
    json_string(j, "standard", o->standard);
    json_string(j, "summary", o->summary);
    json_close(j, '}');
  }
  json_close(j, ']');
}

static void print_json(const fc_file_format_info *formats, gsize count) {
  json j = json_begin(FALSE);
  json_open(&j, NULL, '{');
  json_open(&j, "formats", '[');
  for (gsize i = 0; i < count; i++) {
    json_open(&j, NULL, '{');
    json_string(&j, "name", formats[i].name);
    json_string(&j, "title", formats[i].title);
    json_string(&j, "extensions", formats[i].extensions);
    json_string(&j, "read_by", formats[i].reader);
    json_string(&j, "written_by", formats[i].writer);
    write_options(&j, "input_options", formats[i].reading);
    write_options(&j, "output_options", formats[i].writing);
    json_close(&j, '}');
  }
  json_close(&j, ']');
  json_close(&j, '}');
  g_autofree char *text = json_end(&j);
  fputs(text, stdout);
}

exit_status formats_command(const arguments *a) {
  if (a->operands->len) {
    say_error("formats takes no operand");
    return EXIT_USAGE;
  }
  gsize count;
  g_autofree fc_file_format_info *formats = fc_file_formats(&count);
  (a->json ? print_json : print_text)(formats, count);
  return EXIT_DONE;
}
