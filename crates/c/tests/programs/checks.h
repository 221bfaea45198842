/* Checks of a call's status and of a condition: a failed check ends the program. */
#ifndef CHECKS_H
#define CHECKS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IS(expected, call)                                                              \
  do {                                                                                  \
    const jf_status found_ = (call);                                                    \
    if (found_ != (expected)) {                                                         \
      fprintf(stderr, "%s:%d: %s: found %d (%s), expected %s\n", __FILE__, __LINE__, #call, \
              (int)found_, jf_error_text(found_), #expected);                           \
      exit(1);                                                                          \
    }                                                                                   \
  } while (0)

#define HOLDS(condition)                                                        \
  do {                                                                          \
    if (!(condition)) {                                                         \
      fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                  \
    }                                                                           \
  } while (0)

#define TEXT(words) (words), strlen(words)

#endif
