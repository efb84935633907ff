import NIOCore
import NestModel
import NestProtocol
import NestFraming

/// A list with one subscriber, whose rows are moved.
final class RowsSubject: ScalingSubject {
    static let series = [
        Series(
            id: "rows",
            operation: "a row moved in a list with a subscriber: one commit",
            quantity: "rows",
            measuresMemory: true
        )
    ]
    static let counts = (full: [1_000, 10_000, 100_000, 1_000_000], quick: [1_000, 10_000, 100_000])

    let server: ScalingServer
    private let list: ObjectID
    private var rows: [ObjectID] = []
    private var subscriber: BenchConnection?

    init(_ options: BenchOptions, most: Int) async throws {
        self.server = try await ScalingServer(options)
        self.list = try await self.server.makeItem()
    }

    func grow(to count: Int) async throws {
        self.rows += try await self.server.insert(count - self.rows.count, under: self.list)
        guard self.subscriber == nil else { return }
        let subscriber = try await self.server.connect()
        try await subscriber.subscribe(to: self.list) { _ in }
        self.subscriber = subscriber
    }

    func sample(_ seconds: Double) async throws -> [Sample] {
        let rows = self.rows
        let list = self.list
        let sample = try await self.server.time(seconds: seconds) { id in
            // Multiples of a prime visit all rows in an irregular order.
            let row = Int(id) * 7_919 % rows.count
            let neighbour = (row + 1 + Int(id) * 104_729 % (rows.count - 1)) % rows.count
            let place = Place.after(.object(rows[neighbour]))
            let placement = Placement(relationship: PropertyNumber(5), owner: .object(list), place: place)
            return TransactionMessage(WriteTransaction(mutations: [.move(.object(rows[row]), placement)])).frame(id: id)
        }
        return [sample]
    }
}

/// A list with subscriptions that the server has no result for yet.
final class FirstSubject: ScalingSubject {
    static let series = [
        Series(id: "first", operation: "a new result, until its last row has arrived", quantity: "rows")
    ]
    static let counts = RowsSubject.counts

    let server: ScalingServer
    private let list: ObjectID
    private var count = 0
    private var resultCount = 0

    init(_ options: BenchOptions, most: Int) async throws {
        self.server = try await ScalingServer(options)
        self.list = try await self.server.makeItem()
    }

    func grow(to count: Int) async throws {
        _ = try await self.server.insert(count - self.count, under: self.list)
        self.count = count
    }

    func sample(_ seconds: Double) async throws -> [Sample] {
        let start = ContinuousClock.now
        var sample = Sample()
        repeat { sample.add(try await self.subscribe()) } while (ContinuousClock.now - start).seconds < seconds
        return [sample]
    }

    /// Subscribes with a predicate that was not used before, so that the server creates a new result.
    private func subscribe() async throws -> Sample {
        self.resultCount += 1
        let comparison = Comparison(
            path: PropertyPath(leaf: .attribute(PropertyNumber(1))),
            operator: .notEqual,
            values: [.string("\(self.resultCount)")]
        )
        let request = ObjectFetchRequest(
            entity: EntityNumber(1),
            source: FetchSource(object: self.list, relationship: PropertyNumber(6)),
            predicate: FetchPredicate(comparison)
        )
        let connection = try await self.server.connect()
        let sample = try await self.server.measureWorkOnce { try await connection.subscribe([request]) }
        try await connection.close()
        return sample
    }
}
