import NestModel

/// A change of an outline's request: the fields that are not `nil`. Edits that follow each other faster than the server
/// answers are merged, so that a scroll does not undo the zoom before it.
package struct OutlineEdit: Equatable, Sendable {
    /// The object below which the outline begins.
    package var source: ObjectID?
    package var predicate: FetchPredicate?
    package var window: FetchWindow?
    /// Other fold states, instead of those that were set before.
    package var outline: FetchOutline?

    package init(
        source: ObjectID? = nil,
        predicate: FetchPredicate? = nil,
        window: FetchWindow? = nil,
        outline: FetchOutline? = nil
    ) {
        self.source = source
        self.predicate = predicate
        self.window = window
        self.outline = outline
    }

    /// Whether nothing is left of an earlier edit after this one.
    package func covers(_ earlier: OutlineEdit) -> Bool {
        (earlier.source == nil || self.source != nil) && (earlier.predicate == nil || self.predicate != nil)
            && (earlier.window == nil || self.window != nil) && (earlier.outline == nil || self.outline != nil)
    }

    package func apply(to request: inout ObjectFetchRequest) {
        if let source { request.source?.object = source }
        if let predicate { request.predicate = predicate }
        if let window { request.window = window }
        if let outline { request.outline = outline }
    }
}

/// An edit with its caller.
package struct PendingEdit: Equatable, Sendable {
    package var edit: OutlineEdit
    /// The waiting caller; `nil` if it no longer waits.
    package var token: RequestToken?
}

extension SubscriptionChange {
    /// Whether the fold states of the outline are replaced.
    var replacesFolds: Bool { self.edits.isEmpty || self.edits.contains { $0.edit.outline != nil } }

    /// Leaves only the oldest edit. Returns the change with the others; `nil`: there are none.
    mutating func splitFirst() -> SubscriptionChange? {
        guard self.edits.count > 1 else { return nil }
        var rest = self
        rest.edits.removeFirst()
        self.edits.removeLast(self.edits.count - 1)
        return rest
    }

    /// The callers that wait for the change.
    var tokens: [RequestToken] { (self.token.map { [$0] } ?? []) + self.edits.compactMap(\.token) }

    /// Adds later edits. Returns the callers whose edits are covered by these.
    mutating func append(_ later: [PendingEdit]) -> [RequestToken] {
        let covered = self.edits.filter { earlier in later.contains { $0.edit.covers(earlier.edit) } }
        self.edits.removeAll { earlier in later.contains { $0.edit.covers(earlier.edit) } }
        self.edits += later
        return covered.compactMap(\.token)
    }
}
