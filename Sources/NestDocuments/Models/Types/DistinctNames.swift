/// Names of a model in a programming language that uses some names itself.
enum DistinctNames {
    /// Returns a name for each. One that is taken gets a `_` at its end, or several, and is different from all others.
    static func of(_ names: [String], taken: Set<String>) -> [String: String] {
        var used = Set(names).subtracting(taken)
        var result: [String: String] = [:]
        for name in names {
            var other = name
            if taken.contains(name) {
                repeat { other += "_" } while used.contains(other) || taken.contains(other)
                used.insert(other)
            }
            result[name] = other
        }
        return result
    }
}
