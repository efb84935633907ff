import NestModel
import NestSchema

/// The names that Core Data gives to the columns of objects, without the `Z` before them: the property's name in
/// capitals. Entities below one topmost entity share a table. If several of them have properties of one name, the one
/// with the lowest `Z_ENT` gets the name, and the others get a number after it.
struct ColumnNames {
    struct Name {
        var name: String
        /// `Entity.property`, with the entity that declares it.
        var property: String
        /// Whether other properties of the table have the same name.
        var isContested: Bool
    }

    private struct Key: Hashable {
        var table: EntityNumber
        var property: PropertyNumber
    }

    private var names: [Key: Name] = [:]
    /// By table in capitals: the columns of attributes that nest leaves out.
    private var leftOutColumns: [String: Set<String>] = [:]

    init(_ version: AdoptedVersion, _ layout: ModelLayout, _ source: SourceLayout) {
        for table in layout.entities where !table.isJoin { self.add(table, version, source) }
    }

    func column(_ table: EntityNumber, _ property: PropertyNumber) -> Name {
        guard let name = self.names[Key(table: table, property: property)] else {
            preconditionFailure("every property of a table has a column")
        }
        return name
    }

    func leftOut(_ table: String) -> Set<String> { self.leftOutColumns[table] ?? [] }

    private mutating func add(_ table: EntityLayout, _ version: AdoptedVersion, _ source: SourceLayout) {
        let kinds = table.kinds.sorted {
            (source.entities[$0.entity.name]?.number ?? 0) < (source.entities[$1.entity.name]?.number ?? 0)
        }
        // By name: how many properties have had it, and the first of them.
        var counts: [String: Int] = [:]
        var firsts: [String: Key] = [:]
        var taken: Set<String> = []
        for kind in kinds {
            for (name, number) in Self.ownProperties(kind.entity, version) {
                let base = name.uppercased()
                var column = base
                while !taken.insert(column).inserted {
                    counts[base, default: 0] += 1
                    column = "\(base)\(counts[base]!)"
                }
                guard let number else {
                    self.leftOutColumns["Z\(table.entity.name.uppercased())", default: []].insert("Z\(column)")
                    continue
                }
                let key = Key(table: table.number, property: number)
                let isContested = column != base
                self.names[key] = Name(name: column, property: "\(kind.entity.name).\(name)", isContested: isContested)
                if isContested, let first = firsts[base] { self.names[first]?.isContested = true }
                if !isContested { firsts[base] = key }
            }
        }
    }

    /// The properties with a column that an entity declares itself. `nil`: one that nest leaves out.
    private static func ownProperties(
        _ entity: EntityDescription,
        _ version: AdoptedVersion
    ) -> [(String, PropertyNumber?)] {
        let inherited = Set(entity.parent.flatMap { version.model.entity($0) }?.storedProperties ?? [])
        var properties: [(String, PropertyNumber?)] = entity.storedProperties
            .filter { !inherited.contains($0) }
            .map { (entity.propertyName($0)!, $0) }
        for path in version.leftOut.sorted() where path.hasPrefix("\(entity.name).") {
            properties.append((String(path.dropFirst(entity.name.count + 1)), nil))
        }
        return properties
    }
}

/// A name such as `Z_26ASSETS1`: after a prefix the number of an entity, then the rest.
struct NumberedName {
    let number: Int64
    let rest: String

    init?(_ name: String, prefix: String) {
        guard name.hasPrefix(prefix) else { return nil }
        let tail = name.dropFirst(prefix.count)
        let digits = tail.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int64(digits), digits.count < tail.count else { return nil }
        self.number = number
        self.rest = String(tail.dropFirst(digits.count))
    }

    /// Whether the rest is a property's name in capitals, exactly or with a number after it.
    func isName(_ name: String, exactly: Bool) -> Bool {
        if self.rest == name { return true }
        guard !exactly, self.rest.hasPrefix(name) else { return false }
        return self.rest.dropFirst(name.count).allSatisfy { $0.isASCII && $0.isNumber }
    }
}
