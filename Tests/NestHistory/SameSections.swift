import NestModel

extension [Section] {
    /// Equal, found out fast without optimisation too: texts are long, and their bytes are not compared one by one. Texts of the
    /// runs that are equal to Unicode and as long are the same bytes.
    func isSame(as other: [Section]) -> Bool {
        self.count == other.count
            && zip(self, other).allSatisfy { a, b in
                a.key.isSame(as: b.key) && a.rows.count == b.rows.count
                    && zip(a.rows, b.rows).allSatisfy { a, b in
                        a.id == b.id && a.values.count == b.values.count
                            && zip(a.values, b.values).allSatisfy { $0.isSame(as: $1) }
                    }
            }
    }
}

extension AttributeValue {
    fileprivate func isSame(as other: AttributeValue) -> Bool {
        guard case (.string(let a), .string(let b)) = (self, other) else { return self == other }
        return a.utf8.count == b.utf8.count && a == b
    }
}
