import NestModel

extension FetchWindow {
    /// Returns the same window, around the object that it follows now.
    func following(_ anchor: ObjectID?) -> FetchWindow {
        guard let anchor, case .around(_, let before, let after) = self else { return self }
        return .around(anchor, before: before, after: after)
    }
}
