#include "CRegex.h"

#include <cstring>
#include <exception>
#include <memory>
#include <string>

#include <re2/re2.h>

struct nest_regex {
    re2::RE2 expression;

    nest_regex(const re2::StringPiece &pattern, const re2::RE2::Options &options) : expression(pattern, options) {}
};

static nest_regex_fault_kind kind(re2::RE2::ErrorCode code) {
    switch (code) {
    case re2::RE2::ErrorBadEscape: return NEST_REGEX_ESCAPE;
    case re2::RE2::ErrorBadCharClass:
    case re2::RE2::ErrorBadCharRange: return NEST_REGEX_CLASS;
    case re2::RE2::ErrorMissingBracket: return NEST_REGEX_MISSING_BRACKET;
    case re2::RE2::ErrorMissingParen: return NEST_REGEX_MISSING_PAREN;
    case re2::RE2::ErrorUnexpectedParen: return NEST_REGEX_UNEXPECTED_PAREN;
    case re2::RE2::ErrorTrailingBackslash: return NEST_REGEX_TRAILING_BACKSLASH;
    case re2::RE2::ErrorRepeatArgument: return NEST_REGEX_REPEAT_NOTHING;
    case re2::RE2::ErrorRepeatSize: return NEST_REGEX_REPEAT_SIZE;
    case re2::RE2::ErrorRepeatOp: return NEST_REGEX_REPEAT_TWICE;
    case re2::RE2::ErrorBadPerlOp: return NEST_REGEX_GROUP;
    case re2::RE2::ErrorBadNamedCapture: return NEST_REGEX_GROUP_NAME;
    case re2::RE2::ErrorPatternTooLarge: return NEST_REGEX_TOO_LARGE;
    default: return NEST_REGEX_OTHER;
    }
}

/* Copies as many whole characters of UTF-8 as fit. */
template <size_t size> static void copy(const std::string &text, char (&place)[size]) {
    size_t count = text.size() < size ? text.size() : size - 1;
    while (count > 0 && count < text.size() && (text[count] & 0xc0) == 0x80) count -= 1;
    std::memcpy(place, text.data(), count);
    place[count] = 0;
}

nest_regex *nest_regex_compile(const char *pattern, size_t length, bool ignores_case, int64_t memory,
                               nest_regex_fault *fault) {
    *fault = {};
    try {
        re2::RE2::Options options;
        options.set_log_errors(false);
        options.set_case_sensitive(!ignores_case);
        options.set_never_capture(true);
        options.set_max_mem(memory);
        auto regex = std::make_unique<nest_regex>(re2::StringPiece(pattern, length), options);
        if (regex->expression.ok()) return regex.release();
        fault->kind = kind(regex->expression.error_code());
        copy(regex->expression.error(), fault->message);
        copy(regex->expression.error_arg(), fault->part);
    } catch (const std::exception &error) {
        copy(error.what(), fault->message);
    }
    return nullptr;
}

int32_t nest_regex_instructions(const nest_regex *regex) { return regex->expression.ProgramSize(); }

bool nest_regex_matches(const nest_regex *regex, const char *text, size_t length) {
    return regex->expression.Match(re2::StringPiece(text, length), 0, length, re2::RE2::ANCHOR_BOTH, nullptr, 0);
}

void nest_regex_free(nest_regex *regex) { delete regex; }
