import NestTestSupport
import Testing

/// Tests with servers of PostgreSQL. They run serially: each blocks threads, and starts and stops servers.
@Suite(.serialized, .timeLimit(.minutes(10)), .enabled(if: PostgresServer.isInstalled, "PostgreSQL is missing"))
enum SocketTests {}
