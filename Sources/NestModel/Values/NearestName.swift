/// Suggests a known name for one that does not exist.
package enum NearestName {
    /// The longest name that is compared. A longer one is no typing error.
    private static let lettersMax = 64

    /// Returns "; did you mean …?", or an empty text when no name is near.
    package static func hint(_ name: String, among names: [String]) -> String {
        self.find(name, among: names).map { "; did you mean \($0)?" } ?? ""
    }

    /// Returns the name that is probably meant: one that this begins, or one that differs by few letters. Dashes before
    /// the names do not count.
    package static func find(_ name: String, among names: [String]) -> String? {
        let typed = Self.letters(name)
        guard !typed.isEmpty, typed.count <= Self.lettersMax else { return nil }
        let distanceMax = max(1, typed.count / 3)
        let near = names.map { (name: $0, letters: Self.letters($0)) }
            .filter { abs($0.letters.count - typed.count) <= distanceMax }
            .map { (name: $0.name, distance: Self.distance(typed, $0.letters)) }
            .min { $0.distance < $1.distance }
        if let near, near.distance <= distanceMax, near.distance < typed.count { return near.name }
        guard typed.count >= 2 else { return nil }
        return names.filter { Self.letters($0).starts(with: typed) }.min { $0.count < $1.count }
    }

    /// Scalars, not characters: they are compared much faster, and a name on the wire may be from anybody.
    private static func letters(_ name: String) -> [Unicode.Scalar] {
        Array(name.drop { $0 == "-" }.lowercased().unicodeScalars)
    }

    /// Returns the number of letters to insert, delete or replace, and of neighbours to exchange.
    private static func distance(_ a: [Unicode.Scalar], _ b: [Unicode.Scalar]) -> Int {
        var beforeLast: [Int] = []
        var last = Array(0...b.count)
        for i in a.indices {
            var row = [i + 1]
            for j in b.indices {
                var best = min(row[j] + 1, last[j + 1] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { best = min(best, beforeLast[j - 1] + 1) }
                row.append(best)
            }
            (beforeLast, last) = (last, row)
        }
        return last[b.count]
    }
}
