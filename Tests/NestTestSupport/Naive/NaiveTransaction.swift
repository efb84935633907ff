import NestModel

/// The reason for refusing a transaction.
package enum NaiveRefusal: Error, Equatable {
    case code(ErrorCode)
    /// All faults, if every mutation could be checked.
    case faults(Set<NaiveFault>)

    /// The error code that the client receives.
    package var code: ErrorCode {
        switch self {
        case .code(let code): return code
        case .faults(let faults):
            let reasons = Set(faults.map(\.reason))
            guard reasons.count == 1 else { return .validationFailed }
            switch reasons.first! {
            case .unknownProperty: return .unknownProperty
            case .tooLarge: return .valueTooLarge
            case .text: return .invalidText
            case .notUnique: return .notUnique
            default: return .validationFailed
            }
        }
    }
}

/// A transaction on a copy of a graph, mutation by mutation, by the contract of `Mutation`.
///
/// A mutation with faults does nothing, and mutations that refer to its result are skipped. All faults are reported at
/// the end. Any other error ends the transaction and is reported if there were no faults before.
package struct NaiveTransaction {
    /// The object that an insert or find-or-create created or found.
    package struct Result: Equatable {
        package var id: ObjectID
        package var isFound: Bool

        package init(id: ObjectID, isFound: Bool) {
            self.id = id
            self.isFound = isFound
        }
    }

    /// The id of the first new object. Later objects have ascending ids.
    package static let firstNewID: Int64 = 1 << 40

    package internal(set) var graph: NaiveGraph
    package let isBatch: Bool
    /// The time of the transaction.
    package let time: Int64
    /// The results; `nil` for a refused mutation.
    package internal(set) var results: [Result?] = []
    package internal(set) var faults: Set<NaiveFault> = []
    /// Objects that a mutation placed. They may count as changed even if their position is the same.
    package internal(set) var placed: Set<ObjectID> = []
    /// The ids that inserts may name.
    package var reserved: Set<ObjectID> = []
    private var newCount: Int64 = 0

    package init(_ graph: NaiveGraph, isBatch: Bool, time: Int64) {
        self.graph = graph
        self.isBatch = isBatch
        self.time = time
    }

    /// Runs a transaction. The caller checks the preconditions.
    package static func run(
        _ transaction: WriteTransaction,
        on graph: NaiveGraph,
        time: Int64,
        reserved: Set<ObjectID> = []
    ) -> Swift.Result<NaiveTransaction, NaiveRefusal> {
        var naive = NaiveTransaction(graph, isBatch: transaction.mutations.count > 1, time: time)
        naive.reserved = reserved
        do {
            for mutation in transaction.mutations { try naive.perform(mutation) }
            try naive.finish()
        } catch {
            return .failure(error)
        }
        return .success(naive)
    }

    package mutating func perform(_ mutation: Mutation) throws(NaiveRefusal) {
        do {
            guard try self.isResolved(mutation) else {
                if mutation.hasResult { self.results.append(nil) }
                return
            }
            try self.step(mutation)
        } catch .faults(let faults) {
            self.faults.formUnion(faults)
            if !self.isBatch { throw .faults(self.faults) }
            if mutation.hasResult { self.results.append(nil) }
        } catch .code(let code) {
            throw self.faults.isEmpty ? .code(code) : .faults(self.faults)
        }
    }

    /// Checks the faults of the final graph.
    package mutating func finish() throws(NaiveRefusal) {
        self.faults.formUnion(self.graph.faults)
        guard self.faults.isEmpty else { throw .faults(self.faults) }
    }

    mutating func newID() -> ObjectID {
        defer { self.newCount += 1 }
        return ObjectID(Self.firstNewID + self.newCount)
    }

    // MARK: References

    func resolve(_ reference: ObjectReference) throws(NaiveRefusal) -> ObjectID {
        if reference.rawValue > 0 { return ObjectID(reference.rawValue) }
        let number = Int(-reference.rawValue)
        guard number >= 1, number <= self.results.count, let result = self.results[number - 1] else {
            throw .code(.invalid)
        }
        return result.id
    }

    /// Whether no reference is to the result of a refused mutation.
    private func isResolved(_ mutation: Mutation) throws(NaiveRefusal) -> Bool {
        guard !self.faults.isEmpty else { return true }
        var isResolved = true
        for reference in mutation.references where reference.rawValue <= 0 {
            let number = Int(-reference.rawValue)
            guard number >= 1, number <= self.results.count else { throw .code(.invalid) }
            if self.results[number - 1] == nil { isResolved = false }
        }
        return isResolved
    }

    func require(_ id: ObjectID) throws(NaiveRefusal) {
        if self.graph.objects[id] == nil { throw .code(.notFound) }
    }
}

extension Mutation {
    package var hasResult: Bool {
        switch self {
        case .insert, .findOrCreate, .insertAs: true
        default: false
        }
    }

    /// All objects that the mutation names.
    package var references: [ObjectReference] {
        func of(_ values: [PropertyAssignment]) -> [ObjectReference] {
            values.compactMap { if case .reference(let reference) = $0.value { reference } else { nil } }
        }
        func of(_ placements: [Placement]) -> [ObjectReference] {
            placements.flatMap { [$0.owner] + of($0.place) }
        }
        func of(_ place: Place) -> [ObjectReference] {
            switch place {
            case .before(let reference), .after(let reference): [reference]
            case .near(let left, let right): [left, right].compactMap { $0 }
            case .first, .last, .at: []
            }
        }
        return switch self {
        case .insert(_, let values, let placements), .insertAs(_, _, let values, let placements):
            of(values) + of(placements)
        case .update(let object, let values): [object] + of(values)
        case .move(let object, let placement): [object] + of([placement])
        case .delete(let object): [object]
        case .relate(let owner, _, let object, let place): [owner, object] + of(place)
        case .unrelate(let owner, _, let object): [owner, object]
        case .setRelated(let owner, _, let objects): [owner] + objects
        case .findOrCreate(_, let match, let values, let placements): of(match) + of(values) + of(placements)
        }
    }
}
