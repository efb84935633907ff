#include "server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct fanout {
    nest_limit_file *file;
    nest_limit_sizes sizes;
    /* The whole records of this turn, and a frame to send. */
    struct bytes records, frame;
};

static bool append(struct bytes *bytes, const unsigned char *more, size_t count) {
    if (!bytes_reserve(bytes, count)) return false;
    memcpy(bytes->start + bytes->count, more, count);
    bytes->count += count;
    return true;
}

static void take(struct server *server, struct connection *connection, const unsigned char *bytes, size_t count) {
    struct fanout *fanout = server->state;
    size_t record = fanout->sizes.record_bytes, part = connection->part_bytes;
    size_t whole = (part + count) / record * record;
    connection->received += count;
    if (whole > 0) {
        if (!append(&fanout->records, connection->part, part) || !append(&fanout->records, bytes, whole - part)) {
            server_fail(server, "realloc");
            return;
        }
        bytes += whole - part;
        count -= whole - part;
        connection->part_bytes = 0;
        connection->unanswered += whole / record;
    }
    memcpy(connection->part + connection->part_bytes, bytes, count);
    connection->part_bytes += count;
}

/* Appends a frame of `count` bytes that begins as the record does. */
static bool append_frame(struct bytes *frame, const unsigned char *record, size_t count) {
    if (!bytes_reserve(frame, count)) return false;
    unsigned char *start = frame->start + frame->count;
    size_t head = count < NEST_LIMIT_HEAD_BYTES ? count : NEST_LIMIT_HEAD_BYTES;
    uint32_t body = htonl((uint32_t)(count - NEST_LIMIT_HEADER_BYTES));
    memcpy(start, record, head);
    memset(start + head, 0, count - head);
    memcpy(start, &body, sizeof body);
    frame->count += count;
    return true;
}

static bool send_frames(struct server *server, const unsigned char *last) {
    struct fanout *fanout = server->state;
    struct bytes *frame = &fanout->frame;
    size_t diff = fanout->records.count / fanout->sizes.record_bytes * fanout->sizes.change_bytes;
    frame->count = 0;
    if (!append_frame(frame, last, diff < NEST_LIMIT_HEAD_BYTES ? NEST_LIMIT_HEAD_BYTES : diff)) return false;
    for (size_t index = 0; index < server->count; index++) {
        struct connection *connection = server->connections[index];
        if (connection->received == 0) connection_send(server, connection, frame->start, frame->count);
    }
    for (size_t index = 0; index < server->count; index++) {
        struct connection *connection = server->connections[index];
        if (connection->unanswered == 0) continue;
        frame->count = 0;
        for (; connection->unanswered > 0; connection->unanswered--)
            if (!append_frame(frame, last, fanout->sizes.answer_bytes)) return false;
        connection_send(server, connection, frame->start, frame->count);
    }
    return true;
}

static void end_turn(struct server *server) {
    struct fanout *fanout = server->state;
    struct bytes *records = &fanout->records;
    if (records->count == 0) return;
    if (records->count / fanout->sizes.record_bytes * fanout->sizes.change_bytes > NEST_LIMIT_KEPT_BYTES_MAX) {
        errno = EMSGSIZE;
        server_fail(server, "diff");
        return;
    }
    const char *failure = nest_limit_file_write(fanout->file, records->start, records->count);
    if (failure) server_fail(server, failure);
    else if (!send_frames(server, records->start + records->count - fanout->sizes.record_bytes))
        server_fail(server, "realloc");
    records->count = 0;
}

const char *nest_limit_fanout(int listener, nest_limit_file *file, nest_limit_sizes sizes) {
    if (sizes.record_bytes < NEST_LIMIT_HEAD_BYTES || sizes.record_bytes > NEST_LIMIT_RECORD_BYTES_MAX
        || sizes.change_bytes > NEST_LIMIT_KEPT_BYTES_MAX || sizes.answer_bytes < NEST_LIMIT_HEADER_BYTES
        || sizes.answer_bytes > NEST_LIMIT_RECORD_BYTES_MAX) {
        errno = EINVAL;
        return "sizes";
    }
    struct fanout fanout = {.file = file, .sizes = sizes};
    struct server server = {.listener = listener, .take = take, .end_turn = end_turn, .state = &fanout};
    const char *failure = server_run(&server);
    int reason = errno;
    free(fanout.records.start);
    free(fanout.frame.start);
    errno = reason;
    return failure;
}
