import NIOCore
import NestModel
import NestProtocol
import NestFraming

/// Subscriptions with the most expensive patterns, and a writer that commits many objects at a time.
struct PredicateMass: Attacker {
    private static let connections = 4
    private static let objects = 2_000
    private static let alphabet = "abcdefghijklmnopqrstuvwxyz"
    /// Every pattern searches the whole title and fails at its end.
    private static let title = String(repeating: Self.alphabet, count: 4)

    private let site: AttackSite
    private let patterns: Int
    private let leaves: Bool

    /// `leaves`: whether the subscribers disconnect before the writer begins.
    init(_ sizes: AttackSizes, on server: AttackServer, leaves: Bool) {
        self.site = server.site
        self.patterns = sizes.patterns
        self.leaves = leaves
    }

    func attack(until deadline: ContinuousClock.Instant) async throws -> AttackCounts {
        var counts = AttackCounts()
        var subscribers: [AttackConnection] = []
        for number in 0..<Self.connections {
            guard let connection = await self.site.connect() else { continue }
            subscribers.append(connection)
            // The maximum number of requests in flight at a time.
            for first in stride(from: 0, to: self.patterns, by: Limits.resultsInFlightPerConnectionMax) {
                let last = min(first + Limits.resultsInFlightPerConnectionMax, self.patterns)
                var bytes = ByteBuffer()
                for index in first..<last {
                    let subscribe = try Subscribe(Self.request(number * self.patterns + index))
                    bytes.writeImmutableBuffer(subscribe.frame(id: UInt32(index + 1)))
                }
                counts.sent += last - first - 1
                counts.add(await connection.ask(bytes, id: UInt32(last), within: self.site.patience).outcome)
            }
        }
        if self.leaves {
            for connection in subscribers { await connection.close() }
        }
        if let writer = await self.site.connect() {
            let insert = Load.insert(under: ObjectID(1), Self.title)
            let transaction = WriteTransaction(mutations: [Mutation](repeating: insert, count: Self.objects))
            var id: UInt32 = 0
            repeat {
                id += 1
                let frame = TransactionMessage(transaction).frame(id: id)
                counts.add(await writer.ask(frame, id: id, within: self.site.patience).outcome)
            } while !deadline.isOver && counts.ended + counts.late == 0
            await writer.close()
        }
        for connection in subscribers { await connection.close() }
        return counts
    }

    /// Returns a different request for each number.
    static func request(_ number: Int) throws -> ObjectFetchRequest {
        let letters = String(repeating: Self.alphabet, count: 4).map { "*\($0)" }.joined()
        let model = ManagedObjectModel.nestedList
        let predicate = try FetchPredicate("title LIKE[cd] '\(letters)*\(number)*'", of: model.entities[0], in: model)
        return ObjectFetchRequest(entity: EntityNumber(1), predicate: predicate)
    }
}
