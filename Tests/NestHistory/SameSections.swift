import NestModel

extension [ResultsSection] {
    /// Returns whether the sections are equal. Plain loops keep this fast in unoptimised builds. In these runs, strings
    /// that are canonically equal and have equal lengths have the same bytes.
    func isSame(as other: [ResultsSection]) -> Bool {
        guard self.count == other.count else { return false }
        for index in self.indices {
            guard self[index].key.isSame(as: other[index].key), self[index].rows.isSame(as: other[index].rows) else {
                return false
            }
        }
        return true
    }
}

extension [Row] {
    fileprivate func isSame(as other: [Row]) -> Bool {
        guard self.count == other.count else { return false }
        for index in self.indices {
            let (a, b) = (self[index], other[index])
            guard a.id == b.id, a.values.count == b.values.count else { return false }
            for slot in a.values.indices where !a.values[slot].isSame(as: b.values[slot]) { return false }
        }
        return true
    }
}

extension AttributeValue {
    fileprivate func isSame(as other: AttributeValue) -> Bool {
        guard case (.string(let a), .string(let b)) = (self, other) else { return self == other }
        return a.utf8.count == b.utf8.count && a == b
    }
}
