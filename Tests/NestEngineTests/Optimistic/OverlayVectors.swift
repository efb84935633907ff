import NestModel
import NestOverlay
import NestProtocol
import NestTestSupport

/// Views, transactions, and the views with the transactions laid over them, for clients in other languages.
struct OverlayCase {
    let model: ManagedObjectModel
    let views: [OverlayView]
    let transactions: [[Mutation]]
    let now: Int64
    let laid: Overlaid

    /// Whether the transactions touch a view, and the case is short.
    var isWorthKeeping: Bool {
        let rows = self.views.reduce(0) { $0 + $1.state.total }
        return rows < 60 && !self.transactions.isEmpty && self.laid.views.contains { !$0.pending.isEmpty }
    }

    func json(model: Int) -> JSONValue {
        [
            "model": JSONValue(count: model), "now": .string(String(self.now)),
            "views": JSONValue(list: self.views.map(Self.json)),
            "transactions": JSONValue(
                list: self.transactions.map { mutations in
                    var writer = ByteWriter()
                    writer.write(transactionBody: WriteTransaction(mutations: mutations))
                    return .string(Hex.text(writer.bytes))
                }
            ),
            "refused": JSONValue(list: self.laid.refused.map { JSONValue(count: $0) }),
            "laid": JSONValue(list: self.laid.views.map(Self.json)),
        ]
    }

    private static func json(_ view: OverlayView) -> JSONValue {
        var writer = ByteWriter()
        writer.write(fetchRequest: view.request)
        return ["request": .string(Hex.text(writer.bytes)), "state": JSONValue(view.state)]
    }

    private static func json(_ view: OverlaidView) -> JSONValue { .object(self.members(view)) }

    static func members(_ view: OverlaidView) -> [String: JSONValue] {
        [
            "state": JSONValue(view.state),
            "pending": JSONValue(list: view.pending.sorted().map { .integer($0.rawValue) }),
            "undecided": JSONValue(list: view.undecided.sorted().map { .integer($0.rawValue) }),
            "doubts": JSONValue(count: view.doubts),
        ]
    }
}

/// The file `overlay.json`.
enum OverlayVectors {
    private static let about =
        "Optimistic writes: the server's states of views, transactions that it has not confirmed, and what a client shows. "
        + "`models` are bodies of MODEL. In a case, `request` is the body of a fetch request, and `transactions` are bodies "
        + "of TRANSACTION without the key. `now` is the time, in microseconds since 1970, that new objects get. `pending` "
        + "are rows that a transaction touches, `undecided` objects of which it is not known what becomes of them, `doubts` "
        + "the number of reasons for which any row may differ; the indexes in `refused` are transactions that the server "
        + "must refuse."

    static func file() throws -> VectorFile {
        var models: [ManagedObjectModel] = []
        var cases: [JSONValue] = []
        for seed: UInt64 in 0..<12 {
            let simulation = try OverlaySimulation(seed: seed)
            var count = 0
            simulation.onLaid = { found in
                guard found.isWorthKeeping else { return }
                count += 1
                guard count.isMultiple(of: 2) else { return }
                if !models.contains(found.model) { models.append(found.model) }
                cases.append(found.json(model: models.firstIndex(of: found.model)!))
            }
            try simulation.run(steps: 40)
        }
        var file = VectorFile("overlay", about: Self.about)
        file.add(
            "models",
            JSONValue(
                list: models.map { model in
                    var writer = ByteWriter()
                    writer.write(model: model)
                    return .string(Hex.text(writer.bytes))
                }
            )
        )
        file.add("cases", JSONValue(list: cases))
        return file
    }
}
