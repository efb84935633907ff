/// Suggests a known name for one that does not exist.
enum NearestName {
    /// Returns "; did you mean …?", or an empty text when no name is near.
    static func hint(_ name: String, among names: [String]) -> String {
        let near = names.map { (name: $0, distance: Self.distance(name.lowercased(), $0.lowercased())) }
            .min { $0.distance < $1.distance }
        guard let near, near.distance <= max(2, name.count / 3) else { return "" }
        return "; did you mean \(near.name)?"
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
