#define _GNU_SOURCE
#include "CLimits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

/* Writes all bytes at a position. Returns whether it could. */
static int write_all(int descriptor, const char *bytes, size_t count, size_t position) {
    while (count > 0) {
        ssize_t written = pwrite(descriptor, bytes, count, (off_t)position);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return 0;
        bytes += written;
        count -= (size_t)written;
        position += (size_t)written;
    }
    return 1;
}

const char *nest_limit_file_open(nest_limit_file *file, const char *directory) {
    file->position = 0;
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/nestbench-limit-XXXXXX", directory);
    if (length < 0 || (size_t)length >= sizeof path) errno = ENAMETOOLONG, file->descriptor = -1;
    else file->descriptor = mkostemp(path, O_CLOEXEC);
    if (file->descriptor < 0) return "mkostemp";
    unlink(path);
    char *zeros = calloc(NEST_LIMIT_FILE_BYTES, 1);
    const char *failure = !zeros ? "calloc"
                          : !write_all(file->descriptor, zeros, NEST_LIMIT_FILE_BYTES, 0) ? "pwrite"
                          : fsync(file->descriptor) < 0 ? "fsync"
                                                        : NULL;
    int reason = errno;
    free(zeros);
    if (failure) nest_limit_file_close(file);
    errno = reason;
    return failure;
}

const char *nest_limit_file_write(nest_limit_file *file, const void *bytes, size_t count) {
    if (count > NEST_LIMIT_FILE_BYTES) {
        errno = EINVAL;
        return "pwrite";
    }
    if (file->position + count > NEST_LIMIT_FILE_BYTES) file->position = 0;
    if (!write_all(file->descriptor, bytes, count, file->position)) return "pwrite";
    file->position += count;
    return fdatasync(file->descriptor) < 0 ? "fdatasync" : NULL;
}

void nest_limit_file_close(nest_limit_file *file) {
    close(file->descriptor);
    file->descriptor = -1;
}
