/* The turns that all servers of the limits share: accept, read, and send what a socket has not taken. */
#ifndef NEST_LIMIT_SERVER_H
#define NEST_LIMIT_SERVER_H

#include "CLimits.h"

#include <stdbool.h>

/* Bytes that grow. */
struct bytes {
    unsigned char *start;
    size_t count, capacity;
};

struct connection {
    /* -1 when the connection is closed; it is freed at the end of the turn. */
    int socket;
    /* The bytes that the socket has not taken, after the first `kept_sent`, which it has. While there are any, the
       server does not read from the connection. */
    struct bytes kept;
    size_t kept_sent;
    /* The number of bytes received, and what a fan-out has read of the next record and not answered. */
    size_t received, part_bytes, unanswered;
    unsigned char part[NEST_LIMIT_RECORD_BYTES_MAX];
};

struct server {
    int listener, epoll;
    struct connection **connections;
    size_t count, capacity;
    bool has_closed;
    /* The system call that failed and its errno. It ends the server. */
    const char *failure;
    int reason;
    /* Takes the bytes of one read. */
    void (*take)(struct server *, struct connection *, const unsigned char *bytes, size_t count);
    /* Ends a turn; NULL if nothing is left to do. */
    void (*end_turn)(struct server *);
    void *state;
};

/* Runs turns until the listener is shut down or something fails, and closes all connections. */
const char *server_run(struct server *server);

/* Ends the server with the reason in errno. */
void server_fail(struct server *server, const char *call);

/* Sends bytes after those that are kept, and keeps what the socket does not take. */
void connection_send(struct server *server, struct connection *connection, const unsigned char *bytes, size_t count);

/* Reads once into `buffer`, or sends what is kept. */
void connection_turn(struct server *server, struct connection *connection, unsigned char *buffer, size_t size);

/* Adds the connection to the server's epoll, or changes what the server waits for. */
void connection_watch(struct server *server, struct connection *connection, int operation, uint32_t events);

void connection_close(struct server *server, struct connection *connection);

/* Makes room for `count` more bytes. Returns whether there is memory. */
bool bytes_reserve(struct bytes *bytes, size_t count);

#endif
