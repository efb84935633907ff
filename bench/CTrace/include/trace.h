/* Records when this process reads, writes and waits for the disk, and on which thread.

   The functions of the C library are replaced in the program that links this: NIO and SQLite call them by name. While
   nothing is recorded, a call costs one load more. */
#ifndef NEST_CTRACE_H
#define NEST_CTRACE_H

#include <stddef.h>
#include <stdint.h>

typedef enum {
    NEST_TRACE_READ,
    NEST_TRACE_WRITE,
    NEST_TRACE_SYNC,
    /* Marks of the program itself, with the same time as begin and end. */
    NEST_TRACE_MARK,
} nest_trace_kind;

typedef struct {
    /* Nanoseconds of the monotonic clock. */
    uint64_t begin;
    uint64_t end;
    /* What the call returned; the number of a mark. */
    int64_t result;
    uint32_t kind;
    /* The kernel's number of the thread. */
    uint32_t thread;
} nest_trace_event;

/* Begins to record at most `capacity` calls. Returns 0, or ENOMEM. */
int nest_trace_start(size_t capacity);

/* Ends it. The events are in the order in which they ended, nearly, and belong to the caller: free them with
   nest_trace_free. `missed`: how many calls found no place. A call that has not returned is left out. */
nest_trace_event *_Nullable nest_trace_stop(size_t *_Nonnull count, size_t *_Nonnull missed);
void nest_trace_free(nest_trace_event *_Nullable events);

void nest_trace_mark(int64_t number);

/* The kernel's number of the calling thread. */
uint32_t nest_trace_thread(void);

#endif
