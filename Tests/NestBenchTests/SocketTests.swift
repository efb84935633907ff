import Testing

/// Tests with blocking sockets. They run serially, because each blocks a thread that other tests could use.
/// `make test-unit` leaves them out.
@Suite(.serialized, .timeLimit(.minutes(10)))
enum SocketTests {}
