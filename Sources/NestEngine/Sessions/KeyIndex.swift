import DequeModule
import NestModel
import NestStore
import NestProtocol

/// Answers given to requests with an idempotency key: an index over the journal, rebuilt at start.
///
/// Kept for `Limits.idempotencyKeySeconds` and at most `Limits.idempotencyKeysMax` keys, the newest.
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

    /// `isChanged`: it became a transaction; otherwise an undo that changed nothing and whose entry is passed over.
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

    /// The first answer, as a connection with this scope may see it, marked as repeated; refuses the key of another
    /// request.
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
        var receipt = scope.shown(answer.receipt, madeIn: answer.scope)
        receipt.isReplayed = true
        return receipt
    }

    mutating func drop(before time: Int64) {
        while let first = self.order.first, first.time < time { self.dropOldest() }
    }

    private mutating func dropOldest() {
        guard let first = self.order.popFirst() else { return }
        // A key that was used again after its time is known by its later use.
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
    }
}
