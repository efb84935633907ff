import NestModel

/// What one node holds after a run: the rows of its tables as text, and its answers to some queries.
public struct FinalStore: Sendable {
    public var node: String
    public var tables: [String: [String]]
    public var answers: [Fetched]

    public init(node: String, tables: [String: [String]], answers: [Fetched]) {
        self.node = node
        self.tables = tables
        self.answers = answers
    }
}

extension HistoryChecker {
    /// Checks that all nodes hold the same rows in every table, and what the checked history led to.
    public mutating func violations(ofFinal stores: [FinalStore]) -> [Violation] {
        guard let first = stores.first else { return [] }
        var violations = stores.dropFirst().compactMap { Self.difference(of: $0, from: first) }
        for store in stores {
            for answer in store.answers {
                guard answer.state.revision == self.last else {
                    let (revision, last) = (answer.state.revision, self.last)
                    violations.append(Violation(.equal, "\(store.node) is at \(revision), the history at \(last)"))
                    continue
                }
                violations += self.violations(of: answer).map {
                    Violation(.equal, "\(store.node) differs from the history: \($0.message)")
                }
            }
        }
        return violations
    }

    private static func difference(of store: FinalStore, from first: FinalStore) -> Violation? {
        for table in Set(store.tables.keys).union(first.tables.keys).sorted() {
            guard let rows = store.tables[table], let expected = first.tables[table] else {
                return Violation(.equal, "only one of \(first.node) and \(store.node) has the table \(table)")
            }
            guard rows != expected else { continue }
            let (surplus, missing) = (Set(rows).subtracting(expected), Set(expected).subtracting(rows))
            let example =
                surplus.min().map { "only \(store.node) has \($0)" }
                ?? missing.min().map { "only \(first.node) has \($0)" } ?? "a row is there more often"
            let count = surplus.count + missing.count
            return Violation(.equal, "\(first.node) and \(store.node) differ in \(count) rows of \(table): \(example)")
        }
        return nil
    }
}
