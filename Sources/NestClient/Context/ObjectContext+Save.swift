import NestModel

/// Saving: what has been collected becomes one transaction, and its answer the objects' new state.
extension ObjectContext {
    /// A transaction that was sent, and the steps it was made of.
    struct Attempt {
        var transaction: WriteTransaction
        var stepCount: Int
        /// The temporary references of its inserts and find-or-creates, in order.
        var results: [ObjectReference]
        var preconditions: [ObjectID: Revision]
        /// It was sent before, and may have been carried out then.
        var isUnsettled = false
    }

    /// Saves the changes as one transaction and one undo entry, and returns when it is durable; `nil` when there is nothing
    /// to save. Then the context is empty, and temporary references have ids.
    ///
    /// Throws and changes nothing when the server refuses: `NestError.faults` has all that is wrong. When it is not known
    /// whether the transaction was carried out (`ErrorCode.retry` is `unknownOutcome`), calling this again sends that very
    /// transaction with its key, so that it happens once; what was added meanwhile follows as a transaction of its own.
    ///
    /// - Parameters:
    ///   - name: of the undo entry; made from the changes when `nil`.
    ///   - key: the idempotency key; made when `nil`.
    ///   - coalescing: joins it with the save before into one undo entry, for typing and the like.
    @discardableResult
    public func save(
        name: String? = nil,
        key: Identifier128? = nil,
        coalescing: Coalescing? = nil
    ) async throws(NestError) -> Receipt? {
        guard !self.isSaving else { throw NestError(.busy, "the context is being saved: wait for that save's answer") }
        self.isSaving = true
        defer { self.isSaving = false }
        var receipt: Receipt?
        if let attempt = self.attempt { receipt = try await self.carryOut(attempt) }
        guard self.hasChanges else { return receipt }
        let attempt = try self.newAttempt(name, key, coalescing)
        self.attempt = attempt
        self.index()
        return try await self.carryOut(attempt)
    }

    private func carryOut(_ attempt: Attempt) async throws(NestError) -> Receipt {
        let receipt: Receipt
        do throws(NestError) {
            receipt = try await self.client.transaction(attempt.transaction)
        } catch {
            let retry = error.code.retry
            if retry == .unknownOutcome {
                self.attempt?.isUnsettled = true
            } else if retry == .never || !attempt.isUnsettled {
                // Otherwise it was not carried out now, which says nothing of the time before.
                self.attempt = nil
                self.index()
            }
            throw error
        }
        self.attempt = nil
        for (index, reference) in attempt.results.enumerated() {
            guard let result = receipt.result(index + 1) else { continue }
            self.saved[reference] = Saved(id: result.id, isFound: result.isFound)
        }
        // One that was said again during the save is for the next.
        for (object, revision) in attempt.preconditions where self.preconditions[object] == revision {
            self.preconditions[object] = nil
        }
        self.dropFirst(attempt.stepCount)
        return receipt
    }

    /// The changes as a transaction: temporary references become ids, or the numbers of its own steps.
    private func newAttempt(
        _ name: String?,
        _ key: Identifier128?,
        _ coalescing: Coalescing?
    ) throws(NestError) -> Attempt {
        var mutations: [Mutation] = []
        var results: [ObjectReference] = []
        var numbers: [ObjectReference: Int] = [:]
        mutations.reserveCapacity(self.steps.count)
        for step in self.steps {
            let mutation = try step.mutation.mapReferences { (reference) throws(NestError) in
                if let id = self.objectID(of: reference) { return .object(id) }
                if let number = numbers[reference] { return .inserted(number) }
                throw NestError(
                    .invalid,
                    "change \(mutations.count + 1) refers to an object that this context does not insert before it: its insert was taken back, or belongs to another context"
                )
            }
            mutations.append(mutation)
            guard let result = step.result else { continue }
            results.append(result)
            numbers[result] = results.count
        }
        let transaction = WriteTransaction(
            name: name,
            key: key ?? NestClient.newKey(),
            preconditions: self.preconditions.sorted { $0.key < $1.key }
                .map { Precondition(object: $0.key, revision: $0.value) },
            mutations: mutations,
            coalescing: coalescing
        )
        return Attempt(
            transaction: transaction,
            stepCount: self.steps.count,
            results: results,
            preconditions: self.preconditions
        )
    }
}
