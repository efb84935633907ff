import DequeModule
import NestModel
import NestStore
import NestProtocol

/// The answers to requests with an idempotency key: an index over the journal, rebuilt at start.
///
/// Answers are kept for `Limits.idempotencyKeySeconds`, and only the newest `Limits.idempotencyKeysMax`.
struct KeyIndex {
    private struct Key: Hashable {
        var session: UInt64
        var key: Identifier128
    }

    private struct Answer {
        var requestHash: UInt64
        var time: Int64
        var receipt: Receipt
        var scope: WriteScope
    }

    private var answers: [Key: Answer] = [:]
    private var order: Deque<(key: Key, time: Int64)> = []

    var count: Int { self.answers.count }

    static let reused = NestError(.keyReused, "the idempotency key was used for another request: use a new one")

    /// `isChanged`: the request became a transaction; otherwise it was an undo that changed nothing, and its entry is
    /// skipped.
    mutating func record(_ header: JournalHeader, isChanged: Bool = true) {
        guard let id = header.key else { return }
        let key = Key(session: header.sessionNumber, key: id)
        var receipt = Receipt(header)
        receipt.isChanged = isChanged
        self.answers[key] = Answer(
            requestHash: header.requestHash,
            time: header.time,
            receipt: receipt,
            scope: header.scope
        )
        self.order.append((key, header.time))
        if self.order.count > Limits.idempotencyKeysMax { self.dropOldest() }
    }

    /// Returns the first answer to a key, marked as replayed, as a connection with this scope may see it. Refuses a key
    /// that another request has used.
    func receipt(
        session: UInt64,
        key: Identifier128?,
        requestHash: UInt64,
        _ scope: AuthorisationScope
    ) throws(StoreError) -> Receipt? {
        guard let key, let answer = self.answers[Key(session: session, key: key)] else { return nil }
        guard answer.requestHash == requestHash else {
            throw StoreError.refused(Self.reused)
        }
        var receipt = answer.receipt
        receipt.isReplayed = true
        scope.hide(from: &receipt, madeIn: answer.scope)
        return receipt
    }

    mutating func drop(before time: Int64) {
        while let first = self.order.first, first.time < time { self.dropOldest() }
    }

    private mutating func dropOldest() {
        guard let first = self.order.popFirst() else { return }
        // A key that was used again after it expired has a newer answer, which stays.
        if self.answers[first.key]?.time == first.time { self.answers[first.key] = nil }
    }
}

extension Receipt {
    init(_ header: JournalHeader) {
        self.init(
            revision: header.revision,
            isChanged: true,
            results: header.results,
            name: header.name,
            conflicts: header.conflicts
        )
        self.revisionCount = header.revisionCount
    }
}
