import NestModel
import NestSchema

/// The rules that the tables of a store must always satisfy. Each rule is a query that finds the rows that violate it.
struct StoreRules {
    struct Rule {
        let name: String
        /// Returns one row for each violation. Its first column is the id of the object or pair.
        let sql: String
    }

    /// The end of the name of the rule for a required value.
    static let missingValue = "is required, but has no value"

    private let layout: ModelLayout
    private var rules: [Rule] = []

    /// The rules of one table of objects or pairs.
    static func of(_ table: EntityLayout, in layout: ModelLayout) -> [Rule] {
        var rules = StoreRules(layout: layout)
        rules.addOrder(table)
        if table.isJoin { rules.addPairs(table) } else { rules.addObjects(table) }
        rules.add(
            "a row is newer than the store",
            "SELECT id FROM \(Self.name(table)) WHERE nest_revision > (SELECT max(last_revision) FROM nest_journal)"
        )
        return rules.rules
    }

    /// The rule of one table for the ids that sessions have reserved, in a store that has a table of them.
    static func ofReserved(_ table: EntityLayout) -> Rule {
        Rule(
            name: "a row has an id that is only reserved",
            sql: "SELECT t.id FROM nest_reserved r JOIN \(Self.name(table)) t ON t.id BETWEEN r.first AND r.last"
        )
    }

    private init(layout: ModelLayout) {
        self.layout = layout
    }

    private mutating func add(_ name: String, _ sql: String) {
        self.rules.append(Rule(name: name, sql: sql))
    }

    private static func name(_ table: EntityLayout) -> String { EntitySQL.quoted(table.name) }

    private static func kinds(_ row: String, _ entities: [EntityNumber]) -> String {
        "\(row)nest_entity IN (" + entities.map { "\($0.rawValue)" }.joined(separator: ", ") + ")"
    }

    /// Each object with an owner has its own position in the owner's order.
    private mutating func addOrder(_ table: EntityLayout) {
        let sql = EntitySQL(table)
        for (place, slot) in table.placedSlots.enumerated() {
            let (owner, position) = (sql.columns[slot], sql.position(place))
            self.add(
                "\(table.columnNames[slot]): a position without an owner, or an owner without a position",
                "SELECT id FROM \(sql.table) WHERE (\(owner) IS NULL) <> (\(position) IS NULL)"
            )
            self.add(
                "\(table.columnNames[slot]): two objects have the same position",
                """
                SELECT min(id) FROM \(sql.table) WHERE \(owner) NOTNULL
                GROUP BY \(owner), \(position) HAVING count(*) > 1
                """
            )
        }
    }

    private mutating func addPairs(_ table: EntityLayout) {
        let sql = EntitySQL(table)
        let (a, b) = (sql.columns[0], sql.columns[1])
        self.add("a pair lacks one of its objects", "SELECT id FROM \(sql.table) WHERE \(a) IS NULL OR \(b) IS NULL")
        self.add(
            "a pair is stored twice",
            "SELECT min(id) FROM \(sql.table) GROUP BY \(a), \(b) HAVING count(*) > 1"
        )
        let isSymmetric = self.layout.entities.contains { owner in
            owner.manyToMany.contains { $0.join == table.number && $0.isSymmetric }
        }
        if isSymmetric {
            self.add(
                "a pair is stored in one direction only",
                """
                SELECT id FROM \(sql.table) p
                WHERE NOT EXISTS (SELECT 1 FROM \(sql.table) q WHERE q.\(a) = p.\(b) AND q.\(b) = p.\(a))
                """
            )
        }
        for slot in 0..<2 { self.addReference(table, slot) }
    }

    private mutating func addObjects(_ table: EntityLayout) {
        let sql = EntitySQL(table)
        if let root = table.root {
            self.add(
                "the root object is missing",
                "SELECT \(root.object) WHERE NOT EXISTS (SELECT 1 FROM \(sql.table) WHERE id = \(root.object))"
            )
        }
        self.add(
            "an object has an id that was never assigned",
            """
            SELECT id FROM \(sql.table) WHERE id >=
            (SELECT next_object_id FROM nest_journal ORDER BY last_revision DESC LIMIT 1)
            """
        )
        for kind in table.kinds { self.addKind(kind, table, sql) }
        for slot in table.slots.indices {
            guard case .toOne(let relationship, _) = table.slots[slot] else { continue }
            self.addReference(table, slot)
            if table.partnerSlots[slot] >= 0 {
                self.addPartner(table, slot, relationship)
            } else if self.layout[relationship.destination] === table, !self.layout.model.isOneWay(relationship) {
                // A relationship without an inverse may have cycles.
                self.addHierarchy(table, slot)
            }
        }
        for uniqueness in table.uniquenesses { self.addUniqueness(uniqueness, table, sql) }
    }

    private mutating func addKind(_ kind: EntityLayout.Kind, _ table: EntityLayout, _ sql: EntitySQL) {
        let own = table.hasKinds ? "nest_entity = \(kind.number.rawValue)" : "TRUE"
        let rows = "SELECT id FROM \(sql.table) WHERE \(own)"
        if kind.entity.isAbstract { self.add("\(kind.entity.name) is abstract, but has objects", rows) }
        let notRoot = table.root.map { " AND id <> \($0.object)" } ?? ""
        for slot in kind.requiredSlots {
            self.add(
                "\(table.fullName(slot, kind.number)) \(Self.missingValue)",
                "\(rows)\(notRoot) AND \(sql.columns[slot]) IS NULL"
            )
        }
        for slot in table.slots.indices where !kind.slots.contains(slot) {
            self.add(
                "\(kind.entity.name) has the property \(table.columnNames[slot]) of another entity",
                "\(rows) AND \(sql.columns[slot]) NOTNULL"
            )
        }
    }

    /// A reference leads to an existing object of the right entity.
    private mutating func addReference(_ table: EntityLayout, _ slot: Int) {
        guard case .toOne(let relationship, _) = table.slots[slot],
            let other = self.layout[relationship.destination]
        else { return }
        let column = EntitySQL(table).columns[slot]
        let kinds = self.layout.model.kinds(of: relationship.destination).map(\.number)
        let isOther = other.hasKinds ? " OR NOT \(Self.kinds("b.", kinds))" : ""
        self.add(
            "\(table.columnNames[slot]) leads to nothing, or to another entity",
            """
            SELECT a.id FROM \(Self.name(table)) a LEFT JOIN \(Self.name(other)) b ON a.\(column) = b.id
            WHERE a.\(column) NOTNULL AND (b.id IS NULL\(isOther))
            """
        )
    }

    /// Both sides of a one-to-one relationship refer to each other.
    private mutating func addPartner(_ table: EntityLayout, _ slot: Int, _ relationship: RelationshipDescription) {
        guard let other = self.layout[relationship.destination] else { return }
        let back = EntitySQL(other).columns[table.partnerSlots[slot]]
        let column = EntitySQL(table).columns[slot]
        self.add(
            "\(table.columnNames[slot]): the partner refers to another object",
            """
            SELECT a.id FROM \(Self.name(table)) a JOIN \(Self.name(other)) b ON a.\(column) = b.id
            WHERE b.\(back) IS NOT a.id
            """
        )
    }

    /// Every object of a hierarchy can be reached from an object without an owner. The others form cycles.
    private mutating func addHierarchy(_ table: EntityLayout, _ slot: Int) {
        let column = EntitySQL(table).columns[slot]
        self.add(
            "\(table.columnNames[slot]) is part of a cycle",
            """
            WITH RECURSIVE reached (id) AS (
                SELECT id FROM \(Self.name(table)) WHERE \(column) IS NULL
                UNION ALL SELECT below.id FROM \(Self.name(table)) below JOIN reached ON below.\(column) = reached.id
            )
            SELECT id FROM \(Self.name(table)) WHERE id NOT IN reached AND \(column) IN (SELECT id FROM \(Self.name(table)))
            """
        )
    }

    private mutating func addUniqueness(
        _ uniqueness: EntityLayout.Uniqueness,
        _ table: EntityLayout,
        _ sql: EntitySQL
    ) {
        let columns = uniqueness.slots.map { sql.columns[$0] }
        var terms = columns.map { "\($0) NOTNULL" }
        if table.hasKinds { terms.append(Self.kinds("", uniqueness.entities)) }
        let names = uniqueness.slots.map { table.columnNames[$0] }.joined(separator: ", ")
        self.add(
            "\(names) must be unique, but is not",
            """
            SELECT min(id) FROM \(sql.table) WHERE \(terms.joined(separator: " AND "))
            GROUP BY \(columns.joined(separator: ", ")) HAVING count(*) > 1
            """
        )
    }
}
