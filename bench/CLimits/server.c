#define _GNU_SOURCE
#include "server.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS_MAX 1024
#define READ_BYTES (256 << 10)

const char *nest_limit_listen(int *listener, uint16_t *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int made = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (made < 0) return "socket";
    const char *failure = NULL;
    if (bind(made, (struct sockaddr *)&address, size) < 0) failure = "bind";
    else if (listen(made, 4096) < 0) failure = "listen";
    else if (getsockname(made, (struct sockaddr *)&address, &size) < 0) failure = "getsockname";
    if (failure) {
        int reason = errno;
        close(made);
        errno = reason;
        return failure;
    }
    *listener = made;
    *port = ntohs(address.sin_port);
    return NULL;
}

void server_fail(struct server *server, const char *call) {
    if (server->failure) return;
    server->failure = call;
    server->reason = errno;
}

static bool has_room(struct server *server) {
    if (server->count < server->capacity) return true;
    size_t capacity = server->capacity ? server->capacity * 2 : 64;
    struct connection **grown = realloc(server->connections, capacity * sizeof *grown);
    if (!grown) return false;
    server->connections = grown;
    server->capacity = capacity;
    return true;
}

static void accept_all(struct server *server) {
    while (!server->failure) {
        int socket = accept4(server->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (socket < 0) {
            if (errno == ECONNABORTED || errno == EINTR) continue;
            if (errno != EAGAIN) server_fail(server, "accept4");
            return;
        }
        int on = 1;
        setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        struct connection *connection = has_room(server) ? calloc(1, sizeof *connection) : NULL;
        if (!connection) {
            server_fail(server, "calloc");
            close(socket);
            return;
        }
        connection->socket = socket;
        server->connections[server->count++] = connection;
        connection_watch(server, connection, EPOLL_CTL_ADD, EPOLLIN);
    }
}

static void forget_closed(struct server *server) {
    size_t open = 0;
    for (size_t index = 0; index < server->count; index++) {
        struct connection *connection = server->connections[index];
        if (connection->socket >= 0) {
            server->connections[open++] = connection;
        } else {
            free(connection->kept.start);
            free(connection);
        }
    }
    server->count = open;
    server->has_closed = false;
}

/* Returns whether the server goes on. */
static bool turn(struct server *server, struct epoll_event *events, unsigned char *buffer) {
    int count = epoll_wait(server->epoll, events, EVENTS_MAX, -1);
    if (count < 0 && errno != EINTR) server_fail(server, "epoll_wait");
    bool is_over = false;
    for (int index = 0; index < count; index++) {
        struct connection *connection = events[index].data.ptr;
        if (connection) connection_turn(server, connection, buffer, READ_BYTES);
        else if (events[index].events & EPOLLHUP) is_over = true;
        else accept_all(server);
    }
    if (server->end_turn && !server->failure) server->end_turn(server);
    if (server->has_closed) forget_closed(server);
    return !is_over && !server->failure;
}

const char *server_run(struct server *server) {
    struct epoll_event *events = malloc(EVENTS_MAX * sizeof *events);
    unsigned char *buffer = malloc(READ_BYTES);
    struct epoll_event accepting = {.events = EPOLLIN, .data.ptr = NULL};
    server->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!events || !buffer) server_fail(server, "malloc");
    else if (server->epoll < 0) server_fail(server, "epoll_create1");
    else if (epoll_ctl(server->epoll, EPOLL_CTL_ADD, server->listener, &accepting) < 0)
        server_fail(server, "epoll_ctl");
    else
        while (turn(server, events, buffer)) {}
    for (size_t index = 0; index < server->count; index++) connection_close(server, server->connections[index]);
    forget_closed(server);
    free(server->connections);
    free(events);
    free(buffer);
    if (server->epoll >= 0) close(server->epoll);
    errno = server->reason;
    return server->failure;
}
