/// Suggests a known name for one that does not exist.
package enum NearestName {
    /// Returns "; did you mean …?", or an empty text when no name is near.
    package static func hint(_ name: String, among names: [String]) -> String {
        self.name(near: name, among: names).map { "; did you mean \($0)?" } ?? ""
    }

    /// Returns the name with the fewest different letters, or `nil` when no name is near.
    package static func name(near name: String, among names: [String]) -> String? {
        // No name of a setting or a property is so long.
        guard name.utf8.count <= 128 else { return nil }
        let near = names.map { (name: $0, distance: Self.distance(name.lowercased(), $0.lowercased())) }
            .min { $0.distance < $1.distance }
        guard let near, near.distance <= (name.count < 4 ? 1 : max(2, name.count / 3)) else { return nil }
        return near.name
    }

    /// Returns the number of letters to insert, delete or replace.
    private static func distance(_ a: String, _ b: String) -> Int {
        let b = Array(b)
        var row = Array(0...b.count)
        for (i, letter) in a.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for j in b.indices {
                let replaced = diagonal + (letter == b[j] ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(replaced, row[j] + 1, diagonal + 1)
            }
        }
        return row[b.count]
    }
}
