/// An item's position in the tree, as a file specifies it.
struct TreePosition: Sendable, Equatable {
    var depth: Int?
    var id: String?
    /// The id of its parent; `nil` at the top.
    var parent: String?
    /// Whether the file names parents, even if this item has none.
    var hasParent = false
}
