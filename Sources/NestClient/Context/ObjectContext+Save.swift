import NestModel

/// Saving: the collected changes become one transaction, and its receipt provides the ids of new objects.
extension ObjectContext {
    /// A transaction that was sent, and the number of steps that it contains.
    struct Attempt {
        var transaction: WriteTransaction
        var stepCount: Int
        /// The temporary references of its inserts and find-or-creates, in order.
        var results: [ObjectReference]
        var preconditions: [ObjectID: Revision]
        /// Whether it was sent before and may have been executed then.
        var isUnsettled = false
    }

    /// Saves the changes as one transaction and one undo entry. Returns when it is durable, or returns `nil` if there
    /// is nothing to save. Afterwards the context is empty, and temporary references have ids.
    ///
    /// If the server refuses, this throws and the context keeps its changes; `NestError.faults` lists all faults. If it
    /// is unknown whether the transaction was executed (`ErrorCode.retry` is `unknownOutcome`), call this again: it
    /// sends the same transaction with its key, so that it is executed once. Changes that were added in the meantime
    /// follow as another transaction.
    ///
    /// - Parameters:
    ///   - name: The name of the undo entry. `nil`: made from the changes.
    ///   - key: The idempotency key. `nil`: a key is generated.
    ///   - coalescing: Joins this save and the previous one into one undo entry, for example while a user types.
    @discardableResult
    public func save(
        name: String? = nil,
        key: Identifier128? = nil,
        coalescing: Coalescing? = nil
    ) async throws(NestError) -> Receipt? {
        guard !self.isSaving else {
            throw NestError(.busy, "the context is already being saved: wait until that save has returned")
        }
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
                // Otherwise it was not executed now, but may have been executed before.
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
        // A precondition that was added again during the save belongs to the next save.
        for (object, revision) in attempt.preconditions where self.preconditions[object] == revision {
            self.preconditions[object] = nil
        }
        self.dropFirst(attempt.stepCount)
        return receipt
    }

    /// Builds a transaction from the changes. Temporary references become ids, or the numbers of the transaction's
    /// steps.
    func newAttempt(
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
                    "change \(mutations.count + 1) refers to an object that this context does not insert before it: "
                        + "its insert was discarded, or belongs to another context"
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
