import NestModel

/// The cursor of a subscription to changes. Everything up to a revision has been read, and a number of parts of the
/// next one.
struct ChangeCursor: Hashable {
    var revision: Revision
    /// The number of parts of the next revision's change set that have been read.
    var place = 0
    /// Whether a part of the next revision was sent to the client, so the end of the revision must be sent too.
    var isInside = false
}

/// A subscription to changes: the connection is notified of the objects that every transaction changes.
///
///     at the head ──commit──▶ a page is sent ──all of it──▶ at the head
///                                    │ there is more
///                                    ▼
///                                 waiting ──drained──▶ the next page
///
/// However far it lags, it holds only a cursor in the journal. Nothing is sent while its connection is blocked.
final class ChangeSubscription {
    let view: UInt32
    /// The entities whose changes are sent; `nil`: all.
    let kinds: Set<EntityNumber>?
    var cursor: ChangeCursor
    /// Whether a page was sent or postponed, and the next one waits until the connection has drained.
    var isWaiting = false

    init(view: UInt32, kinds: Set<EntityNumber>?, cursor: ChangeCursor) {
        self.view = view
        self.kinds = kinds
        self.cursor = cursor
    }
}
