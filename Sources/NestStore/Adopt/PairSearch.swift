import NestModel
import NestSchema

/// The two sides of a table of pairs. Side 0 has the objects that the second relationship leads to, side 1 those of the
/// first one.
struct PairSides {
    let layout: EntityLayout
    /// By side: the relationship that leads to the objects of the side.
    let relationships: [RelationshipDescription]
    /// What the report calls the pairs: a relationship, and the side of the objects that have it.
    let name: String
    let owner: Int
    let isSymmetric: Bool

    init(_ layout: EntityLayout, _ model: ModelLayout) {
        self.layout = layout
        var found: [Int: (EntityLayout, EntityLayout.ManyToMany)] = [:]
        for table in model.entities {
            for relationship in table.manyToMany where relationship.join == layout.number {
                if found[relationship.targetSlot] == nil { found[relationship.targetSlot] = (table, relationship) }
            }
        }
        guard let toSecond = found[1], let toFirst = toSecond.1.isSymmetric ? toSecond : found[0] else {
            preconditionFailure("pairs have a relationship on each side")
        }
        self.isSymmetric = toSecond.1.isSymmetric
        self.relationships = [toFirst.1.relationship, toSecond.1.relationship]
        self.owner = toSecond.1.relationship.isHiddenInverse ? 1 : 0
        let shown = self.owner == 1 ? toFirst : toSecond
        self.name = shown.0.relationshipName(shown.1.relationship.number)
    }

    func destination(_ side: Int) -> EntityNumber { self.relationships[side].destination }

    /// The side of the objects whose relationship has no inverse in the app's model.
    var oneWayOwner: Int? {
        self.relationships.firstIndex { $0.isHiddenInverse }
    }
}

/// Finds the table with the pairs of a relationship.
///
/// Core Data names it after a relationship and the entity that has it (`Z_26ASSETS`), and its columns after the
/// relationships that lead to their objects (`Z_26ALBUMS`, `Z_34ASSETS`), with the order as `Z_FOK_34ASSETS`. Of a
/// relationship that is its own inverse, the second column is `REFLEXIVE`. A one-way to-many relationship is a column
/// of its destination (`Z26ASSETS`), or a table.
struct PairSearch {
    struct Found {
        var table: SourceLayout.Table
        /// By side.
        var columns: [String]
        /// By place.
        var orders: [String]

        var readColumns: [String] { self.columns + self.orders }
    }

    private let source: SourceLayout
    private let sides: PairSides
    private let destinations: [AdoptPlan.Destination]
    /// By side: the entities after which a column with its objects may be named: theirs, and those above them.
    private let entities: [Set<Int64>]

    init(_ source: SourceLayout, _ sides: PairSides, _ destinations: [AdoptPlan.Destination]) {
        self.source = source
        self.sides = sides
        self.destinations = destinations
        let parents = Dictionary(
            source.entities.values.map { ($0.number, $0.parent) },
            uniquingKeysWith: { first, _ in first }
        )
        self.entities = destinations.map { destination in
            var found = destination.entities
            for entity in destination.entities {
                var next = parents[entity]
                while let parent = next, found.insert(parent).inserted { next = parents[parent] }
            }
            return found
        }
    }

    func find() -> Found? {
        let tables = self.source.tables.filter { NumberedName($0.key, prefix: "Z_") != nil }.sorted { $0.key < $1.key }
        if let owner = self.sides.oneWayOwner { return self.column(owner) ?? self.oneWay(owner, tables.map(\.value)) }
        for exactly in [true, false] {
            for (_, table) in tables {
                if let found = self.pairs(table, exactly: exactly) { return found }
            }
        }
        return nil
    }

    private func name(_ side: Int) -> String { self.sides.relationships[side].name.uppercased() }

    private func isEntity(_ number: Int64, of side: Int) -> Bool { self.entities[side].contains(number) }

    private func pairs(_ table: SourceLayout.Table, exactly: Bool) -> Found? {
        func columns(_ side: Int) -> [String] {
            table.columns.keys.sorted().filter { column in
                guard let parts = NumberedName(column, prefix: "Z_") else { return false }
                return self.isEntity(parts.number, of: side) && parts.isName(self.name(side), exactly: exactly)
            }
        }
        let first = columns(0)
        let second = columns(1)
        if self.sides.isSymmetric {
            let others = table.columns.keys.filter { $0 == "REFLEXIVE" } + first.dropFirst()
            guard let one = first.first, let other = others.first, first.count + others.count <= 3 else { return nil }
            return Found(table: table, columns: [self.spelled(one, table), self.spelled(other, table)], orders: [])
        }
        for one in first {
            for other in second where other != one {
                guard let orders = self.orders([one, other], table) else { continue }
                return Found(
                    table: table,
                    columns: [self.spelled(one, table), self.spelled(other, table)],
                    orders: orders
                )
            }
        }
        return nil
    }

    /// Returns the columns of the order: place by place, the objects of the other side are in an order.
    private func orders(_ columns: [String], _ table: SourceLayout.Table) -> [String]? {
        var orders: [String] = []
        for slot in self.sides.layout.placedSlots {
            let ordered = columns[1 - slot]
            guard let column = table.columns["Z_FOK_\(ordered.dropFirst(2))"] else { return nil }
            orders.append(column.name)
        }
        return orders
    }

    private func spelled(_ column: String, _ table: SourceLayout.Table) -> String { table.columns[column]!.name }

    // MARK: One-way relationships

    /// `owner`: the side of the objects that have the relationship.
    private func column(_ owner: Int) -> Found? {
        let table = self.destinations[1 - owner].table
        for exactly in [true, false] {
            for column in table.columns.keys.sorted() {
                guard let parts = NumberedName(column, prefix: "Z"), self.isEntity(parts.number, of: owner),
                    parts.isName(self.name(1 - owner), exactly: exactly)
                else { continue }
                var columns = ["Z_PK", "Z_PK"]
                columns[owner] = self.spelled(column, table)
                guard !self.sides.layout.placedSlots.isEmpty else {
                    return Found(table: table, columns: columns, orders: [])
                }
                guard let order = table.columns["Z_FOK_\(column.dropFirst())"] else { continue }
                return Found(table: table, columns: columns, orders: [order.name])
            }
        }
        return nil
    }

    private func oneWay(_ owner: Int, _ tables: [SourceLayout.Table]) -> Found? {
        for table in tables {
            guard let parts = NumberedName(table.name.uppercased(), prefix: "Z_"),
                self.isEntity(parts.number, of: owner),
                parts.isName(self.name(1 - owner), exactly: true)
            else { continue }
            let keys = table.columns.keys.filter { !$0.hasPrefix("Z_FOK_") }.sorted()
            let target = keys.filter { key in
                guard let column = NumberedName(key, prefix: "Z_") else { return false }
                return self.isEntity(column.number, of: 1 - owner)
                    && column.isName(self.name(1 - owner), exactly: false)
            }
            guard keys.count == 2, target.count == 1, let own = keys.first(where: { $0 != target[0] }) else { continue }
            var columns = ["", ""]
            columns[owner] = own
            columns[1 - owner] = target[0]
            guard let orders = self.orders(columns, table) else { continue }
            return Found(table: table, columns: columns.map { self.spelled($0, table) }, orders: orders)
        }
        return nil
    }
}
