#include <sqlite3.h>

/* Lets SQLite allocate memory without counting it, which takes a lock of the whole process for each allocation. Call it
   before the first connection is opened. sqlite3_config has arguments of any number, which Swift cannot pass. */
static inline int nest_sqlite_without_memory_counts(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }
