import Testing

/// Tests that listen on sockets. `make test-unit` leaves them out.
@Suite(.serialized, .timeLimit(.minutes(10)))
enum SocketTests {}
