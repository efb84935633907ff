import NestModel
import NestSchema

/// The invariants of the stored tables, each as a query that finds the rows that violate it.
package struct StoredInvariants {
    private let layout: ModelLayout
    private let model: ManagedObjectModel
    /// The queries, each with a description of the rows that it finds.
    private var queries: [(name: String, sql: String)] = []

    package init(_ layout: ModelLayout) {
        self.layout = layout
        self.model = layout.model
        for table in layout.entities {
            self.addOrder(table)
            if table.isJoin { self.addPairs(table) } else { self.addObjects(table) }
        }
    }

    /// Returns descriptions of the violated invariants. `head`: the newest revision.
    package func broken(in stored: some StoredTables, head: Revision) throws -> [String] {
        var broken: [String] = []
        for (name, sql) in self.queries + [("a foreign key refers to no row", "PRAGMA foreign_key_check")] {
            try stored.forEachRow(sql) { _ in
                broken.append("\(name): \(sql)")
                return false
            }
        }
        for table in self.layout.entities {
            try stored.forEachRow("SELECT max(nest_revision) FROM \"\(table.name)\"") { row in
                if row.integer(0) > Int64(head.rawValue) {
                    broken.append("a row of \(table.name) is newer than the store")
                }
                return false
            }
        }
        return broken
    }

    private mutating func add(_ name: String, _ sql: String) {
        self.queries.append((name, sql))
    }

    private func list(_ kinds: [EntityDescription]) -> String {
        "(" + kinds.map { "\($0.number.rawValue)" }.joined(separator: ", ") + ")"
    }

    /// Returns a condition on the entity of a row, for tables of several entities.
    private func isKind(_ row: String, of entity: EntityNumber) -> String {
        self.layout[entity]!.hasKinds ? "\(row).nest_entity IN \(self.list(self.model.kinds(of: entity)))" : "TRUE"
    }

    private mutating func addOrder(_ table: EntityLayout) {
        for slot in table.placedSlots {
            let name = table.columnNames[slot]
            let position = "\"nest_\(name)_position\""
            self.add(
                "\(table.name).\(name) has a position without an owner or an owner without a position",
                "SELECT 1 FROM \"\(table.name)\" WHERE (\"\(name)\" IS NULL) <> (\(position) IS NULL)"
            )
            self.add(
                "two rows of \(table.name) have the same position under \(name)",
                "SELECT 1 FROM \"\(table.name)\" WHERE \"\(name)\" NOTNULL GROUP BY \"\(name)\", \(position) HAVING count(*) > 1"
            )
        }
    }

    private mutating func addPairs(_ table: EntityLayout) {
        let (a, b) = ("\"\(table.columnNames[0])\"", "\"\(table.columnNames[1])\"")
        let name = "\"\(table.name)\""
        self.add("a pair lacks a side", "SELECT 1 FROM \(name) WHERE \(a) IS NULL OR \(b) IS NULL")
        self.add("a pair is stored twice", "SELECT 1 FROM \(name) GROUP BY \(a), \(b) HAVING count(*) > 1")
        let isSymmetric = self.layout.entities.contains { layout in
            layout.manyToMany.contains { $0.join == table.number && $0.isSymmetric }
        }
        if isSymmetric {
            self.add(
                "a symmetric pair is stored in one direction only",
                "SELECT 1 FROM \(name) p WHERE NOT EXISTS (SELECT 1 FROM \(name) q WHERE q.\(a) = p.\(b) AND q.\(b) = p.\(a))"
            )
        }
        for slot in 0..<2 { self.addReference(table, slot) }
    }

    private mutating func addObjects(_ table: EntityLayout) {
        for (slot, description) in table.slots.enumerated() {
            let column = "\"\(table.columnNames[slot])\""
            for kind in table.kinds {
                let own = table.hasKinds ? "nest_entity = \(kind.entity.number.rawValue)" : "TRUE"
                let property = table.properties[slot]
                let rows = "SELECT 1 FROM \"\(table.name)\" WHERE \(own) AND"
                if kind.entity.isAbstract { self.add("an object of an abstract entity", "\(rows) TRUE") }
                if kind.entity.propertyName(property) == nil {
                    self.add("\(kind.entity.name) has a property of another entity", "\(rows) \(column) NOTNULL")
                }
                let root = kind.entity.root.map { "\($0.object.rawValue)" } ?? "0"
                let isRequired =
                    kind.entity.attribute(property)?.isOptional == false
                    || kind.entity.relationship(property)?.isOptional == false
                if isRequired { self.add("a required value is missing", "\(rows) \(column) IS NULL AND id <> \(root)") }
            }
            guard case .toOne(let relationship, _) = description else { continue }
            self.addReference(table, slot)
            let inverse = self.model.inverse(of: relationship)!
            guard !inverse.isToMany else { continue }
            let other = self.layout[relationship.destination]!
            let back = other.columnNames[other.slot(of: inverse.number)!]
            self.add(
                "\(table.name).\(column): the partner has another partner",
                "SELECT 1 FROM \"\(table.name)\" a JOIN \"\(other.name)\" b ON a.\(column) = b.id WHERE b.\"\(back)\" IS NOT a.id"
            )
        }
        for entity in table.kinds.map(\.entity) {
            for constraint in entity.uniquenessConstraints {
                let columns = constraint.map { "a.\"\(table.columnNames[table.slot(of: $0)!])\"" }
                let conditions = columns.map { "\($0) NOTNULL" } + [self.isKind("a", of: entity.number)]
                self.add(
                    "\(entity.name): unique values occur twice",
                    """
                    SELECT 1 FROM "\(table.name)" a WHERE \(conditions.joined(separator: " AND "))
                    GROUP BY \(columns.joined(separator: ", ")) HAVING count(*) > 1
                    """
                )
            }
        }
    }

    /// A reference must lead to an existing object of the right entity.
    private mutating func addReference(_ table: EntityLayout, _ slot: Int) {
        guard case .toOne(let relationship, _) = table.slots[slot] else { return }
        let column = "\"\(table.columnNames[slot])\""
        let other = self.layout[relationship.destination]!
        self.add(
            "\(table.name).\(column) leads to no object, or to another entity",
            """
            SELECT 1 FROM "\(table.name)" a LEFT JOIN "\(other.name)" b ON a.\(column) = b.id
            WHERE a.\(column) NOTNULL AND (b.id IS NULL OR NOT \(self.isKind("b", of: relationship.destination)))
            """
        )
    }
}
