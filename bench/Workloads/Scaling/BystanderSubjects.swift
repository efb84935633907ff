import NIOCore
import NestModel
import NestProtocol

/// Subscriptions to lists that the commit does not change.
final class UnconcernedSubject: ScalingSubject {
    static let series = [
        Series(
            id: "unconcerned",
            operation: "a row inserted into a list, with subscriptions to other lists: one commit",
            quantity: "subscriptions",
            measuresMemory: true
        )
    ]
    static let counts = (full: [0, 100, 1_000, 10_000, 100_000], quick: [0, 100, 1_000, 10_000])
    private static let perConnection = Limits.subscriptionsPerConnectionMax

    let server: ScalingServer
    private let lists: [ObjectID]
    private let list: ObjectID
    private var count = 0

    init(_ options: BenchOptions, most: Int) async throws {
        self.server = try await ScalingServer(options)
        // Both servers have the same lists.
        self.lists = try await self.server.insert(most, under: self.server.makeItem())
        self.list = try await self.server.makeItem()
    }

    func grow(to count: Int) async throws {
        for start in stride(from: self.count, to: count, by: Self.perConnection) {
            let connection = try await self.server.connect()
            let lists = self.lists[start..<min(start + Self.perConnection, count)]
            try await connection.subscribe(lists.map { BenchConnection.children(of: $0) })
        }
        self.count = count
    }

    func sample(_ seconds: Double) async throws -> [Sample] {
        let list = self.list
        return [try await self.server.time(seconds: seconds) { Load.insertFrame(under: list, id: $0) }]
    }
}

/// Connections that are idle after their handshake.
final class ConnectionsSubject: ScalingSubject {
    static let series = [
        Series(
            id: "connections",
            operation: "a row inserted, with idle connections: one commit",
            quantity: "connections",
            measuresMemory: true
        )
    ]
    static let counts = (full: [0, 100, 1_000, 5_000, 9_900], quick: [0, 100, 1_000, 5_000])
    static func connections(for count: Int) -> Int { count }

    let server: ScalingServer
    private let list: ObjectID
    private var count = 0

    init(_ options: BenchOptions, most: Int) async throws {
        self.server = try await ScalingServer(options)
        self.list = try await self.server.makeItem()
    }

    func grow(to count: Int) async throws {
        _ = try await self.server.connect(count - self.count)
        self.count = count
    }

    func sample(_ seconds: Double) async throws -> [Sample] {
        let list = self.list
        return [try await self.server.time(seconds: seconds) { Load.insertFrame(under: list, id: $0) }]
    }
}
