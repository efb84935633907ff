import NestModel

extension ObjectContext {
    /// Returns the changes as a transaction, and empties the context. Inserts get `ids`, in their order.
    func takeTransaction(named name: String?, ids: [ObjectID]) throws(NestError) -> WriteTransaction {
        guard !self.isSaving, self.attempt == nil else {
            throw NestError(.busy, "the context is being saved: wait until that save has returned")
        }
        guard self.hasChanges else { throw NestError(.invalid, "the context has no changes") }
        var ids = ids[...]
        self.giveIDs { ids.popFirst() }
        let attempt = try self.newAttempt(name, nil, nil)
        for (reference, mutation) in zip(attempt.results, attempt.transaction.mutations.filter(\.isInsert)) {
            if case .insertAs(let id, _, _, _) = mutation { self.saved[reference] = Saved(id: id, isFound: false) }
        }
        self.preconditions = [:]
        self.dropFirst(attempt.stepCount)
        return attempt.transaction
    }
}

extension Mutation {
    /// Whether it has a result: an object that it inserts or finds.
    fileprivate var isInsert: Bool {
        switch self {
        case .insert, .insertAs, .findOrCreate: true
        case .update, .move, .delete, .relate, .unrelate, .setRelated: false
        }
    }
}
