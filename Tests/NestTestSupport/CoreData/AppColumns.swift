import NestModel

/// The columns of an app's tables, as Core Data names them.
struct AppColumns {
    private var names: [String: String] = [:]
    private var tables: [String: [(name: String, type: String)]] = [:]

    init() {}

    init(_ store: AppStore, _ numbers: [String: Int64]) {
        var used: [String: [String: Int]] = [:]
        for (entity, _) in numbers.sorted(by: { $0.value < $1.value }) {
            let table = store.table(entity)
            let draft = store.entity(entity)
            for attribute in draft.attributes {
                let column = Self.free(attribute.name, &used[table, default: [:]])
                self.names["\(entity).\(attribute.name)"] = column
                self.tables[table, default: []].append(("Z\(column)", Self.type(attribute.type)))
            }
            for relationship in draft.relationships where !relationship.isToMany {
                let column = Self.free(relationship.name, &used[table, default: [:]])
                self.names["\(entity).\(relationship.name)"] = column
                self.tables[table, default: []].append(("Z\(column)", "INTEGER"))
                if store.draft.entities.contains(where: { $0.parent == relationship.destination }) {
                    let number = numbers[relationship.destination]!
                    self.tables[table]!.append(("Z\(number)_\(column)", "INTEGER"))
                }
                let isOrdered = store.relationship(relationship.inverse, relationship.destination)?.isOrdered
                if !relationship.inverse.isEmpty, isOrdered == true {
                    self.tables[table]!.append(("Z_FOK_\(column)", "INTEGER"))
                }
            }
        }
        for (path, form) in store.oneWayForms where form == .column {
            let (owner, name) = Self.parts(path)
            let relationship = store.relationship(name, owner)!
            let column = "\(numbers[owner]!)\(name.uppercased())"
            let table = store.table(relationship.destination)
            self.tables[table, default: []].append(("Z\(column)", "INTEGER"))
            if relationship.isOrdered { self.tables[table]!.append(("Z_FOK_\(column)", "INTEGER")) }
        }
    }

    /// The column of `Entity.property`, without the `Z`.
    func name(_ path: String) -> String { self.names[path]! }

    func of(_ table: String) -> [(name: String, type: String)] { self.tables[table] ?? [] }

    static func parts(_ path: String) -> (String, String) {
        let parts = path.split(separator: ".").map(String.init)
        return (parts[0], parts[1])
    }

    private static func free(_ name: String, _ used: inout [String: Int]) -> String {
        let base = name.uppercased()
        let count = used[base] ?? 0
        used[base] = count + 1
        return count == 0 ? base : "\(base)\(count)"
    }

    private static func type(_ type: AttributeType) -> String {
        switch type {
        case .string, .uri: "VARCHAR"
        case .integer, .integer16, .integer32, .boolean: "INTEGER"
        case .double, .float: "FLOAT"
        case .decimal: "DECIMAL"
        case .date: "TIMESTAMP"
        case .data, .uuid, .largeData, .largeText: "BLOB"
        }
    }
}
