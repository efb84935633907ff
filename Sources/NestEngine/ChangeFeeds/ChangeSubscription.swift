import NestModel

/// How far a subscription to changes has been read: everything up to a revision, and so many parts of the next.
struct ChangeCursor: Hashable {
    var revision: Revision
    /// Parts of the next revision's change set that have been read.
    var place = 0
    /// The client has been sent something of the next revision, so it must get its end too.
    var isInside = false
}

/// A connection that is notified of the objects that every transaction changes.
///
///     at the head ──commit──▶ a page is sent ──all of it──▶ at the head
///                                    │ there is more
///                                    ▼
///                                 waiting ──drained──▶ the next page
///
/// It holds a cursor in the journal and nothing else, however far it lags. Nothing is sent while its connection is
/// blocked.
final class ChangeSubscription {
    let view: UInt32
    /// The entities that it is notified of; `nil`: all.
    let kinds: Set<EntityNumber>?
    var cursor: ChangeCursor
    /// A page has been sent, or put off, and the connection is asked to say when it has drained.
    var isWaiting = false

    init(view: UInt32, kinds: Set<EntityNumber>?, cursor: ChangeCursor) {
        self.view = view
        self.kinds = kinds
        self.cursor = cursor
    }
}
