import NestModel

/// The fold states of an outline, as far as its subscriber has set them. The server keeps them for a view only, so a
/// client needs them to subscribe again.
package struct OutlineFolds: Equatable, Sendable {
    package let expansion: OutlineExpansion
    /// The objects that have the other state than the expansion gives them.
    private var exceptions: Set<ObjectID>
    /// In an outline by an attribute: the states that were set. Which of them are exceptions depends on the attribute,
    /// whose values the client does not know. Set again, a state that was no exception may become one.
    private var states: [ObjectID: Bool] = [:]

    /// The error for an expansion that only this client may send.
    static let asBefore = NestError(.invalid, "a call without an expansion keeps the fold states; asBefore is none")

    package init(_ outline: FetchOutline) {
        self.expansion = outline.expansion
        self.exceptions = Set(outline.exceptions)
    }

    package mutating func set(_ states: [ExpandedState]) {
        for state in states {
            switch self.expansion {
            case .none: self.set(state.object, isException: state.isExpanded)
            case .all: self.set(state.object, isException: !state.isExpanded)
            case .attribute, .asBefore: self.states[state.object] = state.isExpanded
            }
        }
    }

    private mutating func set(_ object: ObjectID, isException: Bool) {
        if isException { self.exceptions.insert(object) } else { self.exceptions.remove(object) }
    }

    /// The state that the subscriber has given an object; `nil`: an attribute decides.
    package func isExpanded(_ object: ObjectID) -> Bool? {
        switch self.expansion {
        case .none: self.exceptions.contains(object)
        case .all: !self.exceptions.contains(object)
        case .attribute, .asBefore: self.states[object]
        }
    }

    /// The field of the request that subscribes to the outline again. If there are too many exceptions, some are those
    /// of objects that the server has forgotten, because they were deleted.
    package var outline: FetchOutline {
        FetchOutline(self.expansion, exceptions: Array(self.exceptions.sorted().suffix(Limits.outlineExceptionsMax)))
    }

    /// The states that `outline` cannot express. They have to be set after the snapshot.
    package var laterStates: [ExpandedState] {
        self.states.sorted { $0.key < $1.key }.suffix(Limits.outlineExceptionsMax)
            .map { ExpandedState($0.key, isExpanded: $0.value) }
    }
}

/// Fold states that a caller has set and the server has not confirmed.
package struct PendingFolds: Equatable, Sendable {
    package var states: [ExpandedState]
    /// The waiting caller; `nil` if it no longer waits.
    package var token: RequestToken?
    /// Whether these are older states of a new subscription, not a caller's.
    package var isRestoring = false
    /// Whether they are sent without others, because the server has refused them together.
    package var isAlone = false
    /// Whether they were set after an edit that replaces all fold states and is not sent yet.
    package var waitsForEdit = false

    /// Returns the first of the calls, as many as fit into one request, and the last state of each object. Older states
    /// and calls that were refused together are not joined with others.
    static func first(of calls: [PendingFolds]) -> (calls: ArraySlice<PendingFolds>, states: [ExpandedState]) {
        var states: [ObjectID: Bool] = [:]
        var end = calls.startIndex
        var count = 0
        while end < calls.endIndex {
            count += calls[end].states.count
            let isAlone = calls[end].isAlone || calls[end].isRestoring
            if end > calls.startIndex, isAlone || count > Limits.outlineExceptionsMax { break }
            for state in calls[end].states { states[state.object] = state.isExpanded }
            end += 1
            if isAlone { break }
        }
        let sorted = states.sorted { $0.key < $1.key }.map { ExpandedState($0.key, isExpanded: $0.value) }
        return (calls[..<end], sorted)
    }
}
