import NIOCore
import NestModel
import NestProtocol
import NestFraming

/// A store with rows in lists of 1,000 without subscribers.
final class StoreSubject: ScalingSubject {
    static let series = [
        Series(id: "store", operation: "a row inserted into a separate list: one commit", quantity: "rows"),
        Series(id: "store-any", operation: "any row changed: one commit", quantity: "rows"),
    ]
    static let counts = (full: [1_000, 10_000, 100_000, 1_000_000], quick: [1_000, 10_000, 100_000])

    let server: ScalingServer
    private let top: ObjectID
    private let list: ObjectID
    private var rows: [ObjectID] = []

    init(_ options: BenchOptions, most: Int) async throws {
        self.server = try await ScalingServer(options)
        self.top = try await self.server.makeItem()
        self.list = try await self.server.makeItem()
    }

    func grow(to count: Int) async throws {
        while self.rows.count < count {
            let list = try await self.server.makeItem(under: self.top)
            self.rows += try await self.server.insert(min(count - self.rows.count, 1_000), under: list)
        }
    }

    func sample(_ seconds: Double) async throws -> [Sample] {
        let list = self.list
        let rows = self.rows
        return [
            try await self.server.time(seconds: seconds) { Load.insertFrame(under: list, id: $0) },
            try await self.server.time(seconds: seconds) {
                Load.renameFrame(rows[Int($0) * 7_919 % rows.count], id: $0)
            },
        ]
    }
}

/// A chain of items, each below the one before.
final class DepthSubject: ScalingSubject {
    static let series = [
        Series(id: "depth", operation: "an item inserted below the last of a chain: one commit", quantity: "levels"),
        Series(
            id: "depth-move",
            operation: "an item moved below the last of a chain, and away again: one commit",
            quantity: "levels"
        ),
    ]
    static let counts = (full: [1_000, 10_000, 100_000, 1_000_000], quick: [1_000, 10_000, 100_000])

    let server: ScalingServer
    private let moved: ObjectID
    private let away: ObjectID
    private var last: ObjectID
    private var depth = 1

    init(_ options: BenchOptions, most: Int) async throws {
        self.server = try await ScalingServer(options)
        self.away = try await self.server.makeItem()
        self.moved = try await self.server.makeItem(under: self.away)
        self.last = try await self.server.makeItem()
    }

    func grow(to count: Int) async throws {
        while self.depth < count {
            let levels = min(count - self.depth, 5_000)
            let mutations = (0..<levels).map { level -> Mutation in
                guard level > 0 else { return Load.insert(under: self.last) }
                return Load.insert(under: .inserted(level))
            }
            self.last = try await self.server.write(mutations).insertedIDs.last ?? self.last
            self.depth += levels
        }
    }

    func sample(_ seconds: Double) async throws -> [Sample] {
        let (last, moved, away) = (self.last, self.moved, self.away)
        return [
            try await self.server.time(seconds: seconds) { Load.insertFrame(under: last, id: $0) },
            try await self.server.time(seconds: seconds) { id in
                let owner = id % 2 == 0 ? last : away
                let placement = Placement(relationship: PropertyNumber(5), owner: .object(owner), place: .last)
                return TransactionMessage(WriteTransaction(mutations: [.move(.object(moved), placement)])).frame(id: id)
            },
        ]
    }
}
