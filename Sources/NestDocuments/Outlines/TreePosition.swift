/// What a file says about an item's position in the tree.
struct TreePosition: Sendable, Equatable {
    var depth: Int?
    var id: String?
    /// The id of its parent; `nil` at the top.
    var parent: String?
    /// The file names parents, even if this item has none.
    var hasParent = false
}
