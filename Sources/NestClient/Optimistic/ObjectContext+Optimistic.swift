import NestModel

/// How the changes of a context become a write of the optimistic client.
extension ObjectContext {
    /// Returns the changes as a transaction, and empties the context, which then knows the ids of its inserts. If it
    /// throws, the context keeps its changes. `ids`: returns so many ids for new objects.
    func takeTransaction(
        named name: String?,
        _ ids: (Int) throws(NestError) -> [ObjectID]
    ) throws(NestError) -> WriteTransaction {
        guard !self.isSaving, self.attempt == nil else {
            throw NestError(.busy, "the context is being saved: wait until that save has returned")
        }
        guard self.hasChanges else { throw NestError(.invalid, "the context has no changes") }
        let attempt = try self.newAttempt(name, nil, nil)
        var transaction = attempt.transaction
        let inserts = transaction.mutations.count { if case .insert = $0 { true } else { false } }
        var free = try ids(inserts)[...]
        var results = attempt.results[...]
        for index in transaction.mutations.indices {
            switch transaction.mutations[index] {
            case .insert(let entity, let values, let placements):
                let id = free.removeFirst()
                transaction.mutations[index] = .insertAs(id, entity: entity, values: values, placements: placements)
                self.saved[results.removeFirst()] = Saved(id: id, isFound: false)
            case .insertAs(let id, _, _, _): self.saved[results.removeFirst()] = Saved(id: id, isFound: false)
            case .findOrCreate: results.removeFirst()
            case .update, .move, .delete, .relate, .unrelate, .setRelated: break
            }
        }
        self.preconditions = [:]
        self.dropFirst(attempt.stepCount)
        return transaction
    }
}
