import Testing

/// Tests with a real or scripted server at the other end of a socket. `make test-unit` leaves them out.
@Suite(.serialized, .timeLimit(.minutes(10)))
enum SocketTests {}
