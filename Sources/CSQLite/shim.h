#include <sqlite3.h>

/* Lets SQLite allocate memory without counting it, which takes a lock of the whole process for each allocation. Call it
   before the first connection is opened. sqlite3_config has arguments of any number, which Swift cannot pass. */
static inline int nest_sqlite_without_memory_counts(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>

/* Lets the kernel begin to write what a file has in memory, and returns. A hint: a failure changes nothing. Swift's
   Glibc module lacks sync_file_range. */
static inline void nest_begin_writing(int file) {
    const unsigned int write = 2; /* SYNC_FILE_RANGE_WRITE */
    (void)syscall(SYS_sync_file_range, file, (long long)0, (long long)0, write);
}
#else
static inline void nest_begin_writing(int file) { (void)file; }
#endif
