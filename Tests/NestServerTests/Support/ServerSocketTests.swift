import Testing

/// Tests over blocking sockets: one after the other, since each holds a thread that other tests could use.
@Suite(.serialized)
enum ServerSocketTests {}
