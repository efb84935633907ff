#include "server.h"

#include <errno.h>
#include <stdlib.h>

static void send_back(struct server *server, struct connection *connection, const unsigned char *bytes, size_t count) {
    connection_send(server, connection, bytes, count);
}

const char *nest_limit_echo(int listener) {
    struct server server = {.listener = listener, .take = send_back};
    return server_run(&server);
}

struct answer {
    size_t request_bytes, answer_bytes;
    unsigned char *bytes;
};

static void answer_once(struct server *server, struct connection *connection, const unsigned char *bytes,
                        size_t count) {
    (void)bytes;
    const struct answer *answer = server->state;
    bool was_complete = connection->received >= answer->request_bytes;
    connection->received += count;
    if (!was_complete && connection->received >= answer->request_bytes)
        connection_send(server, connection, answer->bytes, answer->answer_bytes);
}

const char *nest_limit_answers(int listener, size_t request_bytes, size_t answer_bytes) {
    if (answer_bytes == 0 || answer_bytes > NEST_LIMIT_KEPT_BYTES_MAX) {
        errno = EINVAL;
        return "sizes";
    }
    struct answer answer = {request_bytes, answer_bytes, calloc(answer_bytes, 1)};
    if (!answer.bytes) return "calloc";
    struct server server = {.listener = listener, .take = answer_once, .state = &answer};
    const char *failure = server_run(&server);
    int reason = errno;
    free(answer.bytes);
    errno = reason;
    return failure;
}
