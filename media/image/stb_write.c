/* SPDX-License-Identifier: MIT */
/*
 * stb_write.c - stb_image_write, without files. A separate file because its JPEG writer shifts bits out of a
 * signed integer, which the undefined-behaviour sanitizer would report.
 */
#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STBI_WRITE_NO_STDIO
#include <stb_image_write.h>
