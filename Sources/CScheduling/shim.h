#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The attributes of sched_setattr(2), for which glibc has no function before 2.41. */
struct nest_sched_attributes {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime;
    uint64_t deadline;
    uint64_t period;
};

/* Gives the calling thread a nice value and a time slice. Linux before 6.12 ignores the slice. Returns 0, or -1 with
   errno. */
static inline int nest_set_slice(int32_t nice, uint64_t slice_nanoseconds) {
    struct nest_sched_attributes attributes = {
        sizeof(struct nest_sched_attributes), 0, 0, nice, 0, slice_nanoseconds, 0, 0,
    };
    return (int)syscall(SYS_sched_setattr, 0, &attributes, 0);
}
