/// Which rows of an outline are unfolded if no exception says otherwise.
public enum OutlineExpansion: Hashable, Sendable {
    /// All rows are folded.
    case none
    case all
    /// Rows whose boolean attribute is true: fold states that all clients share.
    case attribute(PropertyNumber)
    /// As the subscription has it that RESUBSCRIBE changes, with its exceptions. Not valid in other requests.
    case asBefore
}

/// Makes the rows of a request an outline: below each unfolded row come its own children, at any depth, in preorder.
/// The request's source names the object above the outline and the relationship that leads down.
public struct FetchOutline: Hashable, Sendable {
    public var expansion: OutlineExpansion
    /// The objects that have the other state than `expansion` gives them.
    public var exceptions: [ObjectID]

    public init(_ expansion: OutlineExpansion = .none, exceptions: [ObjectID] = []) {
        self.expansion = expansion
        self.exceptions = exceptions
    }

    /// The form that is the same for all equal outlines: the exceptions ascend, each once.
    public var canonical: FetchOutline {
        FetchOutline(self.expansion, exceptions: Array(Set(self.exceptions)).sorted())
    }
}

extension PropertyNumber {
    /// In the projection of an outline: the depth of the row. The children of the source have 0.
    public static let outlineDepth = PropertyNumber(0xffff)

    /// In the projection of an outline: n, the number of the row's children that the predicate admits, if the row is
    /// unfolded; -1-n if it is folded.
    public static let outlineChildren = PropertyNumber(0xfffe)

    /// Whether only the rows of outlines have it.
    public var isOfOutlines: Bool { self == .outlineDepth || self == .outlineChildren }
}

/// Whether an object of an outline is unfolded.
public struct ExpandedState: Hashable, Sendable {
    public var object: ObjectID
    public var isExpanded: Bool

    public init(_ object: ObjectID, isExpanded: Bool) {
        self.object = object
        self.isExpanded = isExpanded
    }
}
