/* The servers of the limits: the least work for an echo, a durable fan-out and one answer, with epoll and one thread.

   A server runs until its listener is shut down. Every function that can fail returns NULL if it succeeded, and
   otherwise the name of the system call that failed, with the reason in errno. */
#ifndef NEST_CLIMITS_H
#define NEST_CLIMITS_H

#include <stddef.h>
#include <stdint.h>

/* A frame begins with the number of bytes after its header, as 32 bits in network order. */
#define NEST_LIMIT_HEADER_BYTES 12
/* The bytes of a record that a diff repeats: the header and the first fields. */
#define NEST_LIMIT_HEAD_BYTES 36
#define NEST_LIMIT_RECORD_BYTES_MAX 1024
/* The bytes that wait for a connection that does not read them. With more, the server closes the connection. */
#define NEST_LIMIT_KEPT_BYTES_MAX (64 << 20)
/* The size of the file, which is written from its start again when it is full. */
#define NEST_LIMIT_FILE_BYTES (16 << 20)

/* A file that is written in place, as SQLite writes its log after the first checkpoint: its bytes exist from the start,
   so that fdatasync writes no metadata. */
typedef struct {
    int descriptor;
    size_t position;
} nest_limit_file;

/* The file has no name, and its bytes are durable. */
const char *_Nullable nest_limit_file_open(nest_limit_file *_Nonnull file, const char *_Nonnull directory);

/* Writes the bytes at the position with one fdatasync. `count` is at most NEST_LIMIT_FILE_BYTES. */
const char *_Nullable nest_limit_file_write(nest_limit_file *_Nonnull file, const void *_Nonnull bytes, size_t count);

void nest_limit_file_close(nest_limit_file *_Nonnull file);

/* Listens on a free port of the loopback interface. */
const char *_Nullable nest_limit_listen(int *_Nonnull listener, uint16_t *_Nonnull port);

/* Sends all received bytes back. */
const char *_Nullable nest_limit_echo(int listener);

/* Answers each connection once: with `answer_bytes` bytes after it has received `request_bytes` bytes. EINVAL: there is
   no answer, or it is larger than NEST_LIMIT_KEPT_BYTES_MAX. */
const char *_Nullable nest_limit_answers(int listener, size_t request_bytes, size_t answer_bytes);

/* The sizes of a durable fan-out, which are those of nest's frames for the same work. */
typedef struct {
    /* A write: at least NEST_LIMIT_HEAD_BYTES, at most NEST_LIMIT_RECORD_BYTES_MAX. */
    size_t record_bytes;
    /* A write's part of a diff: at most NEST_LIMIT_KEPT_BYTES_MAX. A diff has NEST_LIMIT_HEAD_BYTES at least. */
    size_t change_bytes;
    /* The answer to a write: at least NEST_LIMIT_HEADER_BYTES, at most NEST_LIMIT_RECORD_BYTES_MAX. */
    size_t answer_bytes;
} nest_limit_sizes;

/* A connection that sends is a writer; all others are subscribers.

   A turn reads what all writers have sent, writes these records to the file with one fdatasync, sends one diff to every
   subscriber, and then one answer for each record to its writer. The diff begins as the turn's last record does, so it
   states the newest total; an answer begins as the last record too. EINVAL: a size is out of range.
   EMSGSIZE: a diff would be larger than NEST_LIMIT_KEPT_BYTES_MAX. */
const char *_Nullable nest_limit_fanout(int listener, nest_limit_file *_Nonnull file, nest_limit_sizes sizes);

#endif
