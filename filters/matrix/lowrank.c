/* SPDX-License-Identifier: MIT */
/*
 * lowrank.c - cross approximation with complete pivoting (Gaussian elimination that
 * stops when nothing is left). Bebendorf, "Approximation of boundary element matrices",
 * Numer. Math. 86 (2000), describes the method; the pivots here are complete.
 */
#include "filters/matrix/lowrank.h"

#include <math.h>
#include <string.h>

static double magnitude_sum(const double *a, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++) sum += fabs(a[i]);
  return sum;
}

static int64_t largest(const double *a, int64_t count) {
  int64_t at = 0;
  for (int64_t i = 1; i < count; i++)
    if (fabs(a[i]) > fabs(a[at])) at = i;
  return at;
}

/* Euclid's algorithm on integers held in doubles. */
static double common_divisor(double a, double b) {
  while (b != 0) {
    double r = fmod(a, b);
    a = b;
    b = r;
  }
  return fabs(a);
}

/* The greatest common divisor of a vector of integers; 0 if it has other numbers. */
static double divisor_of(const double *a, int64_t count, int64_t step) {
  double g = 0;
  for (int64_t i = 0; i < count; i++) {
    double v = a[i * step];
    if (v != nearbyint(v) || fabs(v) > 0x1p53) return 0;
    g = common_divisor(v, g);
  }
  return g;
}

/* Splits off the term through `pivot`: for integers, the column in lowest terms, since an integer matrix
 * of rank 1 then has an integer row too; else the column divided by the pivot. */
static void split(const double *rest, int64_t rows, int64_t cols, int64_t pivot, double *column,
                  double *row) {
  int64_t r = pivot / cols, c = pivot % cols;
  double divisor = divisor_of(rest + c, rows, cols);
  if (divisor == 0) divisor = rest[pivot];
  for (int64_t i = 0; i < rows; i++) column[i] = rest[i * cols + c] / divisor;
  for (int64_t j = 0; j < cols; j++) row[j] = rest[r * cols + j] / column[r];
}

static void take_away(double *rest, int64_t rows, int64_t cols, const double *column, const double *row) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < cols; j++) rest[i * cols + j] -= column[i] * row[j];
}

int fc_lowrank(const double *matrix, int64_t rows, int64_t cols, int most, double tolerance, double *column,
               double *row, double *rest) {
  double limit = tolerance * magnitude_sum(matrix, rows * cols);
  memcpy(rest, matrix, (size_t)(rows * cols) * sizeof *rest);
  for (int rank = 1; rank <= most; rank++, column += rows, row += cols) {
    int64_t pivot = largest(rest, rows * cols);
    if (rest[pivot] == 0) { /* all zeros: any term will do */
      memset(column, 0, (size_t)rows * sizeof *column);
      memset(row, 0, (size_t)cols * sizeof *row);
      return rank;
    }
    split(rest, rows, cols, pivot, column, row);
    take_away(rest, rows, cols, column, row);
    if (magnitude_sum(rest, rows * cols) <= limit) return rank;
  }
  return 0;
}
