import NestModel

/// Writes that are shown one by one and sent together: see `OptimisticClient.group`.
public final class OptimisticGroup: Sendable {
    private let optimistic: OptimisticClient
    let pending: PendingWrite

    init(_ optimistic: OptimisticClient, _ pending: PendingWrite) {
        self.optimistic = optimistic
        self.pending = pending
    }

    /// Adds the changes of a context, and shows them at once: see `OptimisticClient.save`. Throws `invalid` after the
    /// end of the group.
    public func save(_ context: ObjectContext) throws(NestError) {
        try self.write(try self.optimistic.transaction(of: context, named: nil))
    }

    /// Adds a transaction, and shows it at once: see `OptimisticClient.write`. Its name, key and coalescing do not
    /// count. Throws `invalid` after the end of the group, and the reason if it cannot be sent: the client is closed,
    /// the store has another history or another model, or too many writes are pending.
    public func write(_ transaction: WriteTransaction) throws(NestError) {
        guard self.pending.append(transaction) else {
            throw self.pending.failure ?? NestError(.invalid, "the group has ended")
        }
        self.optimistic.grew(self.pending)
    }
}

extension WriteTransaction {
    /// Adds the steps and preconditions of another transaction, as if they came in one.
    mutating func append(_ other: WriteTransaction) {
        let results = Int64(self.mutations.count(where: \.hasResult))
        self.preconditions += other.preconditions
        self.mutations += other.mutations.map { mutation in
            // -1 is the first object that its own steps make.
            mutation.mapReferences { (reference) throws(Never) in
                reference.rawValue < 0 ? ObjectReference(rawValue: reference.rawValue - results) : reference
            }
        }
    }
}
