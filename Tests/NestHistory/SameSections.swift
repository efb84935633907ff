import NestModel

extension [ResultsSection] {
    /// Equal, found out fast without optimisation too: plain loops, and the bytes of texts, which are long, not one by one.
    /// Texts of the runs that are equal to Unicode and as long are the same bytes.
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
