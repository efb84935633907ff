/* Regular expressions whose time is linear in the text: RE2 behind functions of C. No exception leaves them. */
#ifndef NEST_CREGEX_H
#define NEST_CREGEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A compiled expression. It is immutable for its users: several threads may match with it at once. */
typedef struct nest_regex nest_regex;

typedef enum {
    NEST_REGEX_OTHER = 0,
    NEST_REGEX_ESCAPE,
    NEST_REGEX_CLASS,
    NEST_REGEX_MISSING_BRACKET,
    NEST_REGEX_MISSING_PAREN,
    NEST_REGEX_UNEXPECTED_PAREN,
    NEST_REGEX_TRAILING_BACKSLASH,
    NEST_REGEX_REPEAT_NOTHING,
    NEST_REGEX_REPEAT_SIZE,
    NEST_REGEX_REPEAT_TWICE,
    NEST_REGEX_GROUP,
    NEST_REGEX_GROUP_NAME,
    NEST_REGEX_TOO_LARGE,
} nest_regex_fault_kind;

typedef struct {
    nest_regex_fault_kind kind;
    /* RE2's words, and the part of the pattern that they are about; cut to fit, with a NUL at the end. */
    char message[128];
    char part[64];
} nest_regex_fault;

/* Returns NULL and sets *fault if the pattern is not valid. `pattern` is UTF-8. `memory`: the bytes that the expression
   may use for its program and, when it matches, for its automaton. */
nest_regex *_Nullable nest_regex_compile(const char *_Nonnull pattern, size_t length, bool ignores_case, int64_t memory,
                                         nest_regex_fault *_Nonnull fault);

/* The number of instructions of the program. Matching takes at most so many steps for each byte of the text. */
int32_t nest_regex_instructions(const nest_regex *_Nonnull regex);

/* Whether the whole text matches. `text` is UTF-8. */
bool nest_regex_matches(const nest_regex *_Nonnull regex, const char *_Nullable text, size_t length);

void nest_regex_free(nest_regex *_Nonnull regex);

#ifdef __cplusplus
}
#endif

#endif
