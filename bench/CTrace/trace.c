#define _GNU_SOURCE
#include "trace.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static nest_trace_event *events;
static size_t capacity;
static atomic_size_t next;
static atomic_bool is_recording;
/* Threads that write an event now. */
static atomic_int recorders;

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

uint32_t nest_trace_thread(void) {
    static _Thread_local uint32_t thread;
    if (!thread) thread = (uint32_t)syscall(SYS_gettid);
    return thread;
}

static void record(nest_trace_kind kind, uint64_t begin, uint64_t end, int64_t result) {
    atomic_fetch_add(&recorders, 1);
    if (atomic_load(&is_recording)) {
        size_t place = atomic_fetch_add(&next, 1);
        if (place < capacity) events[place] = (nest_trace_event){begin, end, result, kind, nest_trace_thread()};
    }
    atomic_fetch_sub(&recorders, 1);
}

int nest_trace_start(size_t count) {
    events = calloc(count, sizeof *events);
    if (!events) return ENOMEM;
    capacity = count;
    atomic_store(&next, 0);
    atomic_store(&is_recording, true);
    return 0;
}

nest_trace_event *nest_trace_stop(size_t *count, size_t *missed) {
    atomic_store(&is_recording, false);
    while (atomic_load(&recorders)) sched_yield();
    size_t recorded = atomic_load(&next);
    *count = recorded < capacity ? recorded : capacity;
    *missed = recorded - *count;
    nest_trace_event *result = events;
    events = NULL;
    capacity = 0;
    return result;
}

void nest_trace_free(nest_trace_event *result) { free(result); }

void nest_trace_mark(int64_t number) {
    uint64_t time = now();
    record(NEST_TRACE_MARK, time, time, number);
}

/* The sanitizers replace these functions themselves; with them nothing is recorded. */
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)

/* Calls the kernel as the C library does, and records it. */
#define TRACED(kind, call)                                                              \
    do {                                                                                \
        if (!atomic_load_explicit(&is_recording, memory_order_relaxed)) return (call);  \
        uint64_t begin = now();                                                         \
        long result = (call);                                                           \
        int error = errno;                                                              \
        record(kind, begin, now(), result);                                             \
        errno = error;                                                                  \
        return result;                                                                  \
    } while (0)

ssize_t read(int file, void *bytes, size_t count) { TRACED(NEST_TRACE_READ, syscall(SYS_read, file, bytes, count)); }

ssize_t write(int file, const void *bytes, size_t count) {
    TRACED(NEST_TRACE_WRITE, syscall(SYS_write, file, bytes, count));
}

ssize_t writev(int file, const struct iovec *parts, int count) {
    TRACED(NEST_TRACE_WRITE, syscall(SYS_writev, file, parts, count));
}

ssize_t send(int socket, const void *bytes, size_t count, int flags) {
    TRACED(NEST_TRACE_WRITE, syscall(SYS_sendto, socket, bytes, count, flags, NULL, 0));
}

int fdatasync(int file) { TRACED(NEST_TRACE_SYNC, (int)syscall(SYS_fdatasync, file)); }

#endif
