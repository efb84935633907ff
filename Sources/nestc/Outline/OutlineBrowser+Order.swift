import NestModel

extension OutlineBrowser {
    /// What the caller does after a key.
    enum Order: Equatable {
        case quit
        case pause
        case resume
        case search
        case setExpanded(ObjectID, Bool)
        /// Fold or unfold everything. The cursor goes to this object; `nil`: to the first row.
        case expand(isExpanded: Bool, cursor: ObjectID?)
        /// Fold everything. The cursor goes to the row at the top level that this object is below, which is not held.
        case foldAll(from: ObjectID)
        case zoomIn(ObjectID)
        case zoomOut
        /// Go to the parent of this object, which is not held.
        case parent(of: ObjectID)
    }
}
