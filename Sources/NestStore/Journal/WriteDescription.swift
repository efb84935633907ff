import NestModel
import NestProtocol
import NestSchema

/// The result of a request in its group.
package struct WriteResult: Sendable {
    package let header: JournalHeader
    package let changes: ChangeSet
}

/// The journal's record of a request, without its changes. A class, because it is large and passed on often.
package final class WriteDescription {
    package var kind: HistoryEntry.Kind
    package var reverted: Revision?
    package var name: String
    package var key: Identifier128?
    package var requestHash: UInt64
    package var sessionNumber: UInt64
    package var results: [Receipt.Run]
    /// The first transaction of the undo entry that it is part of; `nil`: it is the first.
    package var entry: Revision?
    /// The key for undo coalescing: the session's next write joins this one if it has the same key. `nil`: no write
    /// joins.
    package var coalescingKey: String?
    package var scope: WriteScope
    package var user: UserLabel?

    package init(
        kind: HistoryEntry.Kind = .write,
        reverted: Revision? = nil,
        name: String,
        key: Identifier128?,
        requestHash: UInt64,
        sessionNumber: UInt64,
        results: [Receipt.Run] = [],
        entry: Revision? = nil,
        coalescingKey: String? = nil,
        scope: WriteScope = .everything,
        user: UserLabel? = nil
    ) {
        self.kind = kind
        self.reverted = reverted
        self.name = name
        self.key = key
        self.requestHash = requestHash
        self.sessionNumber = sessionNumber
        self.results = results
        self.entry = entry
        self.coalescingKey = coalescingKey
        self.scope = scope
        self.user = user
    }

    /// Begins to describe another write, as the initializer does. The description of the write before must not be in
    /// use.
    package func begin(
        name: String,
        key: Identifier128?,
        requestHash: UInt64,
        sessionNumber: UInt64,
        entry: Revision?,
        user: UserLabel?
    ) {
        self.kind = .write
        self.reverted = nil
        self.name = name
        self.key = key
        self.requestHash = requestHash
        self.sessionNumber = sessionNumber
        self.results = []
        self.entry = entry
        self.coalescingKey = nil
        self.scope = .everything
        self.user = user
    }
}
