#include "server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

bool bytes_reserve(struct bytes *bytes, size_t count) {
    size_t capacity = bytes->capacity ? bytes->capacity : 4096;
    while (capacity < bytes->count + count) capacity *= 2;
    if (capacity == bytes->capacity) return true;
    unsigned char *grown = realloc(bytes->start, capacity);
    if (!grown) return false;
    bytes->start = grown;
    bytes->capacity = capacity;
    return true;
}

void connection_close(struct server *server, struct connection *connection) {
    close(connection->socket);
    connection->socket = -1;
    server->has_closed = true;
}

void connection_watch(struct server *server, struct connection *connection, int operation, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = connection};
    if (epoll_ctl(server->epoll, operation, connection->socket, &event) < 0) server_fail(server, "epoll_ctl");
}

/* Returns how many bytes the socket took. Closes the connection if the other side has. */
static size_t push(struct server *server, struct connection *connection, const unsigned char *bytes, size_t count) {
    ssize_t sent = send(connection->socket, bytes, count, MSG_NOSIGNAL);
    if (sent >= 0) return (size_t)sent;
    if (errno != EAGAIN && errno != EINTR) connection_close(server, connection);
    return 0;
}

void connection_send(struct server *server, struct connection *connection, const unsigned char *bytes, size_t count) {
    if (connection->socket < 0) return;
    struct bytes *kept = &connection->kept;
    bool waits = kept->count > 0;
    size_t sent = waits ? 0 : push(server, connection, bytes, count);
    if (sent == count || connection->socket < 0) return;
    if (connection->kept_sent > kept->count / 2) {
        kept->count -= connection->kept_sent;
        memmove(kept->start, kept->start + connection->kept_sent, kept->count);
        connection->kept_sent = 0;
    }
    size_t waiting = kept->count - connection->kept_sent;
    if (waiting + count - sent > NEST_LIMIT_KEPT_BYTES_MAX || !bytes_reserve(kept, count - sent)) {
        connection_close(server, connection);
        return;
    }
    memcpy(kept->start + kept->count, bytes + sent, count - sent);
    kept->count += count - sent;
    if (!waits) connection_watch(server, connection, EPOLL_CTL_MOD, EPOLLOUT);
}

static void send_kept(struct server *server, struct connection *connection) {
    struct bytes *kept = &connection->kept;
    size_t unsent = kept->count - connection->kept_sent;
    connection->kept_sent += push(server, connection, kept->start + connection->kept_sent, unsent);
    if (connection->socket < 0 || connection->kept_sent < kept->count) return;
    kept->count = connection->kept_sent = 0;
    connection_watch(server, connection, EPOLL_CTL_MOD, EPOLLIN);
}

void connection_turn(struct server *server, struct connection *connection, unsigned char *buffer, size_t size) {
    if (connection->kept.count > 0) {
        send_kept(server, connection);
        return;
    }
    ssize_t count = recv(connection->socket, buffer, size, 0);
    if (count > 0) {
        server->take(server, connection, buffer, (size_t)count);
    } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
        connection_close(server, connection);
    }
}
