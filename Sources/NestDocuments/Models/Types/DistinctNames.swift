/// Names of a model in a programming language that uses some names itself.
enum DistinctNames {
    /// Returns a name for each. One that is taken gets a `_` at its end, or several, and is different from all others.
    static func of(_ names: [String], taken: Set<String>) -> [String: String] {
        self.of(names) { taken.contains($0) }
    }

    /// `isTaken`: of a name, and of what becomes of it. Where no name may begin with two underscores, `x` comes before
    /// those that begin with one and are taken.
    static func of(
        _ names: [String],
        beforeUnderscore: String = "",
        isTaken: (String) -> Bool
    ) -> [String: String] {
        var used = Set(names.filter { !isTaken($0) })
        var result: [String: String] = [:]
        for name in names {
            guard isTaken(name) else {
                result[name] = name
                continue
            }
            var other = name.hasPrefix("_") ? beforeUnderscore + name : name
            while used.contains(other) || isTaken(other) { other += "_" }
            used.insert(other)
            result[name] = other
        }
        return result
    }
}
