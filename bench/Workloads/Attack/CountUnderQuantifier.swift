import NIOCore
import NestModel
import NestProtocol
import NestFraming

/// Fetches and subscribes with `ANY children.children.@count > 0`, and inserts objects that must be checked with it.
struct CountUnderQuantifier: Attacker {
    private let site: AttackSite

    init(on server: AttackServer) {
        self.site = server.site
    }

    func attack(until deadline: ContinuousClock.Instant) async throws -> AttackCounts {
        var counts = AttackCounts()
        guard let connection = await self.site.connect() else { return counts }
        let frames = [
            TransactionMessage(WriteTransaction(mutations: Self.family)).frame(id: 1),
            Fetch(Self.request).frame(id: 2),
            Subscribe(Self.request).frame(id: 3),
            TransactionMessage(WriteTransaction(mutations: Self.family)).frame(id: 4),
        ]
        for (index, frame) in frames.enumerated() {
            let reply = await connection.ask(frame, id: UInt32(index + 1), within: self.site.patience)
            counts.add(reply.outcome)
        }
        await connection.close()
        return counts
    }

    /// Inserts three nested items.
    private static var family: [Mutation] {
        [
            Load.insert(under: ObjectID(1)), Load.insert(under: .inserted(1)),
            Load.insert(under: .inserted(2)),
        ]
    }

    private static var request: ObjectFetchRequest {
        let children = PropertyNumber(6)
        let comparison = Comparison(
            quantifier: .any,
            path: PropertyPath(steps: [children], leaf: .count(children)),
            operator: .greater,
            values: [.integer(0)]
        )
        return ObjectFetchRequest(entity: EntityNumber(1), predicate: FetchPredicate(comparison))
    }
}
