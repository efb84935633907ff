import Testing

/// Tests with a server, real or played, at the other end of a socket. `make test-unit` leaves them out.
@Suite(.serialized, .timeLimit(.minutes(2)))
enum SocketTests {}
